//! How warm the endpoints of a cluster are.

use std::collections::BTreeMap;

use super::cluster::ClusterHealth;
use crate::clock::Nanos;
use crate::membership::FULL_WEIGHT;

impl ClusterHealth {
    /// Works out anew how warm each endpoint is. When more than half of a tier is warming up, all of it
    /// counts as warm: the few others would be crushed.
    pub(super) fn follow_warmth(&mut self, now: Nanos) {
        let Some(slow) = self.policy.slow_start else {
            for record in self.endpoints.values_mut() {
                (record.warming, record.warmth) = (None, FULL_WEIGHT);
            }
            return;
        };
        let mut tiers: BTreeMap<u8, (usize, usize)> = BTreeMap::new();
        for record in self.endpoints.values_mut() {
            record.warming = record
                .warming
                .filter(|since| !slow.is_over(now.since(*since)));
            if record.is_usable() {
                let (warming, total) = tiers.entry(record.tier).or_default();
                *warming += usize::from(record.warming.is_some());
                *total += 1;
            }
        }
        for record in self.endpoints.values_mut() {
            let (warming, total) = tiers.get(&record.tier).copied().unwrap_or_default();
            record.warmth = match record.warming {
                Some(since) if warming * 2 <= total => slow.factor(now.since(since)),
                _ => FULL_WEIGHT,
            };
        }
    }

    /// The share of its weight that an endpoint has, in 1/256, and when it will have the whole: none
    /// while it does not warm up.
    #[must_use]
    pub fn warmth(&self, id: &str) -> Option<(u16, Nanos)> {
        let record = self.endpoints.get(id)?;
        let whole = self.policy.slow_start?.whole();
        let since = record.warming.filter(|_| record.warmth < FULL_WEIGHT)?;
        Some((record.warmth, since + whole))
    }
}
