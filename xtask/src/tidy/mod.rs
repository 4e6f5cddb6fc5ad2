//! `cargo xtask tidy`: the house style as a test.
//!
//! A rule is a function from the tree to findings, in a file of its own, with a test that shows it
//! catching a bad example. Rules look at text, not at syntax trees: the code is formatted by
//! rustfmt, so indentation says enough, and a rule stays short enough to be read by whom it stops.

mod cases;
mod comment_width;
mod core_purity;
mod dependency_reasons;
mod documents;
mod file_length;
mod function_length;
mod library_examples;
mod links;
mod lockfile;
mod machine_paths;
mod markers;
mod names;
mod pages;
mod strategy_pages;
mod tree;

use crate::process::root;
use anyhow::{Result, bail};
use std::fmt;
use tree::Tree;

/// What a rule has to say about one place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    /// What is wrong, and what would be right.
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// The rules. A new one is a file and a line here.
const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    cases::check,
    comment_width::check,
    library_examples::check,
    core_purity::check,
    dependency_reasons::check,
    documents::check,
    file_length::check,
    function_length::check,
    links::check,
    lockfile::check,
    machine_paths::check,
    markers::check,
    names::check,
    pages::check,
    strategy_pages::check,
];

/// Applies every rule to every file of the repository and prints the findings.
///
/// # Errors
///
/// When the tree cannot be read, or a rule found something.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(&root())?;
    let mut findings: Vec<_> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("tidy: 1 finding"),
        n => bail!("tidy: {n} findings"),
    }
}
