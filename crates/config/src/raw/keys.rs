//! Every key there is: the walk, suggestions, the schema and the reference are driven by it.

use super::key_table::KEYS;
use super::kind::Kind;
use super::scenario_keys;

/// Describes a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Where it stands: tables and keys with dots between, `*` for a name that the user chooses.
    pub(crate) path: &'static str,
    /// The values it takes.
    pub(crate) kind: Kind,
    /// The default as it would be written; empty when there is none.
    pub(crate) default: &'static str,
    /// Whether `false` turns it off.
    pub(crate) off: bool,
    /// What it does.
    pub(crate) doc: &'static str,
    /// Whether it does it.
    pub(crate) support: Support,
}

/// Whether a key is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    /// It is.
    Now,
    /// It is known, and refused unless it turns off what is not there.
    Later,
}

impl Key {
    /// The key itself, without its table.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// The path of the table it stands in; empty for the top.
    pub(crate) fn parent(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(parent, _)| parent)
    }
}

/// Every key, in the order in which they are taught.
pub(crate) fn all() -> impl Iterator<Item = &'static Key> {
    KEYS.iter()
}

/// The keys of a table, in the order in which they are taught.
pub(crate) fn of(table: &str) -> impl Iterator<Item = &'static Key> + Clone {
    let scenario = match table.starts_with("scenario") {
        true => scenario_keys::KEYS,
        false => &[],
    };
    let keys = KEYS.iter().chain(scenario);
    keys.filter(move |key| key.parent() == table)
}

/// A key of a table.
pub(crate) fn find(table: &str, name: &str) -> Option<&'static Key> {
    of(table).find(|key| key.name() == name)
}

/// The path of a key of a table.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() {
        name.to_owned()
    } else {
        format!("{table}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_stands_once_behind_its_table() {
        for (keys, root) in [(KEYS, ""), (scenario_keys::KEYS, "scenario")] {
            each_stands_once(keys, root);
        }
    }

    fn each_stands_once(keys: &[Key], root: &str) {
        for (index, key) in keys.iter().enumerate() {
            let before = &keys[..index];
            assert!(
                before.iter().all(|other| other.path != key.path),
                "{}",
                key.path
            );
            let parent = key.parent();
            let known = parent == root || before.iter().any(|other| other.path == parent);
            assert!(known || parent.ends_with('*'), "{}", key.path);
        }
    }

    #[test]
    fn supported_keys_have_words() {
        let all = KEYS.iter().chain(scenario_keys::KEYS);
        for key in all.filter(|key| key.support == Support::Now) {
            assert!(!key.doc.is_empty(), "{}", key.path);
            assert_ne!(key.kind, Kind::Unknown, "{}", key.path);
        }
    }
}
