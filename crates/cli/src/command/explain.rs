//! `evenkeel explain`: why a request went where it did, or where one would go.

use evenkeel_admin::path_segment;
use hyper::Method;
use serde_json::Value;

use super::receipt_text::receipt_text;
use crate::client::Target;
use crate::host::event_loop;
use crate::output::Format;
use crate::{Outcome, output};

/// Explain a decision of a running gateway
///
/// Through its admin API: the receipt of a request, or a dry run that changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    target: Target,

    /// The receipt of this request, by its x-request-id
    #[arg(long, value_name = "ID", conflicts_with = "key")]
    request: Option<String>,

    /// Where a request with this key would go now
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Explain {
    pub(crate) fn run(self) -> Outcome {
        event_loop()?.block_on(async {
            let receipt = self.fetch().await?;
            match self.format {
                Format::Json => output::print_json(&receipt),
                Format::Text => output::print(&receipt_text(&receipt)),
            }
        })
    }

    async fn fetch(&self) -> Result<Value, crate::exit::Failure> {
        if let Some(id) = &self.request {
            let client = self.target.client()?;
            let path = format!("/decisions/{}", path_segment(id));
            return client.call(Method::GET, &path, None).await;
        }
        let (client, cluster) = self.target.open().await?;
        let query = self.key.as_deref().map(path_segment);
        let query = query.map_or_else(String::new, |key| format!("?key={key}"));
        let path = format!("{}/explain{query}", cluster.path());
        client.call(Method::GET, &path, None).await
    }
}
