//! What is held of one endpoint of a cluster, and how that is brought in line with its machines.

use std::sync::Arc;

use super::active::{Active, Initial};
use super::cluster::HealthPolicy;
use super::fleet::Votes;
use super::passive::Passive;
use super::state::{Cause, Health, Transition};
use super::verdict::{Happening, Listed, Verdict};
use crate::clock::Nanos;
use crate::endpoint::Admin;
use crate::membership::FULL_WEIGHT;

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Record {
    pub(super) address: Arc<str>,
    pub(super) tier: u8,
    pub(super) admin: Admin,
    /// It was out and came back while it took no requests anyway.
    pub(super) returned_unseen: bool,
    pub(super) active: Active,
    pub(super) passive: Passive,
    /// What the agent beside it says is wrong, and what ends that; none: nothing.
    pub(super) agent_down: Option<String>,
    /// How many of the gateways that share their verdicts hold it out; none: no quorum of them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(super) fleet_out: Option<Votes>,
    /// When it came or returned, while it warms up.
    pub(super) warming: Option<Nanos>,
    /// Warms up when it is admitted: not so what has to pass a check when the process starts.
    pub(super) cold: bool,
    /// In 1/256 of its weight.
    pub(super) warmth: u16,
    pub(super) verdict: Verdict,
}

impl Record {
    pub(super) fn new(listed: &Listed, policy: &HealthPolicy, now: Nanos, joins: bool) -> Self {
        let initial = policy
            .active
            .map_or(Initial::Healthy, |active| active.initial);
        let active = Active::new(initial);
        let health = active.health();
        let reason = match policy.active {
            Some(policy) if active.is_awaited() => active.evidence(&policy, "", now),
            _ => String::new(),
        };
        Self {
            address: Arc::clone(&listed.address),
            tier: listed.tier,
            admin: listed.admin,
            returned_unseen: false,
            active,
            passive: Passive::default(),
            agent_down: None,
            fleet_out: None,
            warming: Some(now).filter(|_| joins && health.is_usable()),
            cold: joins || health.is_usable(),
            warmth: FULL_WEIGHT,
            verdict: Verdict {
                health,
                since: now,
                reason,
                until: None,
            },
        }
    }

    pub(super) fn health(&self) -> Health {
        let fleet = match self.fleet_out {
            Some(_) => Health::Unhealthy,
            None => Health::Healthy,
        };
        self.own_health().max(fleet)
    }

    /// What is held of it here, whatever others say.
    pub(super) fn own_health(&self) -> Health {
        let passive = match self.passive.is_ejected() {
            true => Health::Ejected,
            false => Health::Healthy,
        };
        let agent = match self.agent_down {
            Some(_) => Health::Unhealthy,
            None => Health::Healthy,
        };
        self.active.health().max(passive).max(agent)
    }

    pub(super) fn is_usable(&self) -> bool {
        self.is_enabled() && self.verdict.health.is_usable()
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.admin == Admin::Enabled
    }
}

/// Brings the verdict in line with the machines; says so if it is another one.
pub(super) fn settle(
    id: &Arc<str>,
    record: &mut Record,
    cause: Cause,
    evidence: String,
    now: Nanos,
) -> Option<Happening> {
    let (from, to) = (record.verdict.health, record.health());
    if from == to {
        return None;
    }
    let returns = to.is_usable() && !from.is_usable();
    if returns && record.cold {
        record.warming = Some(now);
        record.returned_unseen = !record.is_enabled();
    }
    // Whatever happens from here on is a return.
    record.cold |= to.is_usable();
    let held = record.active.held(now);
    let until = match to {
        Health::Ejected => record.passive.until(),
        _ => held,
    };
    record.verdict = Verdict {
        health: to,
        since: now,
        reason: evidence.clone(),
        until,
    };
    Some(Happening::Endpoint(Transition {
        id: Arc::clone(id),
        from,
        to,
        cause,
        evidence,
        until,
    }))
}
