//! The commands, a file for each.

mod backend;
mod check;
mod completions;
mod demo;
mod endpoint;
mod endpoint_files;
mod events;
mod explain;
mod man;
mod receipt_text;
#[cfg(test)]
mod reference;
mod register;
mod replay;
mod serve;
mod sim;
mod strategies;
mod strategy;
mod subsets;
mod top;

use clap::{Parser, Subcommand};

use crate::Outcome;
use crate::host::end_when_interrupted;
pub(crate) use receipt_text::{choice, receipt_text};

/// What `--version` says: the commit, where `build.rs` found one, and that there is no dashboard, lest
/// somebody ships such a build.
const VERSION: &str = match (
    env!("EVENKEEL_COMMIT").is_empty(),
    evenkeel_admin::HAS_DASHBOARD,
) {
    (true, true) => env!("CARGO_PKG_VERSION"),
    (true, false) => concat!(env!("CARGO_PKG_VERSION"), " (built without the dashboard)"),
    (false, true) => concat!(
        env!("CARGO_PKG_VERSION"),
        " (commit ",
        env!("EVENKEEL_COMMIT"),
        ")"
    ),
    (false, false) => concat!(
        env!("CARGO_PKG_VERSION"),
        " (commit ",
        env!("EVENKEEL_COMMIT"),
        ", built without the dashboard)"
    ),
};

/// A load balancer whose decisions can be repeated
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version = VERSION, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Serve(serve::Serve),
    Check(check::Check),
    Strategies(strategies::Strategies),
    Sim(sim::Sim),
    Replay(replay::Replay),
    Endpoint(endpoint::Endpoint),
    Strategy(strategy::Strategy),
    Top(top::Top),
    Events(events::Events),
    Explain(explain::Explain),
    Backend(backend::Backend),
    Register(register::Register),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Whether an interrupt leaves nothing behind and nothing to tell; others see to it themselves.
    fn is_cut_short(&self) -> bool {
        matches!(
            self,
            Self::Sim(_) | Self::Replay(_) | Self::Events(_) | Self::Explain(_)
        )
    }
}

/// Does what was asked for.
pub(crate) fn run(command: Command) -> Outcome {
    if command.is_cut_short() {
        end_when_interrupted()?;
    }
    match command {
        Command::Demo(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Strategies(command) => command.run(),
        Command::Sim(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Endpoint(command) => command.run(),
        Command::Strategy(command) => command.run(),
        Command::Top(command) => command.run(),
        Command::Events(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Backend(command) => command.run(),
        Command::Register(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}
