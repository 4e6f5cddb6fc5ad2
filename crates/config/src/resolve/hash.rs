//! What is taken for the key of a request.

use evenkeel_core::{KeyPolicy, MissingKey};
use toml::de::DeValue;

use super::health::factor;
use crate::model::hash::KeyRules;
use crate::raw::descend::Sub;
use crate::raw::kind::Kind;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::key_source::{KeySource, parse_key_source};
use crate::{Mistake, StrategyChoice};

pub(super) fn keys(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    strategy: &StrategyChoice,
) -> KeyRules {
    let default = KeyRules::default();
    let Sub::Table(hash) = walk.table(section, "hash") else {
        return default;
    };
    if let Some(entry) = section.get("hash")
        && !strategy.is_keyed()
    {
        let message = format!("{} has no effect under {}", hash.path, strategy.name());
        let help = "it is for maglev, ring_hash and rendezvous";
        walk.warning(entry.span, Mistake::new(message, help));
    }
    let sources = sources(walk, &hash);
    let missing = match walk.word(&hash, "missing") {
        Some("error") => MissingKey::Error,
        _ => MissingKey::Random,
    };
    KeyRules {
        sources: sources.unwrap_or(default.sources),
        policy: KeyPolicy {
            missing,
            bounded_load: factor(walk, &hash, "bounded_load"),
        },
    }
}

/// The sources of a list, those that are right.
fn sources(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Vec<KeySource>> {
    let entry = section.get("key")?;
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return None;
    };
    if !(1..=KeySource::MAX).contains(&list.len()) {
        let message = format!("there are {} sources", list.len());
        let help = format!("it can have 1 to {}", KeySource::MAX);
        walk.mistaken(&entry, Mistake::new(message, help));
        return None;
    }
    let source = |value| {
        let element = entry.element(value, Kind::KeySource);
        walk.parsed(&element, parse_key_source)
    };
    Some(list.iter().filter_map(source).collect())
}
