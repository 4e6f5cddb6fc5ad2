//! What is worked out anew as endpoints are heard: weights, caps, the usual latency.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_core::{HealthBody, Nanos, Samples, Signal, SignalSum};

use super::counters::EndpointCounters;
use super::record::Cluster;
use super::state::State;
use crate::report::Weighing;

impl Cluster {
    /// Publishes another version when the median latency of the endpoints has moved by a quarter.
    pub(crate) fn follow_median(&self) {
        let known = self.published().load().snapshot.typical_latency();
        let _ = self.change(|state| {
            let now = state.membership.median_latency()?;
            let moved = now.0 > known.0 / 4 * 5 || now.0 < known.0 / 5 * 4;
            moved.then_some(())
        });
    }

    /// Works out weights that follow what endpoints say, if it is time to, and publishes another version
    /// if they have changed.
    pub(crate) fn weigh(&self, now: Nanos) {
        let is_due = |weighing: &mut Weighing| weighing.is_due(now);
        if !self.state().weighing.as_mut().is_some_and(is_due) {
            return;
        }
        let heard = self.heard();
        let _ = self.change(|state| {
            let weighing = state.weighing.as_mut()?;
            weighing.weigh(&state.membership, now, heard).then_some(())
        });
    }

    /// Learns how much endpoints take at once, if it is to be learned, and publishes another version when
    /// that has moved.
    pub(crate) fn follow_limits(&self, now: Nanos) {
        if !self.published().load().policies.learns_caps {
            return;
        }
        let counters = self.counters();
        let endpoints = counters.endpoints.iter();
        let samples = endpoints.map(|(id, sets)| {
            let samples = EndpointCounters::take_samples(sets.iter());
            (Arc::clone(id), samples)
        });
        let heard: Vec<(Arc<str>, Samples)> = samples.collect();
        drop(counters);
        let _ = self.change(|state| {
            let State {
                learning,
                membership,
                ..
            } = state;
            learning.learn(membership, heard, now).then_some(())
        });
    }

    /// Takes in what an endpoint says of its load in the body of its answer to a check, where weights
    /// follow that.
    pub(crate) fn hear_body(&self, id: &str, body: &[u8]) {
        if !self.published().load().policies.listens.to_bodies {
            return;
        }
        self.with_counters(id, |counters| match HealthBody::parse(body) {
            Ok(said) => {
                counters.report_read();
                if let Some(value) = said.utilization {
                    // Of each request so many failed.
                    let (rps, eps) = (1.0, said.error_rate.unwrap_or(0.0));
                    let mut heard = SignalSum::default();
                    heard.add(Signal { value, rps, eps });
                    counters.pour(heard);
                }
            }
            Err(bad) => {
                counters.report_refused();
                tracing::debug!(
                    endpoint = id,
                    "the body of a check is no load report: {bad}"
                );
            }
        });
    }

    /// With the counters of an endpoint, for what is heard of it beside its answers to requests: those of any
    /// worker, as they are added up.
    pub(super) fn with_counters(&self, id: &str, count: impl FnOnce(&EndpointCounters)) {
        if self.state().membership.get(id).is_none() {
            return;
        }
        let mut counters = self.counters();
        let sets = counters.endpoints.entry(id.into()).or_default();
        if let Some(counters) = sets.workers.first() {
            count(counters);
        } else {
            // No worker has used it yet.
            count(sets.before.get_or_insert_default());
        }
    }

    /// What workers have heard of each endpoint's load since the last time.
    fn heard(&self) -> BTreeMap<Arc<str>, Signal> {
        let counters = self.counters();
        let endpoints = counters.endpoints.iter();
        endpoints
            .filter_map(|(id, sets)| {
                let heard = EndpointCounters::take_heard(sets.iter())?;
                Some((Arc::clone(id), heard))
            })
            .collect()
    }
}
