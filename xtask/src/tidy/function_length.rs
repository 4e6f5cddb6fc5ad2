//! A function is at most 70 lines, signature and braces counted.

use super::tree::File;
use super::{Finding, Tree};

const LINES_MAX: usize = 70;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.files.iter().filter(|f| f.is(&["rs"]));
    rust.flat_map(long_functions).collect()
}

fn long_functions(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let Some(length) = length(&lines[start..]) else {
            continue;
        };
        if length > LINES_MAX {
            let what = format!("`{name}` has {length} lines, at most {LINES_MAX}: take parts out");
            findings.push(Finding::new(&file.path, start + 1, what));
        }
    }
    findings
}

/// The name when a function begins on this line.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifier = |word: &str| {
        matches!(
            word,
            "pub" | "async" | "const" | "unsafe" | "extern" | "\"C\""
        ) || word.starts_with("pub(")
            || word.ends_with(')')
    };
    let name = after
        .split(['(', '<'])
        .next()
        .filter(|name| !name.is_empty())?;
    before.split_whitespace().all(qualifier).then_some(name)
}

/// Lines from the one with `fn` to the brace that closes it: rustfmt puts that brace alone, at the
/// indentation of the first line. None for a declaration without a body.
fn length(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?;
    let indent = &first[..first.len() - first.trim_start().len()];
    if first.ends_with(['}', ';']) {
        return None;
    }
    let close = format!("{indent}}}");
    let mut opened = false;
    for (i, line) in lines.iter().enumerate() {
        opened |= line.ends_with('{');
        if !opened && line.ends_with(';') {
            return None;
        }
        if i > 0 && *line == close {
            return Some(i + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(head: &str, body: usize) -> String {
        format!(
            "impl A {{\n    {head} {{\n{}    }}\n}}\n",
            "        step();\n".repeat(body)
        )
    }

    #[test]
    fn a_long_function_is_found_at_its_first_line() {
        let text = function("pub(crate) async fn walk<T>(t: T)", LINES_MAX - 1);
        let findings = check(&Tree::of(&[("a.rs", &text)]));
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0]
                .to_string()
                .starts_with("a.rs:2: `walk` has 71 lines, at most 70")
        );
    }

    #[test]
    fn functions_at_the_limit_and_declarations_pass() {
        let text = function("fn walk()", LINES_MAX - 2);
        let declared = format!("trait A {{\n    fn b(\n        c: D,\n    ) -> E;\n}}\n{text}");
        assert_eq!(
            check(&Tree::of(&[("a.rs", &text), ("b.rs", &declared)])),
            []
        );
    }

    #[test]
    fn the_word_in_a_sentence_is_no_function() {
        assert_eq!(function_name("// see fn walk()"), None);
        assert_eq!(function_name("    type F = fn (u8);"), None);
        assert_eq!(function_name("    const fn max() -> u8 {"), Some("max"));
    }
}
