//! The answer to a question for programs: results as those of a simulation, with their ranges.

use serde_json::{Map, Value, json};

use super::interval::Interval;
use super::what_if::{Answer, Row};
use crate::report::{Figures, result, round};

/// An answer as JSON: `results` as those of a simulation, each with `interval_95`, beside what the log holds and
/// what it cannot support.
#[must_use]
pub fn answer_to_json(log: &str, seed: u64, answer: &Answer) -> Value {
    let recorded = Figures::of(&answer.recorded);
    json!({
        "log": log,
        "seed": seed,
        "recorded": {
            "requests": recorded.requests,
            "latency_ms": {
                "mean": recorded.mean,
                "p50": recorded.p50,
                "p90": recorded.p90,
                "p99": recorded.p99,
                "p999": recorded.p999,
                "max": recorded.max,
            },
            "failure_rate": recorded.failure_rate,
        },
        "results": answer.rows.iter().map(row).collect::<Vec<Value>>(),
        "warnings": answer.warnings,
    })
}

fn row(row: &Row) -> Value {
    let mut value = result(&row.first);
    let mut intervals = Map::new();
    for (name, interval) in &row.figures {
        let Interval { mean, low, high } = *interval;
        let range = json!({ "mean": round(mean, 6), "low": round(low, 6), "high": round(high, 6) });
        intervals.insert((*name).to_owned(), range);
    }
    value["interval_95"] = Value::Object(intervals);
    value
}
