//! Caps that are learned from how long answers take (`peak = "auto"`): the gateway's law.

use std::collections::BTreeMap;

use evenkeel_config::{Cluster, Peak};
use evenkeel_core::{LearnedLimit, Nanos, OwnedLease, Samples};

use super::balancer::Balancer;

/// How often what was heard is taken in, as in the gateway.
pub(super) const LEARN_INTERVAL: Nanos = Nanos::from_secs(1);

/// What one balancer has learned, by the numbers of backends.
#[derive(Debug, Default)]
pub(super) struct Learning {
    limits: BTreeMap<u32, LearnedLimit>,
    heard: BTreeMap<u32, Samples>,
}

impl Learning {
    /// None where caps are not learned.
    pub(super) fn new(cluster: &Cluster) -> Option<Self> {
        let learns = cluster.capacity?.peak == Peak::Learned;
        learns.then(Self::default)
    }
}

impl Balancer {
    /// Hears how long an answer took whose lease still counts.
    #[inline]
    pub(super) fn sample(&mut self, backend: u32, took: Nanos, lease: &OwnedLease) {
        if let Some(learning) = &mut self.learning {
            let in_flight = lease.state().in_flight().count();
            let heard = learning.heard.entry(backend).or_default();
            *heard = heard.and(Samples::of(took, in_flight));
        }
    }

    /// Learns from what was heard, and publishes what follows from it.
    pub(super) fn learn(&mut self, now: Nanos) {
        let Some(learning) = &mut self.learning else {
            return;
        };
        let known: BTreeMap<u32, _> = self
            .membership
            .endpoints()
            .map(|(endpoint, _)| {
                (
                    endpoint.address().parse().unwrap_or(u32::MAX),
                    endpoint.shared_id(),
                )
            })
            .collect();
        learning
            .limits
            .retain(|backend, _| known.contains_key(backend));
        let mut moved = false;
        for (backend, samples) in std::mem::take(&mut learning.heard) {
            let Some(id) = known.get(&backend) else {
                continue;
            };
            let limit = learning.limits.entry(backend).or_default();
            let before = limit.requests();
            if limit.observe(samples, now) && limit.requests() != before {
                // It was there a few lines ago.
                moved |= self
                    .membership
                    .set_learned_cap(id, limit.requests())
                    .is_ok();
            }
        }
        if moved {
            self.publish();
        }
    }
}
