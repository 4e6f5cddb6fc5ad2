//! Says which commit a build is of, for `evenkeel --version`: the one that is checked out, if this is the
//! repository's own checkout, and else none. Reads git's files and runs no git, so that a build needs no
//! more than cargo; nothing but the commit goes into the binary, so that builds stay reproducible.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// As many digits as tell commits apart in a repository of millions.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = env::var_os("CARGO_MANIFEST_DIR")
        .and_then(|here| folder_of_git(Path::new(&here)))
        .and_then(|git| head(&git))
        .unwrap_or_default();
    println!("cargo::rustc-env=EVENKEEL_COMMIT={commit}");
}

/// Where git keeps what belongs to this checkout. None for a crate from a registry or among the vendored
/// ones of somebody else, whose commit would say nothing of this code.
fn folder_of_git(here: &Path) -> Option<PathBuf> {
    let root = here.ancestors().nth(2)?;
    if !here.ends_with("crates/cli") || !root.join("xtask/Cargo.toml").is_file() {
        return None;
    }
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    // A second working tree: a file that names the folder.
    let named = fs::read_to_string(&git).ok()?;
    Some(root.join(named.strip_prefix("gitdir: ")?.trim_end()))
}

/// The beginning of the commit that is checked out.
fn head(git: &Path) -> Option<String> {
    let head = read(&git.join("HEAD"))?;
    // Grows with each commit, where HEAD stays and its branch may be in either of two files.
    watch(&git.join("logs/HEAD"));
    let full = match head.strip_prefix("ref: ") {
        None => head,
        Some(branch) => of_branch(git, branch)?,
    };
    let commit = full.get(..DIGITS)?;
    let is_hex = commit.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| commit.to_owned())
}

/// The commit of a branch, which lies in a file of its own or among the packed ones.
fn of_branch(git: &Path, branch: &str) -> Option<String> {
    let shared = match fs::read_to_string(git.join("commondir")) {
        Ok(named) => git.join(named.trim_end()),
        Err(_) => git.to_owned(),
    };
    read(&shared.join(branch)).or_else(|| {
        let packed = read(&shared.join("packed-refs"))?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.find_map(|(commit, name)| (name == branch).then(|| commit.to_owned()))
    })
}

/// A file's text, without the end of its last line; cargo runs this again when it changes.
fn read(path: &Path) -> Option<String> {
    watch(path);
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim_end().to_owned())
}

/// Cargo would run this each time for a file that is missing.
fn watch(path: &Path) {
    if path.is_file() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
