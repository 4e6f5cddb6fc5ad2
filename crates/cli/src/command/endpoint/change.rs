//! `evenkeel endpoint drain`, `enable`, `disable` and `weight`: one call with different bodies.

use std::io::Write as _;

use evenkeel_config::parse_weight;
use hyper::Method;
use serde_json::{Value, json};

use super::{print_endpoint, shown};
use crate::Outcome;
use crate::client::Target;
use crate::exit::Failure;
use crate::output::Format;

/// Let an endpoint take no new requests; those in flight finish
#[derive(Debug, clap::Args)]
pub(super) struct Drain {
    #[command(flatten)]
    endpoint: Which,
}

/// Let an endpoint take requests again
#[derive(Debug, clap::Args)]
pub(super) struct Enable {
    #[command(flatten)]
    endpoint: Which,
}

/// Take an endpoint out of service
#[derive(Debug, clap::Args)]
pub(super) struct Disable {
    #[command(flatten)]
    endpoint: Which,
}

/// Set the weight of an endpoint
#[derive(Debug, clap::Args)]
pub(super) struct Weight {
    #[command(flatten)]
    endpoint: Which,

    /// From 0 to 65535; 0 takes no new requests
    #[arg(value_parser = parse_weight, allow_negative_numbers = true)]
    weight: u16,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The endpoint's id
    id: String,

    #[command(flatten)]
    target: Target,

    /// How to print the endpoint
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Drain {
    pub(super) async fn run(self) -> Outcome {
        self.endpoint.patch(&json!({"admin": "draining"})).await
    }
}

impl Enable {
    pub(super) async fn run(self) -> Outcome {
        let endpoint = self.endpoint.change(&json!({"admin": "enabled"})).await?;
        if let Some(remark) = remark(&endpoint) {
            // Whoever does not read it has the state.
            let _ = std::io::stderr().write_all(remark.as_bytes());
        }
        print_endpoint(&endpoint, self.endpoint.format)
    }
}

impl Disable {
    pub(super) async fn run(self) -> Outcome {
        self.endpoint.patch(&json!({"admin": "disabled"})).await
    }
}

impl Weight {
    pub(super) async fn run(self) -> Outcome {
        self.endpoint.patch(&json!({"weight": self.weight})).await
    }
}

impl Which {
    async fn patch(&self, change: &Value) -> Outcome {
        print_endpoint(&self.change(change).await?, self.format)
    }

    async fn change(&self, change: &Value) -> Result<Value, Failure> {
        let (client, cluster) = self.target.open().await?;
        let path = cluster.endpoint_path(&self.id);
        client.call(Method::PATCH, &path, Some(change)).await
    }
}

/// What enabling an endpoint did not do.
fn remark(endpoint: &Value) -> Option<String> {
    (shown(endpoint, "state") == "ejected").then(|| {
        let (id, until) = (shown(endpoint, "id"), shown(endpoint, "until"));
        format!("{id} stays out: enabling ends no ejection, this one ends at {until}\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enabling_what_is_ejected_says_that_it_stays_out() {
        let ejected = json!({"id": "b", "state": "ejected", "until": "T"});
        let told = remark(&ejected).expect("a remark");
        assert_eq!(
            told,
            "b stays out: enabling ends no ejection, this one ends at T\n"
        );
        assert_eq!(remark(&json!({"id": "b", "state": "ready"})), None);
    }
}
