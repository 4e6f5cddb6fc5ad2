//! Every public item of the libraries, the core and the client, has an example in its documentation: types, traits
//! and functions. What a method is for is shown where its type is.
//!
//! An item that is public by its word can be reached: rustc's own lint sees to that (`unreachable_pub`).

use super::tree::File;
use super::{Finding, Tree};

const LIBRARIES: &[&str] = &["crates/core/src/", "crates/client/src/"];

const KINDS: &[&str] = &["enum", "fn", "struct", "trait", "type", "union"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter();
    let of_library = |file: &&File| LIBRARIES.iter().any(|folder| file.path.starts_with(folder));
    let library = files.filter(|file| of_library(file) && file.is(&["rs"]));
    library.flat_map(missing).collect()
}

fn missing(file: &File) -> Vec<Finding> {
    let mut has_example = false;
    let mut findings = Vec::new();
    let mut is_pinned = false;
    for (number, line) in file.lines() {
        // What stands in that macro is an item like all others, a step to the right.
        is_pinned = (is_pinned || line == "pin_project! {") && line != "}";
        let line = line
            .strip_prefix("    ")
            .filter(|_| is_pinned)
            .unwrap_or(line);
        if line.starts_with("///") {
            has_example |= line.starts_with("/// ```");
            continue;
        }
        if let Some(name) = public_item(line)
            && !has_example
        {
            let what = format!("`{name}` is public and has no example in its documentation");
            findings.push(Finding::new(&file.path, number, what));
        }
        // Attributes stand between the text and the item; some have several lines.
        has_example &= line.starts_with(['#', ' ', ')']);
    }
    findings
}

/// The name of a public item that begins on a line of its own, outside of all others.
fn public_item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    let (kind, rest) = rest.split_once(' ')?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    KINDS
        .contains(&kind)
        .then(|| &rest[..end.unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_without_an_example_are_found() {
        let text = "\
/// A load.
///
/// ```
/// let load = 7;
/// ```
#[derive(
    Clone,
)]
pub struct Load(u32);

/// Another one.
#[must_use]
pub const fn twice(load: u32) -> u32 {
    load * 2
}

pub const LOAD: u32 = 7;
pub(crate) struct Hidden;
impl Load {
    pub fn of(self) -> u32 {
        self.0
    }
}
";
        let tree = Tree::of(&[("crates/core/src/load.rs", text)]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].line, 13);
        assert!(findings[0].what.starts_with("`twice` is public"));
        assert_eq!(check(&Tree::of(&[("crates/http1/src/load.rs", text)])), []);
    }

    #[test]
    fn items_in_a_macro_are_found() {
        let text = "\
pin_project! {
    /// A call.
    pub struct Call {
        pub(crate) at: u32,
    }
}

impl Call {
    pub fn at(&self) -> u32 {
        self.at
    }
}
";
        let findings = check(&Tree::of(&[("crates/client/src/call.rs", text)]));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.starts_with("`Call` is public"));
    }
}
