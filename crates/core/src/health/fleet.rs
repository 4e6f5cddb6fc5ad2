//! What several gateways hold of the same endpoints: out for all is what a quorum of them holds out.
//!
//! Each gateway gives its own verdicts and takes in those of all. What it holds out by itself is out for it alone,
//! since it is its own way to the endpoint that fails; for the others to follow it takes more than half of those
//! that give verdicts, and two at least. So one gateway with a bad network takes nothing from the others. Only own
//! verdicts are given, not what follows from those of others: else a quorum would hold itself up for ever.
//!
//! A quorum that holds out more than half of the endpoints is not believed: then it is the gateways whose network
//! fails, and one that still reaches everybody must not follow them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cluster::ClusterHealth;
use super::record::settle;
use super::state::Cause;
use super::verdict::Happening;
use crate::clock::Nanos;

/// How many gateways hold an endpoint out.
///
/// # Examples
///
/// ```
/// use evenkeel_core::health::Votes;
///
/// assert!(Votes { out: 2, of: 3 }.are_a_quorum());
/// assert!(!Votes { out: 1, of: 1 }.are_a_quorum(), "one alone is none");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Votes {
    /// So many.
    pub out: u32,
    /// Of so many that give verdicts.
    pub of: u32,
}

impl Votes {
    /// Whether they are enough: more than half, and at least two.
    #[must_use]
    pub const fn are_a_quorum(self) -> bool {
        self.out >= 2 && self.out as u64 * 2 > self.of as u64
    }
}

impl ClusterHealth {
    /// The endpoints that are held out here, whatever others say.
    pub fn own_out(&self) -> impl Iterator<Item = &Arc<str>> {
        let all = self.endpoints.iter();
        all.filter(|(_, record)| !record.own_health().is_usable())
            .map(|(id, _)| id)
    }

