//! The inputs that fuzzers found worth keeping.

use std::fs;
use std::path::{Path, PathBuf};

/// The committed inputs of a target, in the order of their names.
pub(crate) fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    assert!(paths.len() > 9, "{folder:?} holds {} inputs", paths.len());
    paths
}
