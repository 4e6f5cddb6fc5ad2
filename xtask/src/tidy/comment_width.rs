//! A comment is at most 120 columns wide, indentation counted: what is wider is read by nobody to its end.
//! Rustfmt wraps code and leaves comments alone.

use super::tree::File;
use super::{Finding, Tree};

const COLUMNS_MAX: usize = 120;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.files.iter().filter(|file| file.is(&["rs"]));
    rust.flat_map(wide).collect()
}

fn wide(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_code = false;
    for (number, line) in file.lines() {
        let Some(text) = comment(line) else {
            in_code = false;
            continue;
        };
        in_code ^= text.starts_with("```");
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && !in_code && can_be_wrapped(text) {
            let what = format!("a comment of {columns} columns, at most {COLUMNS_MAX}: wrap it");
            findings.push(Finding::new(&file.path, number, what));
        }
    }
    findings
}

/// What stands in a line that is nothing but a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim_start())
}

/// Not so a row of a table, nor a word that is too long by itself, as links are.
fn can_be_wrapped(text: &str) -> bool {
    !text.starts_with('|') && text.split_whitespace().count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_comments_are_found() {
        let wide = format!("    /// {}", "word ".repeat(24));
        let text = format!("{wide}\nlet a = \"{wide}\";\n");
        let findings = check(&Tree::of(&[("a.rs", &text), ("a.md", &wide)]));
        assert_eq!(findings.len(), 1, "{findings:?}");
        let told = findings[0].to_string();
        assert!(
            told.starts_with("a.rs:1: a comment of 128 columns"),
            "{told}"
        );
    }

    #[test]
    fn what_cannot_be_wrapped_passes() {
        let (words, word) = ("a b c d e ".repeat(13), "x".repeat(130));
        let edge = format!("// {}", "a b c d e ".repeat(11));
        let text = format!(
            "{}\n//! {word}\n/// | {words}|\n/// ```\n/// # {words}\n/// ```\nfn a() {{}}\n",
            edge.trim_end()
        );
        assert_eq!(check(&Tree::of(&[("a.rs", &text)])), []);
    }
}
