//! A file over 800 lines says at its top why it is one file.

use super::{Finding, Tree};

const LINES_MAX: usize = 800;
/// How far down the reason may stand.
const TOP: usize = 30;
const REASON: &str = "Long because ";
const CODE: &[&str] = &["rs", "py", "ts", "tsx", "js", "css", "sh"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| f.is(CODE)) {
        let lines = file.text.lines().count();
        let excused = file
            .text
            .lines()
            .take(TOP)
            .any(|line| line.contains(REASON));
        if lines > LINES_MAX && !excused {
            let what = format!(
                "{lines} lines, at most {LINES_MAX}: split it, or say at the top `{REASON}…`"
            );
            findings.push(Finding::new(&file.path, 1, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_needs_a_reason() {
        let long = "let a = 1;\n".repeat(LINES_MAX + 1);
        let excused = format!("//! Long because it is one table.\n{long}");
        let tree = Tree::of(&[("a.rs", &long), ("b.rs", &excused), ("data.json", &long)]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0]
                .to_string()
                .starts_with("a.rs:1: 801 lines, at most 800")
        );
    }
}
