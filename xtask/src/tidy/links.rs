//! Every relative link in a Markdown file leads to a file of the repository, and where it names a part of a
//! document, to a heading that is there.

use super::tree::File;
use super::{Finding, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| f.is(&["md"])) {
        for (number, target) in links(file) {
            if let Some(what) = fault(tree, &file.path, &target) {
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// Targets of links, with their lines; code is left out.
pub(super) fn links(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.extend(targets(line).into_iter().map(|target| (number, target)));
        }
    }
    found
}

fn targets(line: &str) -> Vec<String> {
    // Between backticks a bracket is code, so every second part is left out.
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let inline = prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let mut targets: Vec<String> = inline.map(|(target, _)| first_word(target)).collect();
    let definition = prose
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "));
    targets.extend(definition.map(|(_, target)| first_word(target)));
    targets
}

/// The target without its title.
fn first_word(target: &str) -> String {
    target
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_matches(['<', '>'])
        .to_owned()
}

fn fault(tree: &Tree, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if path.starts_with('/') {
        return Some(format!(
            "link to `{target}`: write it relative to this file"
        ));
    }
    let resolved = match path {
        "" => Some(from.to_owned()),
        _ => resolve(from, path),
    };
    let Some(found) = resolved.filter(|path| tree.has(path)) else {
        return Some(format!("link to `{target}`: there is no such file"));
    };
    let (_, part) = target.split_once('#')?;
    let document = tree.files.iter().find(|file| file.path == found)?;
    let is_there = !document.is(&["md"]) || headings(document).any(|heading| heading == part);
    (!is_there).then(|| format!("link to `{target}`: there is no such heading"))
}

/// What links call the headings of a document: in small letters, without punctuation, with a hyphen for each space.
/// Two headings that are called alike would need more; none are linked to.
fn headings(file: &File) -> impl Iterator<Item = String> {
    let mut in_code = false;
    let titles = file.lines().filter_map(move |(_, line)| {
        in_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        (!in_code && title.len() < line.len()).then(|| title.trim())
    });
    titles.map(|title| {
        let lower = title.to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let kept = lower.chars().filter(kept);
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// The target's path from the root; None when it leads out of the repository.
pub(super) fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_link_is_found_with_its_line() {
        let text = "# A\n\nSee [b](b.md#part), [c](../c/ \"title\") and [gone](gone.md).\n";
        let tree = Tree::of(&[
            ("docs/a.md", text),
            ("docs/b.md", "# Part\n"),
            ("c/d.rs", ""),
        ]);
        let findings: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            ["docs/a.md:3: link to `gone.md`: there is no such file"]
        );
    }

    #[test]
    fn a_heading_that_is_not_there_is_found() {
        let text = "# The `one`: a, b\n[a](#the-one-a-b) [b](b.md#two) [c](b.md#no-heading) [d](d.rs#L1)\n";
        let other = "## Two\n```sh\n# no heading\n```\n";
        let tree = Tree::of(&[("a.md", text), ("b.md", other), ("d.rs", "")]);
        let findings: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            ["a.md:2: link to `b.md#no-heading`: there is no such heading"]
        );
    }

    #[test]
    fn definitions_and_paths_out_of_the_tree_are_found() {
        let text = "[x]: missing.md\n[y](../../up.md)\n[z](/abs.md)\n";
        assert_eq!(check(&Tree::of(&[("docs/a.md", text)])).len(), 3);
    }

    #[test]
    fn code_and_other_sites_pass() {
        let text = "# G\n`[a](b)`\n```\n[c](d)\n```\n[e](https://example.com) [f](#g)\n";
        assert_eq!(check(&Tree::of(&[("a.md", text)])), []);
    }
}
