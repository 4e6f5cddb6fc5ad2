//! A test that carries the id of a case (`fn e05_…`) has its row in the case log.

use super::{Finding, Tree};

const LOG: &str = "docs/internals/cases.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let log = tree.files.iter().find(|file| file.path == LOG);
    let log = log.map_or("", |file| &file.text);
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.is(&["rs"])) {
        for (number, line) in file.lines() {
            let Some(id) = id_of(line) else { continue };
            if !log.contains(&format!("\n| {id} |")) {
                let what = format!("case {id} has no row in {LOG}");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// The id in front of a test's name: a letter and two digits.
fn id_of(line: &str) -> Option<String> {
    let line = line.trim_start();
    let name = line.strip_prefix("async ").unwrap_or(line);
    let (id, _) = name.strip_prefix("fn ")?.split_once('_')?;
    let [letter, tens, ones] = id.as_bytes() else {
        return None;
    };
    let is_id = (b'a'..=b'g').contains(letter) && tens.is_ascii_digit() && ones.is_ascii_digit();
    // Numeric types look alike.
    (is_id && !["f16", "f32", "f64"].contains(&id)).then(|| id.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_without_a_row_is_found() {
        let tests =
            "fn e05_a_cut_body() {}\n    async fn a01_first() {}\nfn f64_of() {}\nfn e5_x() {}\n";
        let tree = Tree::of(&[
            ("crates/a.rs", tests),
            (LOG, "\n| A01 | what | where | test |\n"),
        ]);
        let findings: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        let expected = "crates/a.rs:1: case E05 has no row in docs/internals/cases.md";
        assert_eq!(findings, [expected]);
    }
}
