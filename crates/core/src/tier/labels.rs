//! Some endpoints for some requests: those with certain labels.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::endpoint::Endpoint;

/// What a request asks of its endpoint, and what to do when none can serve it.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Endpoint, LabelSelector};
///
/// let selector = LabelSelector::new([("version", "2")]);
/// assert!(selector.takes(&Endpoint::new("b", "10.0.0.2:80").with_label("version", "2")));
/// assert!(!selector.takes(&Endpoint::new("a", "10.0.0.1:80")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    labels: BTreeMap<Arc<str>, Arc<str>>,
    or_any: bool,
}

impl LabelSelector {
    /// Endpoints that have all of these labels.
    pub fn new<N: Into<Arc<str>>, V: Into<Arc<str>>>(
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let labels = labels.into_iter();
        Self {
            labels: labels
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            or_any: false,
        }
    }

    /// Any endpoint will do when none of them can serve; without this the request fails.
    #[must_use]
    pub fn or_any(mut self) -> Self {
        self.or_any = true;
        self
    }

    /// The labels asked for, by name.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<Arc<str>, Arc<str>> {
        &self.labels
    }

    /// Whether any endpoint will do when none with the labels can serve.
    #[must_use]
    pub fn falls_back(&self) -> bool {
        self.or_any
    }

    /// Whether the endpoint has all of the labels. O(labels).
    #[must_use]
    pub fn takes(&self, endpoint: &Endpoint) -> bool {
        let known = endpoint.labels();
        self.labels
            .iter()
            .all(|(name, value)| known.get(name) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_labels_must_match_and_none_matches_all() {
        let endpoint = Endpoint::new("a", "10.0.0.1:80")
            .with_label("version", "2")
            .with_label("class", "gold");
        assert!(LabelSelector::default().takes(&endpoint));
        assert!(LabelSelector::new([("version", "2"), ("class", "gold")]).takes(&endpoint));
        assert!(!LabelSelector::new([("version", "2"), ("class", "tin")]).takes(&endpoint));
        assert!(!LabelSelector::new([("zone", "2")]).takes(&endpoint));
    }

    #[test]
    fn a_selector_fails_unless_told_otherwise() {
        let selector = LabelSelector::new([("version", "2")]);
        assert!(!selector.falls_back());
        assert!(selector.or_any().falls_back());
    }
}