    /// What the gateways of the fleet hold: how many hold each endpoint out. Those that are not named, nobody does.
    pub fn fleet_said(&mut self, votes: &BTreeMap<Arc<str>, Votes>, now: Nanos) -> Vec<Happening> {
        let is_out = |id: &Arc<str>| votes.get(id).is_some_and(|votes| votes.are_a_quorum());
        let out = self.endpoints.keys().filter(|id| is_out(id)).count();
        let is_believed = out * 2 <= self.endpoints.len();
        let mut happenings = Vec::new();
        for (id, record) in &mut self.endpoints {
            let said = votes.get(id).filter(|_| is_believed && is_out(id)).copied();
            let before = std::mem::replace(&mut record.fleet_out, said);
            if before == said {
                continue;
            }
            let (cause, evidence) = match said {
                Some(Votes { out, of }) => {
                    let evidence = format!("{out} of {of} gateways hold it out");
                    (Cause::FleetOut, evidence)
                }
                None => (
                    Cause::FleetIn,
                    "no quorum that is believed holds it out".to_owned(),
                ),
            };
            if said.is_some() && record.own_health().is_usable() && before.is_some() {
                // The figures in its reason go on.
                record.verdict.reason.clone_from(&evidence);
            }
            happenings.extend(settle(id, record, cause, evidence, now));
        }
        if !happenings.is_empty() {
            self.follow_warmth(now);
        }
        happenings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::endpoint::Admin;
    use crate::health::{ActivePolicy, Health, HealthPolicy, Listed, ProbeResult};

    fn health() -> ClusterHealth {
        of_ids(&["a", "b"])
    }

    fn of_ids(ids: &[&str]) -> ClusterHealth {
        let policy = HealthPolicy {
            active: Some(ActivePolicy {
                fall: 1,
                rise: 1,
                ..ActivePolicy::default()
            }),
            ..HealthPolicy::default()
        };
        let mut health = ClusterHealth::new(policy, 1);
        let listed = ids.iter().map(|id| Listed {
            id: (*id).into(),
            address: "127.0.0.1:1".into(),
            tier: 0,
            admin: Admin::Enabled,
            has_agent: false,
        });
        health.list(listed, true, Nanos(0));
        health
    }

    fn of(health: &ClusterHealth, id: &str) -> Health {
        health.verdict(id).expect("it is there").health
    }

    fn said(out: u32, of: u32) -> BTreeMap<Arc<str>, Votes> {
        BTreeMap::from([("a".into(), Votes { out, of })])
    }

    #[test]
    fn a_quorum_is_more_than_half_and_two_at_least() {
        for (out, of, is_one) in [
            (0, 0, false),
            (1, 1, false),
            (1, 2, false),
            (2, 2, true),
            (1, 3, false),
            (2, 3, true),
            (2, 4, false),
            (3, 4, true),
            (u32::MAX, u32::MAX, true),
        ] {
            assert_eq!(Votes { out, of }.are_a_quorum(), is_one, "{out} of {of}");
        }
    }

    #[test]
    fn a_quorum_takes_an_endpoint_out_and_no_less_does() {
        let mut health = health();
        assert!(health.fleet_said(&said(1, 3), Nanos(1)).is_empty());
        assert_eq!(of(&health, "a"), Health::Healthy);
        let happenings = health.fleet_said(&said(2, 3), Nanos(2));
        assert!(
            matches!(&happenings[..], [Happening::Endpoint(it)] if it.cause == Cause::FleetOut
                && it.evidence == "2 of 3 gateways hold it out"),
            "{happenings:?}"
        );
        assert_eq!(
            (of(&health, "a"), of(&health, "b")),
            (Health::Unhealthy, Health::Healthy)
        );
        // What others hold is not what is held here.
        assert_eq!(health.own_out().count(), 0);
        assert!(health.fleet_said(&said(3, 3), Nanos(3)).is_empty());
        let reason = &health.verdict("a").expect("it is there").reason;
        assert_eq!(reason, "3 of 3 gateways hold it out");
        let back = health.fleet_said(&BTreeMap::new(), Nanos(4));
        assert!(matches!(&back[..], [Happening::Endpoint(it)] if it.cause == Cause::FleetIn));
        assert_eq!(of(&health, "a"), Health::Healthy);
    }

    #[test]
    fn a_quorum_that_holds_most_out_is_not_believed() {
        let mut health = health();
        let votes = Votes { out: 2, of: 3 };
        let both = BTreeMap::from([("a".into(), votes), ("b".into(), votes)]);
        health.fleet_said(&said(2, 3), Nanos(1));
        assert_eq!(of(&health, "a"), Health::Unhealthy);
        health.fleet_said(&both, Nanos(2));
        assert_eq!(
            (of(&health, "a"), of(&health, "b")),
            (Health::Healthy, Health::Healthy)
        );
        health.fleet_said(&said(2, 3), Nanos(3));
        assert_eq!(of(&health, "a"), Health::Unhealthy);
    }

    proptest! {
        /// Whatever others say, of whomever and however often: of those that are well here no more than half are out,
        /// what is held here stays what it is, and nothing lasts that nobody says any more.
        #[test]
        fn whoever_lies_takes_no_more_than_half(
            rounds in prop::collection::vec((
                prop::collection::btree_map("[a-h]{0,2}", (any::<u32>(), 0_u32..6), 0..12),
                prop::collection::vec((0_usize..8, any::<bool>()), 0..3),
            ), 1..20),
            count in 1_usize..8,
        ) {
            let ids = &["a", "b", "c", "d", "e", "f", "g", "h"][..count];
            let (mut health, mut alone) = (of_ids(ids), of_ids(ids));
            for (at, (votes, probes)) in (1..).zip(rounds) {
                let now = Nanos::from_secs(at);
                for (which, passed) in probes.into_iter().filter(|(which, _)| *which < count) {
                    let result = ProbeResult { passed, seen: "seen".to_owned() };
                    health.probed(ids[which], &result, now);
                    alone.probed(ids[which], &result, now);
                }
                let votes = votes.into_iter().map(|(id, (out, of))| (id.into(), Votes { out: out % 9, of }));
                health.fleet_said(&votes.collect(), now);
                let own = |health: &ClusterHealth| health.own_out().cloned().collect::<Vec<_>>();
                prop_assert_eq!(own(&health), own(&alone));
                let is_out = |health: &ClusterHealth, id: &str| !of(health, id).is_usable();
                let taken = ids.iter().filter(|id| is_out(&health, id) && !is_out(&alone, id));
                prop_assert!(taken.count() * 2 <= count);
                prop_assert!(ids.iter().all(|id| is_out(&health, id) || !is_out(&alone, id)));
            }
            let end = Nanos::from_secs(1_000);
            health.fleet_said(&BTreeMap::new(), end);
            for id in ids {
                prop_assert_eq!(of(&health, id).is_usable(), of(&alone, id).is_usable());
            }
        }
    }

    #[test]
    fn what_is_held_here_stands_whatever_others_hold() {
        let mut health = health();
        let failed = ProbeResult {
            passed: false,
            seen: "refused".to_owned(),
        };
        health.probed("a", &failed, Nanos(1));
        assert_eq!(of(&health, "a"), Health::Unhealthy);
        assert_eq!(health.own_out().map(|id| &**id).collect::<Vec<_>>(), ["a"]);
        health.fleet_said(&said(2, 3), Nanos(2));
        health.fleet_said(&said(1, 3), Nanos(3));
        assert_eq!(of(&health, "a"), Health::Unhealthy);
    }
}
