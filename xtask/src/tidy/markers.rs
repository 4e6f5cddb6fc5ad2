//! Nothing is left unfinished in the code; what is missing is in `docs/adr/gaps.md`.

use super::{Finding, Tree};

const CODE: &[&str] = &[
    "rs", "py", "ts", "tsx", "js", "css", "sh", "toml", "yaml", "yml",
];
/// The rules themselves name what they forbid.
const RULES: &str = "xtask/src/tidy/";

pub(super) const MARKERS: &[&str] = &["todo!", "unimplemented!", "dbg!", "FIXME", "XXX", "TODO"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|f| f.is(CODE) && !f.path.starts_with(RULES))
    {
        for (number, line) in file.lines() {
            if let Some(marker) = MARKERS.iter().find(|marker| has_word(line, marker)) {
                let what = format!("leftover `{marker}`: finish it, or write it down in gaps.md");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// Whether `word` stands in `line` with no letter, digit or underscore on either side.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_is_found() {
        for marker in MARKERS {
            let text = format!("fn a() {{}}\n// {marker} later\n");
            let findings = check(&Tree::of(&[("crates/a.rs", &text)]));
            assert_eq!(findings.len(), 1, "{marker}");
            assert_eq!(findings[0].line, 2);
        }
    }

    #[test]
    fn parts_of_words_and_prose_pass() {
        let tree = Tree::of(&[
            ("a.rs", "let key = \"XXXX\"; mytodo!()"),
            ("a.md", "no TODO here"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
