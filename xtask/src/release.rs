//! `cargo xtask release`: a release that may be handed out, which is one with the dashboard in it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::dashboard;
use crate::process::{self, release_binary};

/// Arguments of `cargo xtask release`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Builds nothing, and looks at this binary
    #[arg(long, value_name = "BINARY")]
    check: Option<PathBuf>,
}

/// Builds the page and the binary, and looks whether the one is in the other.
///
/// # Errors
///
/// When a build fails, or the binary has the placeholder in the page's place.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let binary = match &arguments.check {
        Some(binary) => binary.clone(),
        None => {
            dashboard::build()?;
            release_binary()?
        }
    };
    let mut version = Command::new(&binary);
    let told = version.arg("--version").output();
    let told = told.with_context(|| format!("{} could not be run", binary.display()))?;
    ensure!(told.status.success(), "{version:?} failed");
    judge(&String::from_utf8_lossy(&told.stdout))?;
    println!("{}", binary.display());
    process::run(&mut version)
}

/// A binary says its version, and with it what it lacks.
fn judge(version: &str) -> Result<()> {
    let words: Vec<&str> = version.split_whitespace().collect();
    let number = match words[..] {
        ["evenkeel", number] => number,
        // Built from a checkout.
        ["evenkeel", number, "(commit", commit] if commit.ends_with(')') => number,
        _ => "",
    };
    match number.starts_with(|first: char| first.is_ascii_digit()) {
        true => Ok(()),
        false => bail!(
            "this binary is not to be handed out: it says {:?}",
            version.trim()
        ),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_binary_with_the_placeholder_is_refused() {
        judge("evenkeel 0.1.0\n").expect("it has the page");
        judge("evenkeel 0.1.0 (commit 6000fa6c1d2e)\n").expect("it has the page");
        for note in ["built", "commit 6000fa6c1d2e, built"] {
            let refused = judge(&format!("evenkeel 0.1.0 ({note} without the dashboard)\n"));
            let error = refused.expect_err("it has not").to_string();
            assert!(error.contains("without the dashboard"), "{error}");
        }
        judge("").expect_err("it says nothing");
    }
}
