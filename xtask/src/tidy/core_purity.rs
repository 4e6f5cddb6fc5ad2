//! The decision core takes time, chance and I/O as arguments: it names no clock, no socket, no
//! thread and no runtime, outside its tests.

use super::markers::has_word;
use super::tree::File;
use super::{Finding, Tree};

const CORE: &str = "crates/core/src/";

/// A word, and what to do instead of naming it.
const BANNED: &[(&str, &str)] = &[
    ("Instant", "take the time as an argument"),
    ("SystemTime", "take the time as an argument"),
    ("std::thread", "leave threads to the host"),
    ("thread_local", "let the picker own it"),
    ("tokio", "leave the runtime to the host"),
    ("async", "leave waiting to the host"),
    ("TcpStream", "leave sockets to the host"),
    ("TcpListener", "leave sockets to the host"),
    ("UdpSocket", "leave sockets to the host"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let core = tree
        .files
        .iter()
        .filter(|f| f.path.starts_with(CORE) && f.is(&["rs"]));
    core.filter(|f| !is_test_file(f))
        .flat_map(impure_lines)
        .collect()
}

fn is_test_file(file: &File) -> bool {
    file.path.ends_with("/tests.rs")
        || file.path.contains("/tests/")
        || file
            .text
            .lines()
            .any(|line| line.starts_with("#![cfg(") && is_test_cfg(line))
}

fn impure_lines(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_start();
        if line.starts_with("#[cfg(") && is_test_cfg(line) {
            at += item_length(&lines[at..]);
            continue;
        }
        let banned = BANNED
            .iter()
            .find(|(word, _)| !line.starts_with("//") && has_word(line, word));
        if let Some((word, instead)) = banned {
            let what = format!("core names `{word}`: {instead}");
            findings.push(Finding::new(&file.path, at + 1, what));
        }
        at += 1;
    }
    findings
}

fn is_test_cfg(line: &str) -> bool {
    !line.contains("not(") && (has_word(line, "test") || has_word(line, "loom"))
}

/// Lines of the item under an attribute: to a `;` or `,` that ends it before a brace opens, or to
/// the closing brace at the attribute's indentation.
fn item_length(lines: &[&str]) -> usize {
    let indent = &lines[0][..lines[0].len() - lines[0].trim_start().len()];
    let close = format!("{indent}}}");
    let mut opened = false;
    for (i, line) in lines.iter().enumerate().skip(1) {
        opened |= line.ends_with('{');
        let whole = line.starts_with(&close) || line.ends_with('}') && !opened;
        if whole || !opened && line.ends_with([';', ',']) {
            return i + 1;
        }
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let tree = Tree::of(&[
            ("crates/core/src/a.rs", text),
            ("crates/cli/src/a.rs", text),
        ]);
        check(&tree).iter().map(|f| f.line).collect()
    }

    #[test]
    fn clocks_threads_and_sockets_are_found() {
        assert_eq!(found("use std::time::Instant;\nuse std::thread;\n"), [1, 2]);
        assert_eq!(
            found("async fn a() {}\nlet s: TcpStream;\nuse tokio::time;"),
            [1, 2, 3]
        );
    }

    #[test]
    fn comments_addresses_and_longer_words_pass() {
        let clean = "// no Instant here\nuse std::net::SocketAddr;\nInstantaneous";
        assert!(found(clean).is_empty());
    }

    #[test]
    fn tests_and_models_may_use_threads_but_what_follows_may_not() {
        let text = "#[cfg(test)]\nmod tests {\n    use std::thread;\n}\nuse std::thread;\n";
        assert_eq!(found(text), [5]);
        let text = "#[cfg(loom)]\nuse loom::thread;\n#[cfg(not(loom))]\nuse std::thread;\n";
        assert_eq!(found(text), [4]);
        assert!(found("#![cfg(test)]\nuse std::thread;\n").is_empty());
    }
}
