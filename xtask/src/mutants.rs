//! `cargo xtask mutants`: changes one thing of the core at a time and looks whether a test notices.

use crate::process::{self, answers, cargo, command};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Arguments of `cargo xtask mutants`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// K/N: every Nth change, from the Kth; a hundredth takes some minutes
    #[arg(long, default_value = "0/100")]
    shard: String,
    /// Only changes in files of such names: 'crates/core/src/strategy/*'
    #[arg(long)]
    file: Vec<String>,
}

/// Tries the changes in a work tree of its own, at the commit that is checked out here. What is known
/// of that commit is gone on with.
///
/// # Errors
///
/// When `cargo-mutants` is not installed, or the tests fail without a change.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if !answers(cargo(&["mutants", "--version"])) {
        bail!("cargo-mutants is not installed: `cargo install cargo-mutants --locked`");
    }
    let commit = commit()?;
    let folder = process::target().join("mutants");
    let tree = folder.join("tree");
    check_out(&tree, &commit)?;
    let mut mutants = command("python3", &["-B", "tests/mutants/mutants.py"]);
    mutants.args(["--shard", &arguments.shard, "--tree"]);
    mutants.arg(&tree).arg("--out");
    mutants.arg(folder.join(format!("{commit}.jsonl")));
    for file in &arguments.file {
        mutants.args(["--file", file]);
    }
    process::run(&mut mutants)
}

fn commit() -> Result<String> {
    let output = command("git", &["rev-parse", "--short", "HEAD"]).output();
    let output = output.context("`git rev-parse` could not be started")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Puts a commit into a work tree of its own, whose files may be changed.
fn check_out(tree: &Path, commit: &str) -> Result<()> {
    let mut git = match tree.exists() {
        true => command("git", &["-C"]),
        false => command("git", &["worktree", "add", "--force", "--detach"]),
    };
    git.arg(tree);
    if tree.exists() {
        git.args(["checkout", "--quiet", "--force", "--detach"]);
    }
    process::run(git.arg(commit))
}
