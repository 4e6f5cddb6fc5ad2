//! `cargo xtask install`: the binary, from this tree, with the versions that were tested.

use crate::dashboard;
use crate::process::{self, cargo};
use anyhow::Result;

/// Installs `evenkeel` into cargo's folder for binaries.
///
/// # Errors
///
/// When the build fails.
pub(crate) fn run() -> Result<()> {
    dashboard::build_if_possible()?;
    process::run(&mut cargo(&["install", "--path", "crates/cli", "--locked"]))
}
