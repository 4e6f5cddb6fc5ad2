//! `cargo xtask demo`: the newcomer's first minute, built from this tree.

use crate::process::{self, cargo, command, root};
use anyhow::Result;

/// Arguments of `cargo xtask demo`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Handed on to `evenkeel demo`
    #[arg(last = true)]
    demo: Vec<String>,
}

/// Builds the dashboard where there is one, then a release, and runs the demo.
///
/// # Errors
///
/// When a build fails or the demo ends with anything but 0.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    build_dashboard()?;
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

/// The binary embeds `dashboard/dist`; without the folder it serves a page that says so.
fn build_dashboard() -> Result<()> {
    if !root().join("dashboard/package.json").is_file() {
        return Ok(());
    }
    process::run(&mut command(
        "npm",
        &["--prefix", "dashboard", "ci", "--no-audit", "--no-fund"],
    ))?;
    process::run(&mut command(
        "npm",
        &["--prefix", "dashboard", "run", "build"],
    ))
}
