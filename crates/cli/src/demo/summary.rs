//! What was seen: a table, and a sentence with nothing in it that was not measured.

use std::time::Duration;

use evenkeel_gateway::Control;
use serde_json::{Value, json};

use super::fleet::{Backend, Fleet, SLOWEST};
use super::tally::{Counts, Row, Tally};
use crate::paragraph::wrap;
use crate::table::Table;

/// What was seen.
pub(super) struct Summary {
    strategy: &'static str,
    seconds: f64,
    /// By endpoint: its weight, if it is still there, and what came of it.
    endpoints: Vec<(String, Option<u16>, Row)>,
    /// Answers that no backend signed.
    gateway: Row,
    total: Row,
    unsent: u64,
    sentence: String,
}

impl Summary {
    pub(super) fn of(control: &Control, fleet: &Fleet, tally: &Tally, lasted: Duration) -> Self {
        let mut counts = tally.counts();
        let total = counts.total();
        let gateway = counts.backends.remove("").unwrap_or_default();
        let mut strategy = "";
        let mut endpoints = Vec::new();
        for cluster in control.clusters() {
            strategy = cluster.strategy().descriptor().name;
            for report in cluster.endpoints() {
                let id = report.endpoint.id().to_owned();
                let row = counts.backends.remove(&id).unwrap_or_default();
                endpoints.push((id, Some(report.endpoint.weight()), row));
            }
        }
        let seconds = lasted.as_secs_f64();
        let sentence = sentence(strategy, &endpoints, &total, fleet, seconds);
        // Those that were removed while it ran.
        let Counts { backends, unsent } = counts;
        endpoints.extend(backends.into_iter().map(|(id, row)| (id, None, row)));
        Self {
            strategy,
            seconds,
            endpoints,
            gateway,
            total,
            unsent,
            sentence,
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut table = Table::new(&[
            "endpoint",
            ">weight",
            ">requests",
            ">share",
            ">errors",
            ">p50 ms",
            ">p99 ms",
        ]);
        for (id, weight, row) in &self.endpoints {
            let weight = weight.map_or("-".to_owned(), |weight| weight.to_string());
            table.row(self.cells(id, weight, row));
        }
        if self.gateway.requests > 0 {
            table.row(self.cells("(gateway)", String::new(), &self.gateway));
        }
        table.row(self.cells("total", String::new(), &self.total));
        let mut text = format!(
            "{}, {:.1} s, {:.0} requests a second\n\n{}\n{}",
            self.strategy,
            self.seconds,
            self.total.requests as f64 / self.seconds,
            table.render(),
            wrap(&self.sentence, ""),
        );
        if self.unsent > 0 {
            text.push_str(&format!(
                "{} requests were not sent, because too many were waiting for their answer.\n",
                self.unsent
            ));
        }
        text
    }

    fn cells(&self, id: &str, weight: String, row: &Row) -> [String; 7] {
        [
            id.to_owned(),
            weight,
            row.requests.to_string(),
            percent(share(row, &self.total)),
            row.errors.to_string(),
            format!("{:.1}", row.quantile_ms(0.5)),
            format!("{:.1}", row.quantile_ms(0.99)),
        ]
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let figures = |row: &Row| {
            json!({
                "requests": row.requests,
                "share": share(row, &self.total),
                "errors": row.errors,
                "latency_ms": {"p50": row.quantile_ms(0.5), "p99": row.quantile_ms(0.99)},
            })
        };
        let endpoints = self.endpoints.iter().map(|(id, weight, row)| {
            let mut endpoint = figures(row);
            endpoint["id"] = json!(id);
            endpoint["weight"] = json!(weight);
            endpoint
        });
        json!({
            "strategy": self.strategy,
            "seconds": self.seconds,
            "endpoints": endpoints.collect::<Vec<Value>>(),
            "gateway": figures(&self.gateway),
            "total": figures(&self.total),
            "unsent": self.unsent,
            "summary": self.sentence,
        })
    }
}

fn share(row: &Row, total: &Row) -> f64 {
    row.requests as f64 / total.requests.max(1) as f64
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What became of the slowest.
fn sentence(
    strategy: &str,
    endpoints: &[(String, Option<u16>, Row)],
    total: &Row,
    fleet: &Fleet,
    seconds: f64,
) -> String {
    let found = endpoints.iter().find(|(id, ..)| id == SLOWEST);
    let backend = fleet
        .backends()
        .iter()
        .find(|backend| backend.name == SLOWEST);
    let (Some((_, _, row)), Some(backend)) = (found, backend) else {
        return format!("`{SLOWEST}` was removed while the demo ran.");
    };
    let (Some(times), Some(ability)) = (times_slower(backend, fleet), backend.ability()) else {
        return format!("`{SLOWEST}` answered nothing, so there is nothing to compare.");
    };
    let got = share(row, total);
    let even = 1.0 / endpoints.len().max(1) as f64;
    let even_rate = total.requests as f64 * even / seconds;
    let bears = if ability < even_rate {
        format!("it can work on {ability:.0}")
    } else {
        format!("it could have worked on {ability:.0}")
    };
    // A tenth is more than chance makes of some thousand requests.
    if got < even * 0.9 {
        format!(
            "`{SLOWEST}` works {times:.1} times as long on a request as the fastest, and {strategy} gave it {} \
             of the requests; an even share is {}. Round robin would have sent it {even_rate:.0} a second, \
             and {bears}.",
            percent(got),
            percent(even),
        )
    } else {
        format!(
            "`{SLOWEST}` works {times:.1} times as long on a request as the fastest, and {strategy} still gave it {} \
             of the requests, with an even share of {}: {even_rate:.0} a second, and {bears}. {} of its answers \
             were errors, its p99 was {:.0} ms.",
            percent(got),
            percent(even),
            row.errors,
            row.quantile_ms(0.99),
        )
    }
}

/// How much longer it works on a request than the fastest does.
fn times_slower(backend: &Backend, fleet: &Fleet) -> Option<f64> {
    let means = fleet.backends().iter().filter_map(Backend::mean_seconds);
    let fastest = means.reduce(f64::min)?;
    Some(backend.mean_seconds()? / fastest)
}
