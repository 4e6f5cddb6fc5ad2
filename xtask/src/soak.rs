//! `cargo xtask soak`: load and trouble for a long while, after which everything must be as it was.

use crate::process::{self, command, debug_binary};
use anyhow::{Result, bail};
use std::path::PathBuf;

/// How long the soak among the tests is, and at how many requests a second.
const SHORT: [&str; 4] = ["--seconds", "20", "--rate", "300"];

/// Arguments of `cargo xtask soak`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
    /// Requests a second
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    /// A gateway that is built already, instead of a release of this tree
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Builds a release and soaks it.
///
/// # Errors
///
/// When the build fails, or something was not as it was before.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if !(arguments.minutes > 0.0 && arguments.rate > 0) {
        bail!("--minutes and --rate must be above 0");
    }
    let binary = match &arguments.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => process::release_binary()?,
    };
    let seconds = (arguments.minutes * 60.0).to_string();
    let rate = arguments.rate.to_string();
    process::run(
        command("python3", &["-B", "tests/soak/soak.py"])
            .args(["--seconds", &seconds, "--rate", &rate, "--binary"])
            .arg(binary),
    )
}

/// A short one, on the debug build that the tests use.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn short() -> Result<()> {
    process::run(
        command("python3", &["-B", "tests/soak/soak.py"])
            .args(SHORT)
            .arg("--binary")
            .arg(debug_binary()?),
    )
}
