//! A document that a comment or another document names is a file of the repository.

use super::tree::File;
use super::{Finding, Tree};

/// What stands for any name in a path.
const ANY_NAME: &str = "NAME.md";

/// The rules show in their tests what they forbid.
const OWN_EXAMPLES: &str = "xtask/src/tidy/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|f| !f.path.starts_with(OWN_EXAMPLES))
    {
        for (number, line) in file.lines() {
            for word in prose(file, line).into_iter().flat_map(words) {
                if !is_there(tree, &file.path, word) {
                    let what = format!(
                        "`{word}`: there is no such document; name one of the tree, or the public source"
                    );
                    findings.push(Finding::new(&file.path, number, what));
                }
            }
        }
    }
    findings
}

/// What people read in a line: all of a document's, the comment of a line of code.
fn prose<'a>(file: &File, line: &'a str) -> Option<&'a str> {
    if file.is(&["md"]) {
        return Some(line);
    }
    let mark = if file.is(&["rs", "ts", "tsx", "js"]) {
        "//"
    } else if file.is(&["py", "sh", "toml", "yml", "yaml"]) {
        "#"
    } else {
        return None;
    };
    // The start of a line or a space before it: neither a URL nor a fragment.
    let starts = |at: usize| {
        line[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    };
    let (at, _) = line.match_indices(mark).find(|(at, _)| starts(*at))?;
    Some(&line[at..])
}

/// The words that end in `.md`, without what is around them. Those of URLs are left out.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| c.is_whitespace() || "`()[]\"'<>,;|".contains(c));
    pieces
        .filter(|piece| !piece.contains("://"))
        .map(|piece| piece.split(['#', '?', ':']).next().unwrap_or_default())
        .map(|piece| piece.trim_end_matches(['.', '*']).trim_start_matches('*'))
        .filter(|piece| piece.ends_with(".md") && *piece != ".md")
}

/// By its path from the root or from the file's own folder, or by its name alone.
fn is_there(tree: &Tree, from: &str, word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    if name == ANY_NAME {
        return true;
    }
    let mut paths = tree.files.iter().map(|file| file.path.as_str());
    match word.contains('/') {
        true => [Some(word.to_owned()), super::links::resolve(from, word)]
            .into_iter()
            .flatten()
            .any(|path| tree.has(&path)),
        false => paths.any(|path| path.rsplit('/').next() == Some(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[(path, text), ("docs/adr/gaps.md", ""), ("README.md", "")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn documents_that_are_elsewhere_are_found() {
        let text =
            "fn a() {} // as in `plan.md` 5.6.\n/// See docs/plan.md, section 2\nlet x = 1;\n";
        let what = "there is no such document; name one of the tree, or the public source";
        assert_eq!(
            found("crates/a.rs", text),
            [
                format!("crates/a.rs:1: `plan.md`: {what}"),
                format!("crates/a.rs:2: `docs/plan.md`: {what}")
            ]
        );
        assert_eq!(found("docs/a.md", "The rows of notes.md.").len(), 1);
        assert_eq!(found("perf/a.py", "x = 1  # see notes.md: there").len(), 1);
    }

    #[test]
    fn documents_of_the_tree_code_and_urls_pass() {
        let text = "// `docs/adr/gaps.md`, gaps.md, README.md#a\n\
                    // https://example.com/plan.md\n\
                    let page = \"made.md\";\n";
        assert_eq!(found("crates/a.rs", text), [] as [String; 0]);
        let text = "[gaps](adr/gaps.md) and `docs/guide/strategies/NAME.md`; names end in `.md`.\n";
        assert_eq!(found("docs/a.md", text), [] as [String; 0]);
    }
}
