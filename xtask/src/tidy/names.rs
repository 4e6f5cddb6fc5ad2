//! A name says what is inside; some words never do.

use super::{Finding, Tree};

const CODE: &[&str] = &["rs", "py", "ts", "tsx", "js"];
const EMPTY: &[&str] = &[
    "utils", "util", "helpers", "helper", "misc", "common", "manager", "managers", "stuff",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| f.is(CODE)) {
        for part in file.path.split('/') {
            let stem = part.split('.').next().unwrap_or_default();
            if EMPTY.contains(&stem) {
                let what = format!("`{part}` explains nothing: name it after what it holds");
                findings.push(Finding::new(&file.path, 1, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_of_files_and_folders_are_found() {
        let tree = Tree::of(&[
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/common/mod.rs", ""),
            ("crates/a/src/in_flight.rs", ""),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|f| f.path).collect();
        assert_eq!(
            found,
            ["crates/a/src/utils.rs", "crates/a/src/common/mod.rs"]
        );
    }
}
