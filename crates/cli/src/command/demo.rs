//! `evenkeel demo`: the newcomer's first minute.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_config::{StrategyChoice, parse_duration, parse_listen_address};

use crate::Outcome;
use crate::demo::{self, Plan};
use crate::output::Format;
use crate::whole::whole;

/// Watch six backends of unequal speed being balanced
///
/// Starts the backends, a gateway before them, and load, all in this process and on loopback. One
/// backend is twice and one five times as slow as the others, and nobody tells the gateway which. Ends
/// after --duration, or with Ctrl-C, with a table of who got what.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel demo --duration 30s
  evenkeel demo --duration 30s --strategy round_robin")]
pub(crate) struct Demo {
    /// End after this time [default: with Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,

    /// How endpoints are chosen; `evenkeel strategies` lists them [default: least_request]
    #[arg(long, value_name = "NAME", value_parser = strategy)]
    strategy: Option<StrategyChoice>,

    /// Where the gateway listens [default: 127.0.0.1:8080, or a free port when that is busy]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    listen: Option<SocketAddr>,

    /// Where the admin API listens [default: 127.0.0.1:9900, or a free port when that is busy]
    #[arg(long, value_name = "ADDRESS", value_parser = admin)]
    admin: Option<SocketAddr>,

    /// Requests a second
    #[arg(long, value_name = "N", default_value = "400", value_parser = whole(1..=100_000_u32), allow_negative_numbers = true)]
    rate: u32,

    /// How to print the summary
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Demo {
    pub(crate) fn run(self) -> Outcome {
        demo::run(Plan {
            duration: self.duration,
            strategy: self.strategy.unwrap_or_default(),
            listen: self.listen,
            admin: self.admin,
            rate: self.rate,
            format: self.format,
        })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(Duration::ZERO) => Err(format!("{text} is too short to see anything")),
        Ok(duration) => Ok(duration),
        Err(mistake) => Err(mistake.to_string()),
    }
}

fn strategy(name: &str) -> Result<StrategyChoice, String> {
    StrategyChoice::new(name, &[]).map_err(|error| error.to_string())
}

/// The demo has no token, so its admin API stays on this host.
fn admin(text: &str) -> Result<SocketAddr, String> {
    let address = parse_listen_address(text).map_err(|mistake| mistake.to_string())?;
    if address.ip().to_canonical().is_loopback() {
        Ok(address)
    } else {
        Err(format!(
            "{address} is not a loopback address, and the demo has no token"
        ))
    }
}
