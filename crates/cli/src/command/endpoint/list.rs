//! `evenkeel endpoint list`.

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
            "{}{}",
            table(&endpoints).render(),
            reasons(&endpoints)
        ))
    }
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
        ">p50 ms",
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
