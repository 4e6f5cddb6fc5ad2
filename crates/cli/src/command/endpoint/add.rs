//! `evenkeel endpoint add`.

use evenkeel_config::parse_weight;
use hyper::Method;
use serde_json::{Map, Value, json};

use super::print_endpoint;
use crate::Outcome;
use crate::client::Target;
use crate::output::Format;
use crate::whole::whole;

/// Add an endpoint
#[derive(Debug, clap::Args)]
pub(super) struct Add {
    /// Where it is reached, like 127.0.0.1:9001
    address: String,

    /// Its id [default: the address]
    #[arg(long)]
    id: Option<String>,

    /// Its weight, from 0 to 65535 [default: 1]
    #[arg(long, value_parser = parse_weight, allow_negative_numbers = true)]
    weight: Option<u16>,

    /// The zone it stands in
    #[arg(long)]
    zone: Option<String>,

    /// Its tier: 0 is used first, the next ones as it fails [default: 0]
    #[arg(long, value_parser = whole(0..=u8::MAX), allow_negative_numbers = true)]
    tier: Option<u8>,

    /// The most requests it may have in flight
    #[arg(long, value_parser = whole(1..=1_000_000_u32), allow_negative_numbers = true)]
    capacity: Option<u32>,

    /// A label, like version=2; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,

    #[command(flatten)]
    target: Target,

    /// How to print the endpoint
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Add {
    pub(super) async fn run(self) -> Outcome {
        let (client, cluster) = self.target.open().await?;
        let path = format!("{}/endpoints", cluster.path());
        let endpoint = client.call(Method::POST, &path, Some(&self.body())).await?;
        print_endpoint(&endpoint, self.format)
    }

    fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("address".to_owned(), json!(self.address));
        let optional = [
            ("id", self.id.as_ref().map(|id| json!(id))),
            ("weight", self.weight.map(|weight| json!(weight))),
            ("zone", self.zone.as_ref().map(|zone| json!(zone))),
            ("tier", self.tier.map(|tier| json!(tier))),
            ("capacity", self.capacity.map(|capacity| json!(capacity))),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                body.insert(key.to_owned(), value);
            }
        }
        if !self.label.is_empty() {
            let labels = self.label.iter().cloned();
            let labels: Map<String, Value> =
                labels.map(|(name, value)| (name, json!(value))).collect();
            body.insert("labels".to_owned(), Value::Object(labels));
        }
        Value::Object(body)
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("{text} is not of the form NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}
