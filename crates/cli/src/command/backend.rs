//! `evenkeel backend`: an HTTP server for trying things.

use std::net::SocketAddr;

use evenkeel_config::parse_listen_address;

use crate::backend::{Behaviour, LatencyLaw, serve};
use crate::exit::Failure;
use crate::host::{EndSignals, event_loop, ignore_upgrades, seed};
use crate::whole::whole;
use crate::{Outcome, output};

/// Run an HTTP backend for trying things
///
/// Answers every path with 200 and its name, also in the header x-backend; paths that end in /probe, and
/// the probes of `prequal` at any path, with how busy it is. Prints the address it listens on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel backend --listen 127.0.0.1:9001 --name a
  evenkeel backend --listen 127.0.0.1:9002 --name b --latency 'lognormal(30ms,0.3)' --errors 0.01")]
pub(crate) struct Backend {
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_listen_address)]
    listen: SocketAddr,

    /// How long an answer takes: 30ms, exponential(30ms) by its mean, lognormal(30ms,0.3) by its
    /// median and spread, or uniform(10ms,50ms)
    #[arg(long, value_name = "LAW", default_value = "0ms")]
    latency: LatencyLaw,

    /// The share of answers that are errors (500), from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    errors: f64,

    /// Work on so many requests at once; more wait in a queue [default: all at once]
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_000_u32), allow_negative_numbers = true)]
    concurrency: Option<u32>,

    /// Let so many wait; more are refused with 503 [default: any number]
    #[arg(long, value_name = "N", requires = "concurrency", value_parser = whole(0..=1_000_000_u32), allow_negative_numbers = true)]
    queue: Option<u32>,

    /// The name it answers with [default: the address]
    #[arg(long, value_parser = header_text)]
    name: Option<String>,
}

impl Backend {
    pub(crate) fn run(self) -> Outcome {
        event_loop()?.block_on(self.serve())
    }

    async fn serve(self) -> Outcome {
        let mut signals = EndSignals::listen()?;
        ignore_upgrades()?;
        let listener = tokio::net::TcpListener::bind(self.listen)
            .await
            .map_err(|error| {
                Failure::runtime(format!("backend cannot listen on {}: {error}", self.listen))
            })?;
        let address = listener.local_addr().map_err(Failure::runtime)?;
        let name = self.name.unwrap_or_else(|| address.to_string());
        output::print(&format!("listening on {address} ({name})\n"))?;
        let behaviour = Behaviour {
            name,
            latency: self.latency,
            errors: self.errors,
            concurrency: self.concurrency,
            queue: self.queue,
        };
        let (_work, served) = serve(listener, behaviour, seed()?);
        tokio::select! {
            error = served => Err(Failure::runtime(format!("backend ended: {error}"))),
            _ = signals.next() => Ok(()),
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("{text} is not a share from 0 to 1")),
    }
}

/// The name is sent as a header.
fn header_text(text: &str) -> Result<String, String> {
    let visible = |byte: u8| byte.is_ascii_graphic();
    if !text.is_empty() && text.len() <= 200 && text.bytes().all(visible) {
        Ok(text.to_owned())
    } else {
        Err("a name is 1 to 200 visible ASCII characters".to_owned())
    }
}
