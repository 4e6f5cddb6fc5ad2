//! A strategy that users can choose has a page that says when to.

use super::{Finding, Tree};

const STRATEGIES: &str = "crates/core/src/strategy/";
const PAGES: &str = "docs/guide/strategies/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let Some(name) = file
            .path
            .strip_prefix(STRATEGIES)
            .and_then(|p| p.strip_suffix(".rs"))
        else {
            continue;
        };
        let Some((line, _)) = file.lines().find(|(_, line)| is_descriptor(line)) else {
            continue;
        };
        let page = format!("{PAGES}{name}.md");
        if !tree.has(&page) {
            let what = format!("the strategy has no page: write {page}");
            findings.push(Finding::new(&file.path, line, what));
        }
    }
    findings
}

/// Whether the line is the one by which a strategy enters the registry.
fn is_descriptor(line: &str) -> bool {
    line.starts_with("pub(crate) const DESCRIPTOR") || line.starts_with("pub const DESCRIPTOR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_without_a_page_is_found() {
        let descriptor = "//! Doc.\npub(crate) const DESCRIPTOR: Descriptor = Descriptor {};\n";
        let tree = Tree::of(&[
            ("crates/core/src/strategy/maglev.rs", descriptor),
            ("crates/core/src/strategy/random.rs", descriptor),
            (
                "crates/core/src/strategy/registry.rs",
                "pub const ALL: &[D] = &[];",
            ),
            ("docs/guide/strategies/random.md", "# random"),
        ]);
        let findings: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                "crates/core/src/strategy/maglev.rs:2: the strategy has no page: \
              write docs/guide/strategies/maglev.md"
            ]
        );
    }
}
