//! What a reload does to the endpoints of a cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use evenkeel_core::Endpoint;

/// How many are named in a line.
const NAMED_MAX: usize = 10;

/// Which endpoints of a cluster's configuration came, went and changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointChanges {
    /// Ids that were not there.
    pub added: Vec<Arc<str>>,
    /// Ids that are gone.
    pub removed: Vec<Arc<str>>,
    /// Ids with other settings, and which: `weight 2 -> 5`.
    pub changed: Vec<(Arc<str>, String)>,
}

impl EndpointChanges {
    /// From one list to another. O(n log n).
    pub(super) fn between(old: &[Endpoint], new: &[Endpoint]) -> Self {
        let (old, new) = (by_id(old), by_id(new));
        let mut changes = Self::default();
        for (id, endpoint) in &new {
            match old.get(id) {
                None => changes.added.push(Arc::clone(id)),
                Some(before) if before == endpoint => {}
                Some(before) => {
                    let what = what_differs(before, endpoint);
                    changes.changed.push((Arc::clone(id), what));
                }
            }
        }
        let gone = old.keys().filter(|id| !new.contains_key(*id));
        changes.removed = gone.cloned().collect();
        changes
    }

    /// Whether all is as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn by_id(all: &[Endpoint]) -> BTreeMap<Arc<str>, &Endpoint> {
    all.iter().map(|one| (one.shared_id(), one)).collect()
}

fn what_differs(old: &Endpoint, new: &Endpoint) -> String {
    let mut parts = Vec::new();
    let mut tell = |name: &str, old: String, new: String| {
        if old != new {
            parts.push(format!("{name} {old} -> {new}"));
        }
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let capacity = |one: &Endpoint| or_none(one.capacity().map(|most| most.to_string()));
    let zone = |one: &Endpoint| or_none(one.zone().map(str::to_owned));
    tell("address", old.address().into(), new.address().into());
    tell("weight", old.weight().to_string(), new.weight().to_string());
    tell("capacity", capacity(old), capacity(new));
    tell("tier", old.tier().to_string(), new.tier().to_string());
    tell("zone", zone(old), zone(new));
    if parts.is_empty() {
        // Lists of names may be long.
        parts.push("labels".to_owned());
    }
    parts.join(" and ")
}

impl fmt::Display for EndpointChanges {
    /// In a line; the first ten are named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let added = self.added.iter().map(|id| format!("{id} added"));
        let removed = self.removed.iter().map(|id| format!("{id} removed"));
        let changed = self.changed.iter().map(|(id, what)| format!("{id} {what}"));
        let mut parts: Vec<String> = added.chain(removed).chain(changed).collect();
        if parts.len() > NAMED_MAX {
            let more = parts.len() - NAMED_MAX;
            parts.truncate(NAMED_MAX);
            parts.push(format!("{more} more"));
        }
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_that_came_went_and_changed_are_named() {
        let endpoint = |id: &str| Endpoint::new(id, "10.0.0.1:80");
        let old = [endpoint("a"), endpoint("b").with_weight(2), endpoint("d")];
        let new = [endpoint("a"), endpoint("b").with_weight(5), endpoint("c")];
        let changes = EndpointChanges::between(&old, &new);
        assert_eq!(changes.to_string(), "c added, d removed, b weight 2 -> 5");
        assert!(EndpointChanges::between(&new, &new).is_empty());
        let many: Vec<_> = (0..12)
            .map(|number| endpoint(&format!("e{number}")))
            .collect();
        let told = EndpointChanges::between(&[], &many).to_string();
        assert!(told.ends_with(", e7 added, 2 more"), "{told}");
    }
}
