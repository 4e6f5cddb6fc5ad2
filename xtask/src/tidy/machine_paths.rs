//! The repository builds anywhere: it names no folder of somebody's machine and no registry.

use super::tree::File;
use super::{Finding, Tree};

/// The rules themselves name what they forbid.
const RULES: &str = "xtask/src/tidy/";

/// Where people's folders begin.
const HOMES: &[&str] = &["/home/", "/root/", "/Users/", "C:\\Users\\"];

/// Settings that send a package manager elsewhere.
const REGISTRIES: &[&str] = &[
    "index-url",
    "replace-with",
    "[source.crates-io]",
    "registry-url",
    "GOPROXY=",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| !f.path.starts_with(RULES)) {
        for (number, line) in file.lines() {
            if let Some(what) = fault(file, line, &tree.root) {
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

fn fault(file: &File, line: &str, root: &str) -> Option<String> {
    let own = root.matches('/').count() > 1;
    let home = HOMES
        .iter()
        .copied()
        .chain(own.then_some(root))
        .find(|p| names_path(line, p));
    if let Some(home) = home {
        return Some(format!(
            "names `{home}` of one machine: use a path from the root"
        ));
    }
    if let Some(setting) = REGISTRIES.iter().find(|setting| line.contains(**setting)) {
        return Some(format!(
            "`{setting}` points to a registry: leave that to the user's settings"
        ));
    }
    let resolved =
        file.path.ends_with("package-lock.json") && line.contains("\"resolved\": \"http");
    resolved
        .then(|| "names a registry: install with `--omit-lockfile-registry-resolved`".to_owned())
}

/// Whether `path` stands in the line as the beginning of a path, and not as a part of a longer one.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '}' | '*'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn folders_of_one_machine_are_found() {
        assert_eq!(found("a.md", "see /home/ann/evenkeel"), 1);
        assert_eq!(found("a.sh", "cd /checkout/evenkeel/crates"), 1);
        assert_eq!(
            found(
                "a.rs",
                "get(\"https://example.com/home/\"); src/root/mod.rs"
            ),
            0
        );
    }

    #[test]
    fn registries_are_found() {
        let lock = "\"resolved\": \"http://mirror.internal/npm/a.tgz\",";
        assert_eq!(found("dashboard/package-lock.json", lock), 1);
        let lock = "\"version\": \"1.0.0\",";
        assert_eq!(found("dashboard/package-lock.json", lock), 0);
        assert_eq!(found(".cargo/config.toml", "replace-with = \"mirror\""), 1);
    }
}
