//! A cluster's counts at the moment of a scrape.

use std::sync::Arc;

use evenkeel_core::Nanos;
use evenkeel_gateway::{
    Cluster, DecisionTimes, EndpointReport, Histogram, ShadowReport, Sheds, Totals,
};

/// A cluster's counts at the moment of a scrape, read once for all families.
pub(super) struct Sample {
    pub(super) cluster: Arc<str>,
    pub(super) strategy: &'static str,
    pub(super) panic: bool,
    /// Since the source of endpoints last confirmed the list, where there is one.
    pub(super) discovery_age: Option<Nanos>,
    /// How often its whole list was another one than its changes had led to.
    pub(super) disagreements: u64,
    /// Of the table of keys, under a strategy that has one.
    pub(super) checksum: Option<u64>,
    /// How long decisions took.
    pub(super) decision_times: DecisionTimes,
    /// Picked, fallback, queued, none.
    pub(super) decisions: [u64; 4],
    /// Requests that wait.
    pub(super) queue_length: u64,
    /// How long those waited that got a slot.
    pub(super) queue_waits: Histogram,
    pub(super) sheds: Sheds,
    /// Success, failure, over budget.
    pub(super) retries: [u64; 3],
    pub(super) endpoints: Vec<EndpointReport>,
    /// How long checks took.
    pub(super) probes: Histogram,
    pub(super) shadows: Vec<ShadowReport>,
    /// The answers that the gateway made itself.
    pub(super) own: Totals,
}

impl Sample {
    pub(super) fn of(cluster: &Cluster) -> Self {
        let discovery = cluster.discovery();
        Self {
            cluster: cluster.shared_name(),
            strategy: cluster.strategy().descriptor().name,
            panic: cluster.is_in_panic(),
            discovery_age: discovery.as_ref().map(|report| report.age),
            disagreements: discovery.map_or(0, |report| report.disagreements),
            checksum: cluster.table_checksum(),
            decisions: cluster.decisions(),
            decision_times: cluster.decision_times(),
            queue_length: cluster.queue_length(),
            queue_waits: cluster.queue_waits(),
            sheds: cluster.sheds(),
            retries: cluster.retries(),
            endpoints: cluster.endpoints(),
            probes: cluster.probe_durations(),
            shadows: cluster.shadows(),
            own: cluster.own_totals(),
        }
    }

    /// Counts by the label `endpoint`: its id, empty for the gateway's own answers.
    pub(super) fn totals(&self) -> impl Iterator<Item = (&str, &Totals)> {
        let endpoints = self.endpoints.iter();
        endpoints
            .map(|report| (report.endpoint.id(), &report.totals))
            .chain([("", &self.own)])
    }
}
