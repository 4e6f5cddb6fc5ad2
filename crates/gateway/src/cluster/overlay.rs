//! What operators changed while the gateway runs. It lies over the configuration and survives its
//! reload, so that neither side undoes the other in silence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_config as config;
use evenkeel_core::strategy::Strategy;
use evenkeel_core::{Admin, Endpoint};
use serde::{Deserialize, Serialize};

/// What operators changed of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    strategy: Option<Arc<dyn Strategy>>,
    endpoints: BTreeMap<Arc<str>, EndpointOverride>,
}

/// What operators changed of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointOverride {
    /// Whether it is there at all.
    pub presence: Presence,
    /// Its weight.
    pub weight: Option<u16>,
    /// Whether it is drained or disabled.
    pub admin: Option<Admin>,
}

/// Whether an endpoint is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    /// As configured.
    #[default]
    Configured,
    /// It was added.
    Added(Endpoint),
    /// It was removed.
    Removed,
}

impl Overrides {
    /// What operators changed in another process.
    pub(super) fn recalled(
        strategy: Option<Arc<dyn Strategy>>,
        endpoints: BTreeMap<Arc<str>, EndpointOverride>,
    ) -> Self {
        Self {
            strategy,
            endpoints,
        }
    }

    /// Whether nothing was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.strategy.is_none() && self.endpoints.is_empty()
    }

    /// The strategy, if it was changed.
    #[must_use]
    pub fn strategy(&self) -> Option<&Arc<dyn Strategy>> {
        self.strategy.as_ref()
    }

    /// What was changed of endpoints, in the order of their ids.
    pub fn endpoints(&self) -> impl Iterator<Item = (&Arc<str>, &EndpointOverride)> {
        self.endpoints.iter()
    }

    pub(super) fn set_strategy(&mut self, strategy: Arc<dyn Strategy>) {
        self.strategy = Some(strategy);
    }

    pub(super) fn add(&mut self, endpoint: Endpoint) {
        let added = EndpointOverride {
            presence: Presence::Added(endpoint.clone()),
            ..EndpointOverride::default()
        };
        self.endpoints.insert(endpoint.shared_id(), added);
    }

    /// Removes an endpoint; `is_listed` says that the configuration or a source of discovery has it, so that it
    /// would come back.
    pub(super) fn remove(&mut self, id: &str, is_listed: bool) {
        if is_listed {
            let removed = EndpointOverride {
                presence: Presence::Removed,
                ..EndpointOverride::default()
            };
            self.endpoints.insert(id.into(), removed);
        } else {
            self.endpoints.remove(id);
        }
    }

    pub(super) fn update(&mut self, id: &str, weight: Option<u16>, admin: Option<Admin>) {
        let entry = self.endpoints.entry(id.into()).or_default();
        if weight.is_some() {
            entry.weight = weight;
        }
        if let Some(admin) = admin {
            // The configuration knows no other state.
            entry.admin = Some(admin).filter(|admin| *admin != Admin::Enabled);
        }
        if *entry == EndpointOverride::default() {
            self.endpoints.remove(id);
        }
    }

    /// Has the strategy be another one, or the configured one again.
    pub(crate) fn amend_strategy(&mut self, strategy: Option<Arc<dyn Strategy>>) {
        self.strategy = strategy;
    }

    /// Has what was changed of an endpoint be this.
    pub(crate) fn amend_endpoint(&mut self, id: &Arc<str>, over: EndpointOverride) {
        if over == EndpointOverride::default() {
            self.endpoints.remove(id);
        } else {
            self.endpoints.insert(Arc::clone(id), over);
        }
    }

    /// The endpoints that the cluster is to have: those of the configuration, those that were discovered under
    /// other ids, and what operators made of them.
    pub(super) fn apply(
        &self,
        configured: &config::Cluster,
        discovered: &[Endpoint],
    ) -> Vec<Endpoint> {
        let is_taken = |id: &str| {
            let over = self.endpoints.get(id);
            over.is_some_and(|over| over.presence != Presence::Configured)
        };
        let known: BTreeSet<&str> = configured.endpoints.iter().map(Endpoint::id).collect();
        let beside = discovered.iter();
        let beside = beside.filter(|endpoint| !known.contains(endpoint.id()));
        let beside = beside.map(|endpoint| configured.adopt(endpoint.clone()));
        let stay = configured.endpoints.iter().cloned().chain(beside);
        let stay = stay.filter(|endpoint| !is_taken(endpoint.id()));
        let added = self
            .endpoints
            .values()
            .filter_map(|over| match &over.presence {
                Presence::Added(endpoint) => Some(configured.adopt(endpoint.clone())),
                _ => None,
            });
        stay.chain(added)
            .map(|endpoint| {
                let weight = self
                    .endpoints
                    .get(endpoint.id())
                    .and_then(|over| over.weight);
                match weight {
                    Some(weight) => endpoint.with_weight(weight),
                    None => endpoint,
                }
            })
            .collect()
    }

    /// What is wanted of an endpoint.
    pub(super) fn admin(&self, id: &str) -> Admin {
        let over = self.endpoints.get(id);
        over.and_then(|over| over.admin).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(ids: &[&str]) -> config::Cluster {
        let mut cluster = config::Cluster::new("web");
        cluster.endpoints = ids
            .iter()
            .map(|id| Endpoint::new(*id, "127.0.0.1:1"))
            .collect();
        cluster
    }

    fn ids(overrides: &Overrides, cluster: &config::Cluster) -> Vec<String> {
        let endpoints = overrides.apply(cluster, &[]);
        endpoints
            .iter()
            .map(|endpoint| endpoint.id().to_owned())
            .collect()
    }

    #[test]
    fn what_was_changed_lies_over_whatever_the_file_says() {
        let mut overrides = Overrides::default();
        overrides.add(Endpoint::new("c", "127.0.0.1:2"));
        overrides.remove("a", true);
        overrides.update("b", Some(7), Some(Admin::Draining));
        let after = cluster(&["a", "b", "d"]);
        assert_eq!(ids(&overrides, &after), ["b", "d", "c"]);
        assert_eq!(overrides.apply(&after, &[])[0].weight(), 7);
        assert_eq!(overrides.admin("b"), Admin::Draining);
        assert_eq!(overrides.admin("d"), Admin::Enabled);
    }

    #[test]
    fn what_was_taken_back_is_no_override() {
        let mut overrides = Overrides::default();
        let file = cluster(&["a"]);
        overrides.add(Endpoint::new("c", "127.0.0.1:2"));
        overrides.remove("c", false);
        overrides.update("a", None, Some(Admin::Draining));
        overrides.update("a", None, Some(Admin::Enabled));
        assert!(overrides.is_empty());
        overrides.remove("a", true);
        assert!(ids(&overrides, &file).is_empty());
    }

    /// What a source lists lies below both, and what was removed of it stays away.
    #[test]
    fn what_was_discovered_lies_beside_the_file() {
        let mut overrides = Overrides::default();
        let file = cluster(&["a"]);
        let discovered = cluster(&["a", "b", "c"]).endpoints;
        overrides.remove("b", true);
        overrides.update("c", Some(9), None);
        let all = overrides.apply(&file, &discovered);
        let all: Vec<(&str, u16)> = all.iter().map(|e| (e.id(), e.weight())).collect();
        assert_eq!(all, [("a", 1), ("c", 9)]);
    }

    /// An endpoint that was added and that the file lists later is still the one that was added.
    #[test]
    fn an_id_is_there_once() {
        let mut overrides = Overrides::default();
        overrides.add(Endpoint::new("a", "127.0.0.1:2"));
        let file = cluster(&["a"]);
        assert_eq!(ids(&overrides, &file), ["a"]);
        assert_eq!(overrides.apply(&file, &[])[0].address(), "127.0.0.1:2");
        overrides.remove("a", true);
        assert!(ids(&overrides, &file).is_empty());
    }
}
