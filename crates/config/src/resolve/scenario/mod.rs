//! Scenarios of the simulator.

mod backend;
mod cluster;
mod fault;
mod load;

use toml::de::{DeTable, DeValue};

use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::law::{Law, parse_law};
use crate::{Mistake, Scenario};

/// The scenario in a tree, unless it lacks what nothing can stand in for. Where a mistake was noted it
/// holds a default.
pub(crate) fn scenario(walk: &mut Walk<'_>, tree: &DeTable<'_>) -> Option<Scenario> {
    let top = walk.open(Section::scenario(tree));
    let about = text(walk, &top, "about").unwrap_or_default();
    let expected = text(walk, &top, "expected").unwrap_or_default();
    let references = flag(walk, &top, "references").unwrap_or(true);
    let load = load::load(walk, &top);
    let backends = backend::backends(walk, &top, &load);
    let count = backends.iter().map(|backend| backend.count).sum();
    let faults = fault::faults(walk, &top, count, load.clients);
    let (base, variants) = cluster::variants(walk, &top);
    (!backends.is_empty()).then_some(Scenario {
        about,
        expected,
        references,
        load,
        backends,
        faults,
        base,
        variants,
    })
}

fn text(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<String> {
    let entry = section.get(name)?;
    let text = walk.string(&entry)?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn flag(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<bool> {
    let entry = section.get(name)?;
    if let DeValue::Boolean(value) = entry.value.get_ref() {
        return Some(*value);
    }
    walk.wrong(&entry);
    None
}

fn law(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<Law> {
    let entry = section.get(name)?;
    walk.parsed(&entry, parse_law)
}

/// Notes that a key is missing that nothing can stand in for.
fn needed(walk: &mut Walk<'_>, section: &Section<'_>, name: &str, example: &str) {
    if !section.has(name) {
        let message = format!("{} has no {name}", section.path);
        let help = format!("write {name} = {example}");
        walk.error(section.span.clone(), Mistake::new(message, help));
    }
}
