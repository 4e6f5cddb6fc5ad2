//! The gateways that this one shares with.

use toml::de::DeValue;

use super::discovery::etcd::{place, prefix};
use crate::Mistake;
use crate::model::config::Fleet;
use crate::raw::descend::Sub;
use crate::raw::kind::Kind;
use crate::raw::section::Section;
use crate::raw::walk::Walk;

pub(super) fn fleet(walk: &mut Walk<'_>, top: &Section<'_>) -> Option<Fleet> {
    let Sub::Table(section) = walk.table(top, "fleet") else {
        return None;
    };
    let etcd = place(walk, &section, "etcd");
    let prefix = match section.get("prefix") {
        Some(entry) => walk.parsed(&entry, prefix),
        None => Some(Fleet::PREFIX.into()),
    };
    let shared = shared(walk, &section);
    Some(Fleet {
        etcd: etcd?,
        prefix: prefix?,
        shares_admin: shared.contains(&"admin"),
        shares_health: shared.contains(&"health"),
    })
}

/// The words for what is shared.
fn shared(walk: &mut Walk<'_>, section: &Section<'_>) -> Vec<&'static str> {
    let by_itself = || vec!["admin"];
    let Some(entry) = section.get("share") else {
        return by_itself();
    };
    let (DeValue::Array(list), Kind::Words(now, later)) = (entry.value.get_ref(), entry.kind)
    else {
        walk.wrong(&entry);
        return by_itself();
    };
    if list.is_empty() {
        let message = format!("{} is empty: nothing is shared", entry.subject);
        let mistake = Mistake::new(message, "leave it out for [\"admin\"]");
        walk.warning(entry.span.clone(), mistake);
    }
    let word = |value| walk.one_of(&entry.element(value, Kind::Word(now, later)));
    list.iter().filter_map(word).collect()
}
