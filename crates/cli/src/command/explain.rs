//! `evenkeel explain`: why a request went where it did, or where one would go.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenkeel_admin::path_segment;
use hyper::Method;
use serde_json::Value;

use super::receipt_text::receipt_text;
use crate::client::{Events, Target};
use crate::exit::Failure;
use crate::host::event_loop;
use crate::output::Format;
use crate::{Outcome, output};

/// How often is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(50);

/// How long after its command a request is told at the latest.
const TOLD_WITHIN: Duration = Duration::from_secs(1);

/// Explain a decision of a running gateway
///
/// Through its admin API: the receipt of a request, or a dry run that changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    target: Target,

    /// The receipt of this request, by its x-request-id or as much of its beginning as no other has
    #[arg(long, value_name = "ID", conflicts_with = "key")]
    request: Option<String>,

    /// Where a request with this key would go now
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Wait for the next request like this: path^=/pay, path=/pay, method=POST, header:x-user=7,
    /// status>=500, endpoint=b; several joined by &&
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["key", "request"])]
    next: Option<String>,

    /// A command that sends it, once the gateway waits for it
    #[arg(last = true, value_name = "COMMAND", requires = "next")]
    command: Vec<OsString>,

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

    async fn fetch(&self) -> Result<Value, Failure> {
        if let Some(id) = &self.request {
            let client = self.target.client()?;
            let path = format!("/decisions/{}?prefix=true", path_segment(id));
            return client.call(Method::GET, &path, None).await;
        }
        let (client, cluster) = self.target.open().await?;
        if let Some(condition) = &self.next {
            let query = path_segment(condition);
            let path = format!("{}/next?match={query}", cluster.path());
            return self.wait(client.events(&path).await?, condition).await;
        }
        let query = self.key.as_deref().map(path_segment);
        let query = query.map_or_else(String::new, |key| format!("?key={key}"));
        let path = format!("{}/explain{query}", cluster.path());
        client.call(Method::GET, &path, None).await
    }

    /// Sends what was asked for, and waits for a receipt. What the command prints goes to stderr, so that
    /// the receipt stands alone.
    async fn wait(&self, mut events: Events, condition: &str) -> Result<Value, Failure> {
        let mut child = self.start()?;
        let waits = format!("waiting for a request with {condition} (Ctrl-C ends)\n");
        // Whoever does not read it waits all the same.
        let _ = std::io::stderr().write_all(waits.as_bytes());
        let receipt = tokio::select! {
            receipt = events.next() => receipt?,
            () = over(child.as_mut()) => {
                let said = format!("its request was not like this: {condition}");
                return Err(Failure::runtime(said));
            }
        };
        if let Some(mut child) = child {
            // How it ends is its own affair.
            let _ = child.wait();
        }
        let receipt =
            receipt.ok_or_else(|| Failure::runtime("the gateway ended before such a request"))?;
        serde_json::from_str(&receipt)
            .map_err(|error| Failure::runtime(format!("the gateway sent no receipt: {error}")))
    }

    /// Starts the command, if there is one.
    fn start(&self) -> Result<Option<Child>, Failure> {
        let [program, arguments @ ..] = &self.command[..] else {
            return Ok(None);
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(std::io::stderr());
        let started = command.spawn();
        started
            .map(Some)
            .map_err(|error| Failure::runtime(format!("{program:?} cannot be run: {error}")))
    }
}

/// Returns once the command has ended and its request would have been told; never without one.
async fn over(child: Option<&mut Child>) {
    let Some(child) = child else {
        return std::future::pending().await;
    };
    while let Ok(None) = child.try_wait() {
        tokio::time::sleep(LOOK).await;
    }
    tokio::time::sleep(TOLD_WITHIN).await;
}
