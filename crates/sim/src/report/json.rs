//! Results for programs: the same bytes for the same seed.

use serde_json::{Value, json};

use super::figures::{Figures, Imbalance, round};
use crate::run::Comparison;
use crate::tally::{EndpointCounts, StageCounts, Tally};

/// A comparison as JSON.
#[must_use]
pub fn to_json(scenario: &str, comparison: &Comparison) -> Value {
    let all = |tallies: &[Tally]| tallies.iter().map(result).collect::<Vec<Value>>();
    json!({
        "scenario": scenario,
        "seed": comparison.seed,
        "results": all(&comparison.results),
        "references": all(&comparison.references),
    })
}

/// The result of one variant.
#[must_use]
pub(crate) fn result(tally: &Tally) -> Value {
    let figures = Figures::of(&tally.counts);
    let imbalance = Imbalance::of(tally);
    let (mean, p99) = tally.queue();
    let mut value = json!({
        "strategy": tally.label,
        "requests": figures.requests,
        "latency_ms": latency(&figures),
        "failure_rate": figures.failure_rate,
        "shed_rate": figures.shed_rate,
        "retries": tally.retries,
        "throughput": tally.throughput(),
        "queue": { "mean": mean, "p99": p99 },
        "imbalance": {
            "count_stddev": imbalance.count_stddev,
            "max_over_mean": imbalance.max_over_mean,
            "chi_square": imbalance.chi_square,
        },
        "endpoints": tally.endpoints.iter().map(endpoint).collect::<Vec<Value>>(),
    });
    if tally.waits > 0 {
        value["waited"] = json!({
            "share": tally.waited_share(),
            "mean_ms": round(tally.waited.mean() / 1e6, 3),
            "max_ms": round(tally.waited.max().0 as f64 / 1e6, 3),
        });
    }
    if !tally.stages.is_empty() {
        value["stages"] = tally.stages.iter().map(stage).collect();
    }
    value
}

fn latency(figures: &Figures) -> Value {
    json!({
        "mean": figures.mean,
        "p50": figures.p50,
        "p90": figures.p90,
        "p99": figures.p99,
        "p999": figures.p999,
        "max": figures.max,
    })
}

fn endpoint(endpoint: &EndpointCounts) -> Value {
    json!({
        "id": endpoint.id,
        "requests": endpoint.requests,
        "failures": endpoint.failures,
        "utilization": endpoint.utilization.map(|busy| round(busy, 4)),
        "max_in_flight": endpoint.max_in_flight,
    })
}

fn stage(stage: &StageCounts) -> Value {
    let figures = Figures::of(&stage.counts);
    json!({
        "rate": stage.rate,
        "requests": figures.requests,
        "latency_ms": latency(&figures),
        "failure_rate": figures.failure_rate,
        "shed_rate": figures.shed_rate,
        "count_stddev": round(stage.count_stddev(), 3),
    })
}

impl StageCounts {
    /// The standard deviation of the counts of the endpoints in this stage.
    #[must_use]
    pub fn count_stddev(&self) -> f64 {
        let n = self.per_server.len().max(1) as f64;
        let mean = self.per_server.iter().sum::<u64>() as f64 / n;
        let squares = self.per_server.iter().map(|count| {
            let off = *count as f64 - mean;
            off * off
        });
        (squares.sum::<f64>() / n).sqrt()
    }
}
