//! `evenkeel endpoint`: the endpoints of a running gateway.

mod add;
mod change;
mod list;
mod remove;

use clap::Subcommand;
use serde_json::Value;

use crate::host::event_loop;
use crate::output::Format;
use crate::{Outcome, output};

/// See and change the endpoints of a running gateway
///
/// Through its admin API: changes are in force at once, and last until the gateway ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Endpoint {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::List),
    Add(add::Add),
    Remove(remove::Remove),
    Drain(change::Drain),
    Enable(change::Enable),
    Disable(change::Disable),
    Weight(change::Weight),
}

impl Endpoint {
    pub(crate) fn run(self) -> Outcome {
        event_loop()?.block_on(async {
            match self.action {
                Action::List(action) => action.run().await,
                Action::Add(action) => action.run().await,
                Action::Remove(action) => action.run().await,
                Action::Drain(action) => action.run().await,
                Action::Enable(action) => action.run().await,
                Action::Disable(action) => action.run().await,
                Action::Weight(action) => action.run().await,
            }
        })
    }
}

/// Prints an endpoint after a change.
fn print_endpoint(endpoint: &Value, format: Format) -> Outcome {
    if format == Format::Json {
        return output::print_json(endpoint);
    }
    output::print(&format!(
        "{}: {}, weight {}, {} in flight ({})\n",
        shown(endpoint, "id"),
        shown(endpoint, "state"),
        shown(endpoint, "weight"),
        shown(endpoint, "in_flight"),
        shown(endpoint, "reason"),
    ))
}

/// A field as text, without quotes.
fn shown(value: &Value, key: &str) -> String {
    match value.get(key) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
