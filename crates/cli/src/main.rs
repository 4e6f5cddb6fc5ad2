//! `evenkeel`: a load balancer whose decisions can be repeated.
//!
//! What the user typed becomes one of the commands in `command/`; what went wrong becomes one line
//! on stderr and an exit code of `exit`.

mod backend;
mod client;
mod command;
mod demo;
mod exit;
mod host;
mod log;
mod output;
mod paragraph;
mod serving;
mod simulation;
mod stopwatch;
mod table;
mod top;
mod upgrade;
mod usage;
mod whole;

use std::process::ExitCode;

use clap::Parser as _;

use command::Cli;
use exit::{Code, Failure};

fn main() -> ExitCode {
    log::one_line_for_a_panic();
    let result = match Cli::try_parse() {
        Ok(cli) => command::run(cli.command),
        Err(error) => usage::explain(&error),
    };
    match result {
        Ok(()) => Code::Success.into(),
        Err(failure) => failure.report(),
    }
}

/// What a command comes to.
type Outcome = Result<(), Failure>;
