//! What a gateway said, as far as it is drawn.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// How many events are kept; the gateway keeps as many.
const EVENTS_MAX: usize = 1_000;

/// All that is known of a gateway.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) clusters: Vec<Cluster>,
    pub(super) figures: Figures,
    /// The newest first, of the cluster that is shown.
    pub(super) decisions: Vec<Value>,
    /// Why there are no decisions, where the gateway said so.
    pub(super) no_decisions: Option<String>,
    /// Of the cluster that is shown.
    pub(super) shadows: Vec<Shadow>,
    /// A receipt that is not among the latest decisions.
    pub(super) found: Option<Value>,
    /// The oldest first.
    pub(super) events: Vec<Event>,
}

/// What a gateway says.
#[derive(Clone, Debug)]
pub(super) enum Told {
    /// A connection begins: what was known of events comes again.
    Begin,
    Clusters(Vec<Cluster>),
    Figures(Figures),
    /// Of the cluster of this name; the reason where there are none.
    Decisions(String, Result<Vec<Value>, String>),
    Shadows(String, Vec<Shadow>),
    /// A receipt that was asked for by the beginning of its request's id, or why there is none.
    Receipt(Result<Value, String>),
    Event(Event),
    /// What was asked for is done, or not.
    Changed(Result<String, String>),
    /// The gateway is gone.
    Lost(String),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Latency {
    pub(super) p50: Option<f64>,
    pub(super) p99: Option<f64>,
}

/// What happened in one second.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Figures {
    pub(super) time: String,
    pub(super) clusters: Vec<ClusterFigures>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClusterFigures {
    pub(super) name: String,
    pub(super) requests_per_second: f64,
    pub(super) errors_per_second: f64,
    pub(super) retries_per_second: f64,
    pub(super) in_flight: u64,
    pub(super) latency_ms: Latency,
    pub(super) endpoints: Vec<EndpointFigures>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EndpointFigures {
    pub(super) id: String,
    pub(super) share: Option<f64>,
    pub(super) requests_per_second: f64,
    pub(super) errors_per_second: f64,
    pub(super) in_flight: u64,
    pub(super) latency_ms: Latency,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) strategy: Strategy,
    pub(super) panic: bool,
    pub(super) endpoints: Vec<Endpoint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Strategy {
    pub(super) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Endpoint {
    pub(super) id: String,
    pub(super) address: String,
    pub(super) weight: f64,
    pub(super) effective_weight: f64,
    /// The share of the requests that this stands for, by the shares of tiers and zones.
    pub(super) due: f64,
    pub(super) zone: Option<String>,
    pub(super) tier: u64,
    pub(super) health: String,
    pub(super) state: String,
    pub(super) reason: String,
    pub(super) since: String,
    pub(super) requests: u64,
    pub(super) failures: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shadow {
    pub(super) strategy: String,
    pub(super) summary: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    pub(super) number: u64,
    pub(super) time: String,
    pub(super) event: String,
    pub(super) cluster: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) cause: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) until: Option<String>,
}

/// An endpoint with its figures.
#[derive(Clone, Debug)]
pub(super) struct Row<'m> {
    pub(super) endpoint: &'m Endpoint,
    /// Of this second; all 0 before the first one.
    pub(super) figures: EndpointFigures,
}

impl Model {
    /// Takes in what the gateway said. `cluster` is the one that is shown.
    pub(super) fn hear(&mut self, told: Told, cluster: &str) {
        match told {
            Told::Begin => self.events.clear(),
            Told::Clusters(clusters) => self.clusters = clusters,
            Told::Figures(figures) => self.figures = figures,
            Told::Decisions(name, Ok(decisions)) if name == cluster => {
                self.decisions = decisions;
                self.no_decisions = None;
            }
            Told::Decisions(name, Err(why)) if name == cluster => {
                self.decisions.clear();
                self.no_decisions = Some(why);
            }
            Told::Shadows(name, shadows) if name == cluster => self.shadows = shadows,
            Told::Receipt(Ok(receipt)) => self.found = Some(receipt),
            Told::Event(event) => {
                if self.events.len() == EVENTS_MAX {
                    self.events.remove(0);
                }
                self.events.push(event);
            }
            // Of a cluster that is no longer shown, or nothing to keep.
            Told::Decisions(..) | Told::Shadows(..) => {}
            Told::Receipt(Err(_)) | Told::Changed(_) | Told::Lost(_) => {}
        }
    }

    /// The cluster of that name.
    pub(super) fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.name == name)
    }

    /// The figures of the cluster of that name.
    pub(super) fn figures(&self, name: &str) -> Option<&ClusterFigures> {
        let mut all = self.figures.clusters.iter();
        all.find(|cluster| cluster.name == name)
    }

    /// The endpoints of a cluster with their figures, in the order of the gateway.
    pub(super) fn rows<'m>(&'m self, name: &str) -> Vec<Row<'m>> {
        let Some(cluster) = self.cluster(name) else {
            return Vec::new();
        };
        let figures = self.figures(name);
        let figures = figures.map_or(&[][..], |figures| &figures.endpoints);
        let by_id: BTreeMap<&str, &EndpointFigures> =
            figures.iter().map(|it| (it.id.as_str(), it)).collect();
        let row = |endpoint: &'m Endpoint| {
            let figures = by_id.get(endpoint.id.as_str()).copied().cloned();
            Row {
                endpoint,
                figures: figures.unwrap_or_default(),
            }
        };
        cluster.endpoints.iter().map(row).collect()
    }

    /// The last event of an endpoint.
    pub(super) fn last_event(&self, cluster: &str, endpoint: &str) -> Option<&Event> {
        self.events.iter().rev().find(|event| {
            event.cluster.as_deref() == Some(cluster) && event.endpoint.as_deref() == Some(endpoint)
        })
    }
}
