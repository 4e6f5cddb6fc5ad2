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

#[cfg(test)]
mod tests {
    use super::super::{ActivePolicy, HealthPolicy, Listed, ProbeResult, SlowStart};
    use super::*;
    use crate::endpoint::Admin;

    const JOINED: Nanos = Nanos::from_secs(100);

    fn listed(count: usize) -> impl Iterator<Item = Listed> {
        (0..count).map(|number| Listed {
            id: format!("e{number}").into(),
            address: "127.0.0.1:1".into(),
            tier: 0,
            admin: Admin::Enabled,
            has_agent: false,
        })
    }

    /// So many that are warm, and then others that join.
    fn joined(warm: usize, all: usize, window: Nanos) -> ClusterHealth {
        let slow_start = SlowStart {
            window,
            ..SlowStart::default()
        };
        let policy = HealthPolicy {
            slow_start: Some(slow_start),
            ..HealthPolicy::default()
        };
        let mut health = ClusterHealth::new(policy, 7);
        let _ = health.list(listed(warm), true, Nanos(0));
        let _ = health.list(listed(all), false, JOINED);
        health
    }

    #[test]
    fn who_joins_warms_up_and_is_looked_at_twice_for_each_step() {
        let window = Nanos::from_secs(32);
        let mut health = joined(3, 4, window);
        assert_eq!(health.next_tick(JOINED), Some(JOINED + Nanos::from_secs(1)));
        let _ = health.tick(JOINED + Nanos::from_secs(16));
        assert_eq!(health.warmth("e3"), Some((128, JOINED + window)));
        assert_eq!(health.warmth("e0"), None);
        let _ = health.tick(JOINED + window);
        assert_eq!(
            (health.warmth("e3"), health.next_tick(JOINED + window)),
            (None, None)
        );
        // However short: no more often than each millisecond.
        let quick = joined(3, 4, Nanos::from_millis(16));
        assert_eq!(
            quick.next_tick(JOINED),
            Some(JOINED + Nanos::from_millis(1))
        );
    }

    /// A check that fails now and then takes nobody out, so nobody returns.
    #[test]
    fn who_was_only_suspected_stays_warm() {
        let policy = HealthPolicy {
            active: Some(ActivePolicy::default()),
            slow_start: Some(SlowStart::default()),
            ..HealthPolicy::default()
        };
        let mut health = ClusterHealth::new(policy, 7);
        let _ = health.list(listed(3), true, Nanos(0));
        for passed in [false, true] {
            let seen = String::new();
            let happened = health.probed("e0", &ProbeResult { passed, seen }, JOINED);
            assert_eq!(happened.len(), 1, "suspect, and healthy again");
            assert_eq!(
                (health.warmth("e0"), health.next_tick(JOINED)),
                (None, None)
            );
        }
    }

    #[test]
    fn when_most_are_new_nobody_warms_up() {
        for (warm, new, warms_up) in [(2, 2, true), (2, 3, false)] {
            let health = joined(warm, warm + new, Nanos::from_secs(32));
            let last = format!("e{}", warm + new - 1);
            assert_eq!(
                health.warmth(&last).is_some(),
                warms_up,
                "{new} join {warm}"
            );
        }
    }
}
