//! `evenkeel top`: a running gateway in a terminal.

use std::io::{self, IsTerminal as _};

use hyper::Method;
use serde_json::Value;

use crate::client::{ApiFlags, Client};
use crate::exit::Failure;
use crate::host::event_loop;
use crate::output::Format;
use crate::top::{self, State};
use crate::{Outcome, output};

/// Watch a running gateway: who gets what, and why
///
/// Through its admin API; `?` shows the keys. With --format json, one snapshot.
#[derive(Debug, clap::Args)]
pub(crate) struct Top {
    /// The cluster to begin with
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    #[command(flatten)]
    api: ApiFlags,

    /// How to show it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Top {
    pub(crate) fn run(self) -> Outcome {
        let client = self.api.client()?;
        let clusters = event_loop()?.block_on(self.clusters(&client))?;
        if self.format == Format::Json {
            let snapshot = event_loop()?.block_on(top::snapshot(&client, clusters))?;
            return output::print_json(&snapshot);
        }
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(Failure::usage(
                "top needs a terminal; --format json prints one snapshot",
            ));
        }
        let first = clusters.first().map_or("", name);
        let state = State::new(client.authority(), first, output::stdout_colours());
        top::show(client, state)
    }

    /// The clusters of the gateway, or the one that is meant, in the form of the API.
    async fn clusters(&self, client: &Client) -> Result<Vec<Value>, Failure> {
        let answer = client.call(Method::GET, "/clusters", None).await?;
        let Value::Array(mut clusters) = answer else {
            return Err(Failure::runtime("the gateway did not tell its clusters"));
        };
        let Some(wanted) = &self.cluster else {
            return Ok(clusters);
        };
        let names: Vec<&str> = clusters.iter().map(name).collect();
        let names = names.join(", ");
        clusters.retain(|cluster| name(cluster) == wanted);
        match clusters.is_empty() {
            false => Ok(clusters),
            true => Err(Failure::usage(format!(
                "the gateway has no cluster {wanted:?}; it has {names}"
            ))),
        }
    }
}

fn name(cluster: &Value) -> &str {
    let name = cluster.get("name").and_then(Value::as_str);
    name.unwrap_or_default()
}
