//! The files that the rules look at.

use crate::process::command;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Folders that are made, not written; skipped when git cannot say what is ours.
const MADE: &[&str] = &[
    ".git",
    "target",
    "lab",
    "node_modules",
    "dist",
    "__pycache__",
];

/// One text file: its path from the root, with `/`, and what is in it.
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    /// The lines with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    /// Whether the name ends in one of these, given without the dot.
    pub(super) fn is(&self, extensions: &[&str]) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.')
            .is_some_and(|(_, extension)| extensions.contains(&extension))
    }
}

/// Every file of the repository, and the text of those that are text.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    paths: BTreeSet<String>,
    /// Where the checkout lies: a path that no file may name.
    pub(super) root: String,
}

impl Tree {
    /// Reads what git tracks or would track; without git, every file outside the made folders.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let paths = match tracked() {
            Some(paths) => paths,
            None => walk(root)?,
        };
        let mut tree = Self {
            files: Vec::new(),
            paths: BTreeSet::new(),
            root: String::new(),
        };
        tree.root = root.to_string_lossy().into_owned();
        for path in paths {
            // A file that is tracked but deleted is no longer part of the tree.
            let Ok(bytes) = fs::read(root.join(&path)) else {
                continue;
            };
            if let Ok(text) = String::from_utf8(bytes) {
                tree.files.push(File {
                    path: path.clone(),
                    text,
                });
            }
            tree.paths.insert(path);
        }
        Ok(tree)
    }

    /// A tree made of these files, for tests of rules.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self {
            files: files.iter().map(file).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            root: "/checkout/evenkeel".to_owned(),
        }
    }

    /// Whether a file or a folder that holds one has this path.
    pub(super) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.paths.contains(path)
            || self
                .paths
                .range(folder.clone()..)
                .next()
                .is_some_and(|p| p.starts_with(&folder))
    }
}

fn tracked() -> Option<Vec<String>> {
    let listed = command(
        "git",
        &[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    )
    .output()
    .ok()?;
    let text = String::from_utf8(listed.stdout).ok()?;
    let paths: BTreeSet<_> = text
        .split('\0')
        .filter(|p| !p.is_empty())
        .map(str::to_owned)
        .collect();
    (listed.status.success() && !paths.is_empty()).then(|| paths.into_iter().collect())
}

fn walk(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let made = MADE.iter().any(|name| entry.file_name() == *name);
            if entry.file_type()?.is_dir() {
                if !made {
                    folders.push(entry.path());
                }
            } else if let Ok(path) = entry.path().strip_prefix(root) {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_when_a_file_is_in_it() {
        let tree = Tree::of(&[("docs/guide/a.md", ""), ("docs/guide.md", "")]);
        assert!(tree.has("docs/guide/a.md") && tree.has("docs/guide") && tree.has("docs/"));
        assert!(!tree.has("docs/gui") && !tree.has("docs/guide/b.md"));
    }

    #[test]
    fn a_walk_skips_what_is_made() {
        let paths = walk(&crate::process::root().join("xtask"))
            .expect("the crate's own folder can be read");
        assert!(paths.contains(&"src/tidy/tree.rs".to_owned()));
        assert!(paths.iter().all(|p| !p.starts_with("target/")));
    }

    #[test]
    fn extensions_are_whole() {
        let tree = Tree::of(&[("a/run.py", ""), ("Makefile", ""), ("b.rs.txt", "")]);
        let python: Vec<_> = tree.files.iter().map(|f| f.is(&["py", "rs"])).collect();
        assert_eq!(python, [true, false, false]);
    }
}
