//! `evenkeel strategy`: how a running gateway chooses endpoints.

use clap::Subcommand;
use hyper::Method;
use serde_json::{Map, Value, json};

use crate::client::Target;
use crate::exit::Failure;
use crate::host::event_loop;
use crate::output::Format;
use crate::{Outcome, output};

/// See and change the strategy of a running gateway
///
/// Through its admin API; requests in flight finish under the old one.
#[derive(Debug, clap::Args)]
pub(crate) struct Strategy {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Get(Get),
    Set(Set),
}

/// Show the strategy of a cluster
#[derive(Debug, clap::Args)]
struct Get {
    #[command(flatten)]
    target: Target,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Set the strategy of a cluster
#[derive(Debug, clap::Args)]
struct Set {
    /// The strategy; `evenkeel strategies` lists them
    name: String,

    /// Its parameters, like choices=3
    #[arg(value_name = "PARAMETER=VALUE", value_parser = param)]
    params: Vec<(String, Value)>,

    #[command(flatten)]
    target: Target,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Strategy {
    pub(crate) fn run(self) -> Outcome {
        event_loop()?.block_on(async {
            match self.action {
                Action::Get(action) => action.run().await,
                Action::Set(action) => action.run().await,
            }
        })
    }
}

impl Get {
    async fn run(self) -> Outcome {
        let (client, cluster) = self.target.open().await?;
        let answer = client.call(Method::GET, &cluster.path(), None).await?;
        let strategy = answer
            .get("strategy")
            .ok_or_else(|| Failure::runtime("the gateway did not tell its strategy"))?;
        print(&cluster.name, strategy, self.format)
    }
}

impl Set {
    async fn run(self) -> Outcome {
        let (client, cluster) = self.target.open().await?;
        let mut body: Map<String, Value> = self.params.into_iter().collect();
        body.insert("name".to_owned(), json!(self.name));
        let path = format!("{}/strategy", cluster.path());
        let strategy = client
            .call(Method::PUT, &path, Some(&Value::Object(body)))
            .await?;
        print(&cluster.name, &strategy, self.format)
    }
}

fn print(cluster: &str, strategy: &Value, format: Format) -> Outcome {
    if format == Format::Json {
        return output::print_json(strategy);
    }
    let name = strategy.get("name").and_then(Value::as_str).unwrap_or("-");
    let mut line = format!("{cluster}: {name}");
    for (name, value) in strategy.as_object().into_iter().flatten() {
        if name != "name" {
            line.push_str(&format!(" {name}={value}"));
        }
    }
    line.push('\n');
    output::print(&line)
}

/// `name=value`, where the value is a number, true, false, or else a text.
fn param(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("{text} is not of the form PARAMETER=VALUE"))?;
    let value = match serde_json::from_str(value) {
        Ok(plain @ (Value::Bool(_) | Value::Number(_) | Value::String(_))) => plain,
        _ => Value::String(value.to_owned()),
    };
    Ok((name.to_owned(), value))
}
