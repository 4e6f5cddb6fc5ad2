//! What goes into the health of a cluster and comes out of it: who is there, how they are, what happened.

use std::sync::Arc;

use super::state::{Health, Transition};
use crate::clock::Nanos;
use crate::endpoint::Admin;
use crate::membership::Membership;
use crate::snapshot::Snapshot;

/// An endpoint as it is listed.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// let listed: Vec<_> = members.listed().collect();
/// assert_eq!((&*listed[0].id, listed[0].tier), ("a", 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its identity.
    pub id: Arc<str>,
    /// Where it is: another address under the same id is another endpoint.
    pub address: Arc<str>,
    /// Its tier.
    pub tier: u8,
    /// What operators want of it; with weight 0 it is drained.
    pub admin: Admin,
    /// Whether an agent speaks for it.
    pub has_agent: bool,
}

/// What is held of an endpoint.
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
/// let happened = health.runs([("a", 5)].into_iter(), Nanos::from_secs(1));
/// assert_eq!(happened.len(), 1);
/// let verdict = health.verdict("a").expect("it is listed");
/// assert!(verdict.until.is_some(), "ejections end: {}", verdict.reason);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Verdict {
    /// How it is.
    pub health: Health,
    /// Since when.
    pub since: Nanos,
    /// Why, and what will end it, in words; empty as long as nothing ever happened.
    pub reason: String,
    /// When it ends, if it ends by itself; before that it does not.
    pub until: Option<Nanos>,
}

/// Something that operators want to know.
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
/// use evenkeel_core::health::{Cause, Happening, Health};
///
/// let happened = health.runs([("a", 5)].into_iter(), Nanos::from_secs(1));
/// let Happening::Endpoint(transition) = &happened[0] else { panic!("it is of an endpoint") };
/// assert_eq!((&*transition.id, transition.to), ("a", Health::Ejected));
/// assert_eq!(transition.cause, Cause::ConsecutiveFailures);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// An endpoint's health changed.
    Endpoint(Transition),
    /// So many endpoints fail at once that the cause is taken to be shared, and no more are ejected; or
    /// that is over.
    SharedCause {
        /// Whether it begins.
        begins: bool,
        /// What was seen.
        evidence: String,
    },
}

impl Membership {
    /// The endpoints as [`super::ClusterHealth::list`] wants to know them.
    pub fn listed(&self) -> impl Iterator<Item = Listed> {
        self.members.values().map(|member| Listed {
            id: member.endpoint.shared_id(),
            address: member.endpoint.shared_address(),
            tier: member.endpoint.tier(),
            admin: match member.admin.min(member.wish.admin()) {
                Admin::Enabled if member.endpoint.weight() == 0 => Admin::Draining,
                admin => admin,
            },
            has_agent: member.endpoint.agent().is_some(),
        })
    }
}

impl Snapshot {
    /// How many failures in a row each endpoint has at the moment, as [`super::ClusterHealth::runs`] wants to
    /// know them.
    pub fn failure_runs(&self) -> impl Iterator<Item = (Arc<str>, u32)> {
        let endpoints = self.endpoints().iter().zip(self.candidates());
        endpoints.map(|(endpoint, candidate)| {
            (endpoint.shared_id(), candidate.state().failures_in_row())
        })
    }
}
