//! What a reload came to, for operators.

use std::fmt;
use std::sync::Arc;

use super::endpoints::EndpointChanges;

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Clusters, by name.
    pub clusters: Difference,
    /// Of clusters that stay: which endpoints of the configuration came, went and changed.
    pub endpoints: Vec<(Arc<str>, EndpointChanges)>,
    /// Listeners, by name.
    pub listeners: Difference,
    /// Other settings, as the configuration writes them.
    pub settings: Vec<&'static str>,
    /// Settings that differ from those in force and take effect at the next start.
    pub next_start: Vec<&'static str>,
    /// Of clusters that stay: what operators had changed and is forgotten, `strategy` or ids of endpoints.
    pub forgotten: Vec<(Arc<str>, Vec<Arc<str>>)>,
}

/// What has come, gone and changed of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Those that were not there.
    pub added: Vec<Arc<str>>,
    /// Those that are gone.
    pub removed: Vec<Arc<str>>,
    /// Those that have other settings, and which.
    pub changed: Vec<(Arc<str>, Vec<&'static str>)>,
}

impl Changes {
    /// Whether all is as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Difference {
    /// Whether all is as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Changes {
    /// In a line, as the log has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (kind, difference) in [("cluster", &self.clusters), ("listener", &self.listeners)] {
            parts.extend(
                difference
                    .added
                    .iter()
                    .map(|name| format!("{kind} {name} added")),
            );
            parts.extend(
                difference
                    .removed
                    .iter()
                    .map(|name| format!("{kind} {name} removed")),
            );
            let changed = difference.changed.iter();
            parts.extend(changed.map(|(name, what)| format!("{kind} {name}: {}", what.join(", "))));
        }
        parts.extend(
            self.endpoints
                .iter()
                .map(|(name, what)| format!("{name}: {what}")),
        );
        parts.extend(self.settings.iter().map(|key| (*key).to_owned()));
        let later = self.next_start.iter();
        parts.extend(later.map(|key| format!("{key} takes effect at the next start")));
        let forgotten = self.forgotten.iter();
        parts.extend(
            forgotten
                .map(|(name, what)| format!("{name}: as configured again: {}", what.join(", "))),
        );
        if parts.is_empty() {
            return f.write_str("nothing changed");
        }
        f.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_a_line() {
        let mut changes = Changes::default();
        assert_eq!(changes.to_string(), "nothing changed");
        changes.clusters.added.push("a".into());
        changes
            .listeners
            .changed
            .push(("in".into(), vec!["limits", "route"]));
        changes.next_start.push("admin");
        let what = ["strategy".into(), "b".into()];
        changes.forgotten.push(("web".into(), what.to_vec()));
        assert_eq!(
            changes.to_string(),
            "cluster a added; listener in: limits, route; admin takes effect at the next start; \
             web: as configured again: strategy, b"
        );
    }
}
