//! A page can be found: one of the guide or a decision from the index of its folder, any other document from another
//! one.

use super::links::{links, resolve};
use super::{Finding, Tree};

/// Folders whose `README.md` lists all that is in them.
const INDEXED: [&str; 3] = ["docs/guide", "docs/guide/strategies", "docs/adr"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = || tree.files.iter().filter(|file| file.is(&["md"]));
    let mut findings = Vec::new();
    for page in documents() {
        let Some((folder, name)) = page.path.rsplit_once('/') else {
            continue;
        };
        if !folder.starts_with("docs") || name == "README.md" {
            continue;
        }
        let index = format!("{folder}/README.md");
        let is_indexed = INDEXED.contains(&folder);
        let leads_here = documents()
            .filter(|file| file.path != page.path && (!is_indexed || file.path == index))
            .flat_map(|file| {
                links(file)
                    .into_iter()
                    .map(|(_, target)| (&file.path, target))
            })
            .any(|(from, target)| {
                let target = target.split('#').next().unwrap_or_default();
                resolve(from, target).as_deref() == Some(page.path.as_str())
            });
        if !leads_here {
            let from = if is_indexed {
                &*index
            } else {
                "another document"
            };
            let what = format!("nobody finds this page: link to it from {from}");
            findings.push(Finding::new(&page.path, 1, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_no_index_names_is_found() {
        let tree = Tree::of(&[
            ("docs/guide/README.md", "[a](a.md)\n"),
            ("docs/guide/a.md", "[b](b.md) [c](../internals/c.md#part)\n"),
            ("docs/guide/b.md", "\n"),
            ("docs/internals/c.md", "# Part\n"),
            ("docs/internals/d.md", "[d](d.md)\n"),
        ]);
        let findings: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                "docs/guide/b.md:1: nobody finds this page: link to it from docs/guide/README.md",
                "docs/internals/d.md:1: nobody finds this page: link to it from another document",
            ]
        );
    }
}
