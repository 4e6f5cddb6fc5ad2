//! `cargo xtask demo`: the newcomer's first minute, built from this tree.

use crate::dashboard;
use crate::process::{self, cargo};
use anyhow::Result;

/// Arguments of `cargo xtask demo`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Handed on to `evenkeel demo`
    #[arg(last = true)]
    demo: Vec<String>,
}

/// Builds the dashboard and a release, and runs the demo.
///
/// # Errors
///
/// When a build fails or the demo ends with anything but 0.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    dashboard::build_if_possible()?;
    let mut demo = cargo(&[
        "run",
        "--release",
        "--locked",
        "--quiet",
        "--bin",
        "evenkeel",
        "--",
    ]);
    process::run(demo.arg("demo").args(&arguments.demo))
}
