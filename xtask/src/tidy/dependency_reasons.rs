//! A dependency that users build has its reason written down.

use super::{Finding, Tree};
use toml::Table;

const MANIFEST: &str = "Cargo.toml";
const REASONS: &str = "docs/adr/0012-dependencies.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let file = |path| tree.files.iter().find(|f| f.path == path);
    let (Some(manifest), Some(reasons)) = (file(MANIFEST), file(REASONS)) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for name in dependencies(&manifest.text) {
        let row = format!("| `{name}` |");
        if !reasons.lines().any(|(_, line)| line.starts_with(&row)) {
            let place = |(_, line): &(usize, &str)| line.starts_with(&format!("{name} = "));
            let line = manifest.lines().find(place).map_or(1, |(number, _)| number);
            let what = format!("`{name}` has no reason: add its line to {REASONS}");
            findings.push(Finding::new(MANIFEST, line, what));
        }
    }
    findings
}

/// The workspace's dependencies that come from outside.
fn dependencies(manifest: &str) -> Vec<String> {
    let table: Table = manifest.parse().unwrap_or_default();
    let listed = table
        .get("workspace")
        .and_then(|w| w.get("dependencies")?.as_table());
    let outside = listed
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.get("path").is_none());
    outside.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let manifest = "[workspace.dependencies]\n\
            evenkeel-core = { path = \"crates/core\" }\n\
            serde = { version = \"1\" }\n\
            leftpad = \"1\"\n";
        let tree = Tree::of(&[
            ("Cargo.toml", manifest),
            (REASONS, "| `serde` | JSON | by hand |"),
        ]);
        let findings: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].starts_with("Cargo.toml:4: `leftpad` has no reason"),
            "{findings:?}"
        );
    }
}
