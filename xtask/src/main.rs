//! The repository's own commands: `cargo xtask test`, `tidy`, `demo`, `install`, `release`, `soak`,
//! `mutants`, `bench`.
//!
//! They are a crate and not shell scripts so that they run the same on every machine that can
//! build the product, and so that the style rules can have tests of their own.

mod bench;
mod dashboard;
mod demo;
mod fleet;
mod fresh;
mod install;
mod msrv;
mod mutants;
mod outside;
mod process;
mod release;
mod soak;
mod stopwatch;
mod test;
mod tidy;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The repository's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs everything a change must pass: formatting, lints, style, tests, documentation
    Test(test::Arguments),
    /// Checks the house style over the whole tree
    Tidy,
    /// Builds the dashboard and a release, and runs `evenkeel demo`
    Demo(demo::Arguments),
    /// Installs the `evenkeel` binary from this tree, with the dashboard
    Install,
    /// Builds a release to be handed out; fails when the dashboard is not in it
    Release(release::Arguments),
    /// Loads a gateway for long, with clients that leave, endpoints that die, and reloads
    Soak(soak::Arguments),
    /// Changes the core, one thing at a time, and looks whether a test notices
    Mutants(mutants::Arguments),
    /// Measures, always beside the rivals and in the same run
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test(arguments) => test::run(&arguments),
        Command::Tidy => tidy::run(),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Install => install::run(),
        Command::Release(arguments) => release::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Bench(bench) => bench::run(&bench),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
