//! `cargo xtask bench`: measurements, always with the rivals in the same run.

use crate::process::{self, cargo, command, root};
use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;

/// What to measure.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// One pick of every strategy, in nanoseconds, beside other Rust balancers
    Decisions {
        /// How to print the rows
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Fewer and shorter rounds: for trying, not for publishing
        #[arg(long)]
        quick: bool,
    },
    /// The client library: a call beside tower's balancer, connections beside bare hyper, tails under trouble
    Client,
    /// CPU per proxied request, beside other proxies
    Gateway(Gateway),
    /// The simulator beside the real gateway, on the same workloads
    Sim {
        /// How to print the rows
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Seconds of each real run
        #[arg(long, default_value_t = 90)]
        secs: u32,
    },
}

/// Arguments of `cargo xtask bench gateway`.
#[derive(clap::Args)]
pub(crate) struct Gateway {
    /// How to print the rows
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Interleaved rounds for each scenario
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds for each measurement
    #[arg(long, default_value_t = 3)]
    secs: u32,
    /// Rivals to run beside ours (comma-separated); by default those that do similar work
    #[arg(long)]
    only: Option<String>,
    /// Of get, hdr, post, big, rate, idle, tls, h2tls, grpc, tcp, idletls (comma-separated)
    #[arg(long, default_value = "get")]
    scenarios: String,
}

/// How rows are printed.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// An aligned table
    Text,
    /// One JSON array
    Json,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Builds what is measured and runs the measurement.
///
/// # Errors
///
/// When a build or the measurement fails.
pub(crate) fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Decisions { format, quick } => decisions(*format, *quick),
        Bench::Client => client(),
        Bench::Gateway(gateway) => run_gateway(gateway),
        Bench::Sim { format, secs } => sim(*format, *secs),
    }
}

fn decisions(format: Format, quick: bool) -> Result<()> {
    let mut bench = cargo(&["run", "--release", "--quiet"]);
    // Not `--locked`: that lock file follows the core's dependencies; the rivals are pinned by `=`.
    bench.args([
        "--manifest-path",
        "perf/Cargo.toml",
        "--package",
        "bench-decisions",
        "--",
    ]);
    bench.args(["--format", format.name()]);
    if quick {
        bench.arg("--quick");
    }
    process::run(&mut bench)
}

fn client() -> Result<()> {
    for what in ["cost", "wire", "tails"] {
        let mut bench = cargo(&["run", "--release", "--quiet"]);
        bench.args([
            "--manifest-path",
            "perf/Cargo.toml",
            "--package",
            "bench-client",
            "--",
            what,
        ]);
        process::run(&mut bench)?;
    }
    Ok(())
}

/// Fails when the two differ by more than 15 %.
fn sim(format: Format, secs: u32) -> Result<()> {
    let mut bench = command("python3", &["perf/sim/run.py"]);
    bench.arg("--binary").arg(process::release_binary()?);
    bench.args(["--format", format.name(), "--secs", &secs.to_string()]);
    process::run(&mut bench)
}

fn run_gateway(gateway: &Gateway) -> Result<()> {
    let lab = lab();
    // Each part of the set-up looks first whether its result is there, so a ready lab costs nothing.
    process::run(command("bash", &["perf/gateway/setup.sh"]).env("EVENKEEL_LAB", &lab))?;
    let mut bench = command("python3", &["perf/gateway/run.py"]);
    bench.env("EVENKEEL_LAB", &lab);
    bench.arg("--binary").arg(process::release_binary()?);
    bench.args([
        "--format",
        gateway.format.name(),
        "--scenarios",
        &gateway.scenarios,
    ]);
    bench.args([
        "--rounds",
        &gateway.rounds.to_string(),
        "--secs",
        &gateway.secs.to_string(),
    ]);
    if let Some(only) = &gateway.only {
        bench.args(["--only", only]);
    }
    process::run(&mut bench)
}

/// Where rivals and their builds are kept.
fn lab() -> PathBuf {
    std::env::var_os("EVENKEEL_LAB").map_or_else(|| root().join("perf/lab"), PathBuf::from)
}
