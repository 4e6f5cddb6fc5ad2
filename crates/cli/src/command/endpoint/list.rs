//! `evenkeel endpoint list`.

use std::collections::BTreeMap;

use hyper::Method;
use serde_json::Value;

use super::shown;
use crate::client::Target;
use crate::output::Format;
use crate::table::Table;
use crate::{Outcome, output};

/// List the endpoints of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    target: Target,

    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl List {
    pub(super) async fn run(self) -> Outcome {
        let (client, cluster) = self.target.open().await?;
        let path = format!("{}/endpoints", cluster.path());
        let endpoints = client.call(Method::GET, &path, None).await?;
        if self.format == Format::Json {
            return output::print_json(&endpoints);
        }
        output::print(&format!(
            "{}{}{}",
            panics(&endpoints),
            table(&endpoints).render(),
            reasons(&endpoints)
        ))
    }
}

/// A line for each tier of which so few are healthy that those that are not take requests too: it has some
/// that are out, and have a weight all the same.
fn panics(endpoints: &Value) -> String {
    let mut tiers: BTreeMap<u64, Tier> = BTreeMap::new();
    for endpoint in endpoints.as_array().into_iter().flatten() {
        let number = endpoint.get("tier").and_then(Value::as_u64);
        let tier = tiers.entry(number.unwrap_or_default()).or_default();
        let weight = endpoint.get("effective_weight").and_then(Value::as_f64);
        match shown(endpoint, "state").as_str() {
            "draining" | "disabled" => continue,
            "unhealthy" | "ejected" => tier.is_in_panic |= weight > Some(0.0),
            _ => tier.healthy += 1,
        }
        tier.total += 1;
    }
    let panicking = tiers.iter().filter(|(_, tier)| tier.is_in_panic);
    let line = |(number, tier): (&u64, &Tier)| {
        let Tier { healthy, total, .. } = tier;
        format!("tier {number}: panic, {healthy} of {total} healthy, all are used\n")
    };
    panicking.map(line).collect()
}

/// What takes part of a tier.
#[derive(Default)]
struct Tier {
    healthy: usize,
    total: usize,
    is_in_panic: bool,
}

/// How each one is that does not simply take requests, why, and what will end it: a line each, below the table.
fn reasons(endpoints: &Value) -> String {
    let endpoints = endpoints.as_array().into_iter().flatten();
    let told = endpoints.filter(|endpoint| shown(endpoint, "reason") != "takes requests");
    let lines = told.map(|endpoint| {
        let [id, health, reason] = ["id", "health", "reason"].map(|key| shown(endpoint, key));
        format!("\n{id}: {health}; {reason}")
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    format!("{lines}\n")
}

fn table(endpoints: &Value) -> Table {
    let mut table = Table::new(&[
        "id",
        "address",
        ">weight",
        "state",
        ">in flight",
        ">requests",
        ">failures",
        ">since start: p50 ms",
        ">p99 ms",
        "since",
    ]);
    for endpoint in endpoints.as_array().into_iter().flatten() {
        let latency = |quantile| {
            let value = endpoint.get("latency_ms").and_then(|all| all.get(quantile));
            value
                .and_then(Value::as_f64)
                .map_or("-".to_owned(), |ms| format!("{ms:.1}"))
        };
        table.row([
            shown(endpoint, "id"),
            shown(endpoint, "address"),
            shown(endpoint, "weight"),
            shown(endpoint, "state"),
            shown(endpoint, "in_flight"),
            shown(endpoint, "requests"),
            shown(endpoint, "failures"),
            latency("p50"),
            latency("p99"),
            shown(endpoint, "since"),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn panic_is_told_of_the_tier_that_uses_those_that_are_out() {
        let endpoint = |tier: u8, state: &str, weight: f64| json!({"tier": tier, "state": state, "effective_weight": weight});
        let mut endpoints = vec![
            endpoint(0, "ready", 1.0),
            endpoint(0, "ejected", 1.0),
            endpoint(0, "unhealthy", 1.0),
            endpoint(0, "draining", 0.0),
            endpoint(1, "unhealthy", 0.0),
            endpoint(1, "saturated", 1.0),
        ];
        assert_eq!(
            panics(&json!(endpoints)),
            "tier 0: panic, 1 of 3 healthy, all are used\n"
        );
        endpoints.drain(1..3);
        assert_eq!(panics(&json!(endpoints)), "");
    }
}
