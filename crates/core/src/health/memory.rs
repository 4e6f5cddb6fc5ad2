//! What is known of the health of endpoints, carried from one process into the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cluster::ClusterHealth;
use super::record::Record;
use super::verdict::Happening;
use crate::clock::Nanos;

/// What is known of the health of a cluster's endpoints. Its points in time are those of the clock that was
/// read when it was remembered: whoever recalls it must go on by the same one.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// # use evenkeel_core::{Nanos, health::{ClusterHealth, HealthPolicy, OutlierPolicy}};
/// # let policy = HealthPolicy { outlier: Some(OutlierPolicy::default()), ..HealthPolicy::default() };
/// # let mut health = ClusterHealth::new(policy, 7);
/// # let _ = health.list(members.listed(), true, Nanos(0));
/// let _ = health.runs([("a", 5)].into_iter(), Nanos::from_secs(1));
/// let memory = health.remember();
/// let mut next = ClusterHealth::new(health.policy().clone(), 8);
/// let _ = next.list(members.listed(), true, Nanos::from_secs(2));
/// let _ = next.recall(memory, Nanos::from_secs(2));
/// assert_eq!(next.verdict("a"), health.verdict("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HealthMemory {
    endpoints: BTreeMap<Arc<str>, Record>,
    shared_cause: bool,
}

impl ClusterHealth {
    /// All that is known.
    #[must_use]
    pub fn remember(&self) -> HealthMemory {
        HealthMemory {
            endpoints: self.endpoints.clone(),
            shared_cause: self.shared_cause,
        }
    }

    /// Goes on with what another one knew of the endpoints that are listed here, as far as they are at the same
    /// address; what operators want of them and how they are checked is as it is here. Returns what that
    /// changes for endpoints that are checked no more.
    pub fn recall(&mut self, memory: HealthMemory, now: Nanos) -> Vec<Happening> {
        for (id, known) in memory.endpoints {
            if let Some(record) = self.endpoints.get_mut(&id)
                && record.address == known.address
            {
                *record = Record {
                    tier: record.tier,
                    admin: record.admin,
                    ..known
                };
            }
        }
        self.shared_cause = memory.shared_cause;
        let policy = *self.policy();
        self.set_policy(policy, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Admin;
    use crate::health::{
        ActivePolicy, Health, HealthPolicy, Initial, Listed, OutlierPolicy, ProbeResult, SlowStart,
    };

    fn listed(addresses: &[(&str, &str)]) -> Vec<Listed> {
        let listed = addresses.iter().map(|(id, address)| Listed {
            id: (*id).into(),
            address: (*address).into(),
            tier: 0,
            admin: Admin::Enabled,
            has_agent: false,
        });
        listed.collect()
    }

    fn policy() -> HealthPolicy {
        HealthPolicy {
            active: Some(ActivePolicy {
                initial: Initial::Healthy,
                ..ActivePolicy::default()
            }),
            outlier: Some(OutlierPolicy::default()),
            slow_start: Some(SlowStart::default()),
        }
    }

    fn fail(health: &mut ClusterHealth, id: &str, now: Nanos) {
        let result = ProbeResult {
            passed: false,
            seen: "no answer".to_owned(),
        };
        for _ in 0..ActivePolicy::default().fall {
            let _ = health.probed(id, &result, now);
        }
    }

    /// Unhealthy, ejected and warming endpoints are so in the next process too, and until the same moment;
    /// one at another address is not.
    #[test]
    fn what_was_known_is_known_and_ends_when_it_would_have() {
        let now = Nanos::from_secs(1_000);
        let mut old = ClusterHealth::new(policy(), 1);
        let five = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")];
        let _ = old.list(listed(&five).into_iter(), true, now);
        fail(&mut old, "a", now);
        fail(&mut old, "d", now);
        let _ = old.runs([("b", 5)].into_iter(), now);
        let six = [&five[..], &[("f", "6")]].concat();
        let _ = old.list(listed(&six).into_iter(), false, now);

        let later = now + Nanos::from_secs(2);
        let mut new = ClusterHealth::new(policy(), 2);
        let mut moved = six.clone();
        moved[3].1 = "40";
        let _ = new.list(listed(&moved).into_iter(), true, later);
        let happenings = new.recall(old.remember(), later);
        assert_eq!(happenings, [], "nothing happens by it");
        for id in ["a", "b", "c", "e", "f"] {
            assert_eq!(new.verdict(id), old.verdict(id), "{id}");
        }
        let health = |health: &ClusterHealth, id| health.verdict(id).map(|it| it.health);
        assert_eq!(health(&new, "a"), Some(Health::Unhealthy));
        assert_eq!(health(&new, "b"), Some(Health::Ejected));
        assert_eq!(health(&new, "d"), Some(Health::Healthy), "another address");
        let _ = old.tick(later);
        assert_eq!(new.warmth("f"), old.warmth("f"));
        assert!(new.warmth("f").is_some(), "it warms up");
        let over = old.verdict("b").and_then(|it| it.until).expect("ejected");
        assert!(new.tick(Nanos(over.0 - 1)).is_empty());
        assert_eq!(new.tick(over).len(), 1, "it returns when it would have");
    }

    #[test]
    fn what_is_not_checked_any_more_is_well() {
        let now = Nanos::from_secs(5);
        let mut old = ClusterHealth::new(policy(), 1);
        let _ = old.list(listed(&[("a", "1"), ("b", "2")]).into_iter(), true, now);
        fail(&mut old, "a", now);
        let mut new = ClusterHealth::new(HealthPolicy::default(), 1);
        let _ = new.list(listed(&[("a", "1"), ("b", "2")]).into_iter(), true, now);
        assert_eq!(new.recall(old.remember(), now).len(), 1);
        assert_eq!(new.verdict("a").map(|it| it.health), Some(Health::Healthy));
    }
}
