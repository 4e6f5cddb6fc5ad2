//! What is told of an endpoint.

use std::sync::Arc;
use std::time::SystemTime;

use evenkeel_core::health::{Cause, Health};
use evenkeel_core::{Admin, AgentWish, Endpoint, Levels, Standing};

use super::counters::{EndpointCounters, Totals};
use super::record::Cluster;
use super::state::State;
use super::totals::Counters;
use super::view::View;

/// What is to be told of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointReport {
    /// The endpoint as configured.
    pub endpoint: Arc<Endpoint>,
    /// What an operator wants of it.
    pub admin: Admin,
    /// What the agent beside it wants.
    pub wish: AgentWish,
    /// Whether it takes part in decisions.
    pub standing: Standing,
    /// So few of its tier are healthy that all of them are used, and this one takes requests for no other reason.
    pub used_in_panic: bool,
    /// The weight in force, in 1/256 of a configured unit.
    pub effective_weight: u32,
    /// The share of the requests that it is due by that weight and the share of its tier and zone, from 0 to 1.
    pub due: f64,
    /// How it is, as far as checks and its requests tell.
    pub health: Health,
    /// Why, and what will end it, in words; empty when there is nothing to say.
    pub reason: String,
    /// When that ends by itself, if it does.
    pub until: Option<SystemTime>,
    /// The share of its weight that it has while it warms up, in 1/256.
    pub warmth: Option<u16>,
    /// Since when it stands so.
    pub since: SystemTime,
    /// How often it became what, in the order of [`Health::ALL`].
    pub transitions: [u64; Health::ALL.len()],
    /// How often it was ejected, in the order of [`Cause::OF_EJECTIONS`].
    pub ejections: [u64; Cause::OF_EJECTIONS.len()],
    /// Requests in flight.
    pub in_flight: u32,
    /// The most that there may be.
    pub capacity: Option<u32>,
    /// It is left alone while others are less busy, or takes no request at all for the moment.
    pub saturated: bool,
    /// From where on it is left alone, and up to where; none: only at its capacity.
    pub levels: Option<Levels>,
    /// What was counted of it.
    pub totals: Totals,
}

impl Cluster {
    /// Reports every endpoint, in id order.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointReport> {
        let state = self.state();
        let view = self.published().load();
        let counters = self.counters();
        let due = view.snapshot.due().into_iter().enumerate();
        due.map(|(index, due)| report(&state, &view, &counters, index, due))
            .collect()
    }

    /// Reports the endpoint of that id.
    #[must_use]
    pub fn endpoint(&self, id: &str) -> Option<EndpointReport> {
        let state = self.state();
        let view = self.published().load();
        let index = view
            .snapshot
            .endpoints()
            .binary_search_by(|endpoint| endpoint.id().cmp(id))
            .ok()?;
        let due = view.snapshot.due()[index];
        Some(report(&state, &view, &self.counters(), index, due))
    }
}

fn report(
    state: &State,
    view: &View,
    counters: &Counters,
    index: usize,
    due: f64,
) -> EndpointReport {
    let endpoint = Arc::clone(&view.snapshot.endpoints()[index]);
    let candidate = &view.snapshot.candidates()[index];
    let sets = counters.endpoints.get(endpoint.id());
    let standing = view.snapshot.standing(index);
    let told = state.health.tell(endpoint.id());
    let used_in_panic = standing != Standing::Ready && is_used_in_panic(view, index);
    EndpointReport {
        admin: state
            .membership
            .get(endpoint.id())
            .map_or(Admin::Enabled, |(_, admin)| admin),
        wish: state.membership.agent_wish(endpoint.id()),
        standing,
        used_in_panic,
        effective_weight: if standing == Standing::Ready || used_in_panic {
            candidate.weight()
        } else {
            0
        },
        due,
        since: state
            .since
            .get(endpoint.id())
            .map_or(SystemTime::UNIX_EPOCH, |(.., since)| *since),
        health: told.health,
        reason: told.reason,
        until: told.until,
        warmth: told.warmth,
        transitions: told.transitions,
        ejections: told.ejections,
        in_flight: candidate.state().in_flight().count(),
        capacity: view.snapshot.capacity(index),
        saturated: view.snapshot.is_saturated(index),
        levels: view.snapshot.levels(index),
        totals: EndpointCounters::sum(sets.iter().flat_map(|sets| sets.iter())),
        endpoint,
    }
}

fn is_used_in_panic(view: &View, index: usize) -> bool {
    let place = |eligible: &u32| *eligible as usize == index;
    let mut groups = view.snapshot.groups().iter();
    groups.any(|group| group.is_in_panic() && group.eligible().iter().any(place))
}
