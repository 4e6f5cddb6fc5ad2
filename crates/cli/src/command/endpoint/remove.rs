//! `evenkeel endpoint remove`.

use hyper::Method;
use serde_json::json;

use crate::client::Target;
use crate::output::Format;
use crate::{Outcome, output};

/// Remove an endpoint
///
/// It takes no new request at once; its requests in flight finish.
#[derive(Debug, clap::Args)]
pub(super) struct Remove {
    /// The endpoint's id
    id: String,

    #[command(flatten)]
    target: Target,

    /// How to print what was done
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Remove {
    pub(super) async fn run(self) -> Outcome {
        let (client, cluster) = self.target.open().await?;
        let path = cluster.endpoint_path(&self.id);
        client.call(Method::DELETE, &path, None).await?;
        match self.format {
            Format::Json => {
                output::print_json(&json!({"removed": self.id, "cluster": cluster.name}))
            }
            Format::Text => output::print(&format!("{}: removed from {}\n", self.id, cluster.name)),
        }
    }
}
