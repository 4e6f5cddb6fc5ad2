//! The writer's side of a cluster.

mod keys;
mod member;

pub use keys::{KeyPolicy, MissingKey};
pub(crate) use member::Member;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::ascending::{Ascending, follow_list};
use crate::assembly::{assemble, median};
use crate::clock::Nanos;
use crate::endpoint::{Admin, Endpoint, EndpointState, Serial};
use crate::gate::{WaitingRoom, Watermarks};
use crate::health::Condition;
use crate::health::panic::PanicThreshold;
use crate::load::{InFlight, Total};
use crate::report::AgentWish;
use crate::snapshot::Snapshot;
use crate::strategy::Strategy;
use crate::tier::labels::LabelSelector;
use crate::tier::subset::Subset;

/// An endpoint listed twice.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::DuplicateId;
///
/// let twice = vec![Endpoint::new("a", "10.0.0.1:80"), Endpoint::new("a", "10.0.0.2:80")];
/// assert_eq!(members.replace(twice), Err(DuplicateId("a".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("endpoint id {0:?} is listed twice")]
pub struct DuplicateId(pub Arc<str>);

/// There is no endpoint of that id.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::UnknownEndpoint;
///
/// assert_eq!(members.remove("c"), Err(UnknownEndpoint("c".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no endpoint {0:?}")]
pub struct UnknownEndpoint(pub Arc<str>);

/// What a configured weight of 1 is in effective weights, which count 1/256 of it. Also the factor of an
/// endpoint that has warmed up.
pub const FULL_WEIGHT: u16 = 256;

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

/// The endpoints of one cluster and its policies, as one writer changes them.
///
/// Changes gather until [`Membership::snapshot`] turns them into one new generation. The records of
/// endpoints that stay are the same ones in every generation.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Admin, Endpoint, Membership, strategy::registry};
///
/// let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// assert!(members.upsert(Endpoint::new("a", "10.0.0.1:80")));
/// let before = members.snapshot();
/// members.set_admin("a", Admin::Draining)?;
/// let after = members.snapshot();
/// assert!(after.generation() > before.generation());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Membership {
    pub(crate) cluster: Arc<str>,
    pub(crate) strategy: Arc<dyn Strategy>,
    pub(crate) panic: PanicThreshold,
    pub(crate) keys: KeyPolicy,
    pub(crate) zone: Option<Arc<str>>,
    pub(crate) subset: Option<Subset>,
    pub(crate) views: Vec<LabelSelector>,
    pub(crate) watermarks: Option<Watermarks>,
    pub(crate) room: Option<Arc<WaitingRoom>>,
    /// The cap of endpoints of which none is configured nor learned yet.
    pub(crate) cap: Option<u32>,
    pub(crate) failure_latency: Nanos,
    pub(crate) members: BTreeMap<Arc<str>, Member>,
    /// Records of removed endpoints that may still have requests in flight.
    departed: BTreeMap<Arc<str>, Weak<EndpointState>>,
    pub(crate) generation: u64,
    /// All requests in flight, while a bound needs them.
    pub(crate) in_flight: Option<Arc<Total>>,
    /// The median latency of a snapshot that is built again from its record.
    pub(crate) recorded_median: Option<Nanos>,
}

impl Membership {
    /// A cluster without endpoints.
    #[must_use]
    pub fn new(cluster: impl Into<Arc<str>>, strategy: Arc<dyn Strategy>) -> Self {
        Self {
            cluster: cluster.into(),
            strategy,
            panic: PanicThreshold::default(),
            keys: KeyPolicy::default(),
            zone: None,
            subset: None,
            views: Vec::new(),
            watermarks: None,
            room: None,
            cap: None,
            failure_latency: Nanos(0),
            members: BTreeMap::new(),
            departed: BTreeMap::new(),
            generation: 0,
            in_flight: None,
            recorded_median: None,
        }
    }

    /// Sets below which share of healthy endpoints all are used.
    pub fn set_panic(&mut self, panic: PanicThreshold) {
        self.panic = panic;
    }

    /// Sets how keys are handled, for strategies that choose by key.
    pub fn set_key_policy(&mut self, keys: KeyPolicy) {
        self.keys = keys;
    }

    /// Sets in which zone the caller is: traffic stays there as far as its endpoints suffice. None:
    /// zones play no part.
    pub fn set_zone(&mut self, zone: Option<Arc<str>>) {
        self.zone = zone;
    }

    /// Leaves a few endpoints of each tier to this caller; none: all.
    pub fn set_subset(&mut self, subset: Option<Subset>) {
        self.subset = subset;
    }

    /// Sets the views: what [`crate::PickContext::view`] chooses from, counted from 1.
    pub fn set_views(&mut self, views: Vec<LabelSelector>) {
        self.views = views;
    }

    /// Sets from which share of its cap on an endpoint is left alone while others are less busy; none:
    /// only at its cap.
    pub fn set_watermarks(&mut self, marks: Option<Watermarks>) {
        self.watermarks = marks;
    }

    /// Sets the cap of endpoints that have none of their own and of which none has been learned: the first
    /// one, where caps are learned; none: they have none, and what was learned is forgotten.
    pub fn set_first_cap(&mut self, cap: Option<u32>) {
        self.cap = cap;
        if cap.is_none() {
            for member in self.members.values_mut() {
                member.learned = None;
            }
        }
    }

    /// Sets the cap that was learned of an endpoint; one of its own goes before it.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_learned_cap(&mut self, id: &str, cap: u32) -> Result<(), UnknownEndpoint> {
        self.member(id)?.learned = Some(cap.max(1));
        Ok(())
    }

    /// The most requests in flight at an endpoint.
    pub(crate) fn cap_of(&self, member: &Member) -> u32 {
        let own = member.endpoint.capacity();
        let cap = own.or(member.learned).or(self.cap);
        let cap = cap.unwrap_or(InFlight::UNLIMITED);
        cap.min(member.wish.most.unwrap_or(InFlight::UNLIMITED))
    }

    /// Sets where requests wait when all endpoints are full; none: nobody waits. Whoever publishes a
    /// snapshot opens the room by its [`crate::Doors`].
    pub fn set_waiting_room(&mut self, room: Option<Arc<WaitingRoom>>) {
        self.room = room;
    }

    /// Sets how long a failure is taken to have lasted at least: the time after which the host gives
    /// up, so that failing fast never looks fast.
    pub fn set_failure_latency(&mut self, latency: Nanos) {
        self.failure_latency = latency;
    }

    /// Replaces the strategy; places in schedules carry over.
    pub fn set_strategy(&mut self, strategy: Arc<dyn Strategy>) {
        self.strategy = strategy;
    }

    /// Adds an endpoint, or changes the one of that id, and says whether it is new.
    ///
    /// The record stays. A new address under an old id is a return: requests in flight still count,
    /// what else is known of the endpoint starts anew.
    pub fn upsert(&mut self, endpoint: Endpoint) -> bool {
        let id = endpoint.shared_id();
        if let Some(member) = self.members.get_mut(&id) {
            member.describe(endpoint);
            return false;
        }
        let state = self
            .departed
            .remove(&id)
            .and_then(|state| state.upgrade())
            .unwrap_or_else(|| {
                let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
                Arc::new(EndpointState::new(Serial(serial)))
            });
        state.start_anew();
        let member = Member {
            endpoint: Arc::new(endpoint),
            admin: Admin::Enabled,
            condition: Condition::Usable,
            factor: FULL_WEIGHT,
            warmth: FULL_WEIGHT,
            state,
            learned: None,
            wish: AgentWish::default(),
        };
        self.members.insert(id, member);
        true
    }

    /// Removes an endpoint; its requests in flight finish.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub fn remove(&mut self, id: &str) -> Result<(), UnknownEndpoint> {
        let (id, member) = self
            .members
            .remove_entry(id)
            .ok_or_else(|| UnknownEndpoint(id.into()))?;
        self.departed.insert(id, Arc::downgrade(&member.state));
        Ok(())
    }

    /// Makes `list` the whole membership: the path that discovery takes. O(n) for a list in the order of its ids.
    ///
    /// # Errors
    ///
    /// When an id is listed twice; then nothing changes.
    pub fn replace(&mut self, mut list: Vec<Endpoint>) -> Result<(), DuplicateId> {
        list.sort_by(|one, other| one.id().cmp(other.id()));
        if let Some(pair) = list.windows(2).find(|pair| pair[0].id() == pair[1].id()) {
            return Err(DuplicateId(pair[0].shared_id()));
        }
        let stays = |_: &Arc<str>, member: &mut Member, endpoint| member.describe(endpoint);
        let (new, gone) = follow_list(&mut self.members, list, Endpoint::id, stays);
        for (id, member) in gone {
            self.departed.insert(id, Arc::downgrade(&member.state));
        }
        for endpoint in new {
            self.upsert(endpoint);
        }
        Ok(())
    }

    /// Sets a configured weight; 0 means no new requests.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_weight(&mut self, id: &str, weight: u16) -> Result<(), UnknownEndpoint> {
        let member = self.member(id)?;
        member.endpoint = Arc::new(Endpoint::clone(&member.endpoint).with_weight(weight));
        Ok(())
    }

    /// Sets what an operator wants of an endpoint.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_admin(&mut self, id: &str, admin: Admin) -> Result<(), UnknownEndpoint> {
        self.member(id)?.admin = admin;
        Ok(())
    }

    /// Sets what the agent beside an endpoint wants of it; what an operator wants counts beside it, and the
    /// stricter of both holds. It is forgotten with the agent, and with another address of the endpoint.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_agent_wish(&mut self, id: &str, wish: AgentWish) -> Result<(), UnknownEndpoint> {
        self.member(id)?.wish = wish;
        Ok(())
    }

    /// What the agent beside an endpoint wants of it.
    #[must_use]
    pub fn agent_wish(&self, id: &str) -> AgentWish {
        let member = self.members.get(id);
        member.map_or_else(AgentWish::default, |member| member.wish)
    }

    /// Sets whether an endpoint passes its checks.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_healthy(&mut self, id: &str, healthy: bool) -> Result<(), UnknownEndpoint> {
        self.member(id)?.condition = if healthy {
            Condition::Usable
        } else {
            Condition::Unhealthy
        };
        Ok(())
    }

    /// Sets the condition of an endpoint and how far it has warmed up, in 1/256, and says whether either
    /// is another one. One that returns begins without failures in a row.
    pub(crate) fn set_condition(&mut self, id: &str, condition: Condition, warmth: u16) -> bool {
        let member = self.members.get_mut(id);
        member.is_some_and(|member| member.set_condition(condition, warmth))
    }

    /// Likewise of many, in the order of their ids.
    pub(crate) fn set_conditions<'c>(
        &mut self,
        conditions: impl Iterator<Item = (&'c str, Condition, u16)>,
    ) -> bool {
        let mut changed = false;
        let mut members = Ascending::new(&mut self.members);
        for (id, condition, warmth) in conditions {
            if let Some(member) = members.take(id) {
                changed |= member.set_condition(condition, warmth);
            }
        }
        changed
    }

    /// The endpoints in id order, each with the identity of its record.
    pub fn records(&self) -> impl Iterator<Item = (&Arc<Endpoint>, Serial)> {
        self.members
            .values()
            .map(|member| (&member.endpoint, member.state.serial()))
    }

    /// Whether weights may follow what endpoints say, under the present strategy: one that chooses by weight
    /// and not by key, since keys would go to and fro.
    #[must_use]
    pub fn follows_weights(&self) -> bool {
        let traits = self.strategy.descriptor().traits;
        traits.weighted && !traits.keyed
    }

    /// Scales an endpoint's weight, in 1/256: 256 is its configured weight. Warm-up scales it further.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_factor(&mut self, id: &str, factor: u16) -> Result<(), UnknownEndpoint> {
        self.member(id)?.factor = factor;
        Ok(())
    }

    /// Sets what a strategy for weights makes of all weights, by the records of their endpoints, as
    /// [`Membership::set_factor`] does it.
    pub fn set_factors(&mut self, factor: impl Fn(Serial) -> u16) {
        for member in self.members.values_mut() {
            member.factor = factor(member.state.serial());
        }
    }

    fn member(&mut self, id: &str) -> Result<&mut Member, UnknownEndpoint> {
        self.members
            .get_mut(id)
            .ok_or_else(|| UnknownEndpoint(id.into()))
    }

    /// The endpoints in id order with what an operator wants of them.
    pub fn endpoints(&self) -> impl Iterator<Item = (&Arc<Endpoint>, Admin)> {
        self.members
            .values()
            .map(|member| (&member.endpoint, member.admin))
    }

    /// The endpoint of that id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<(&Arc<Endpoint>, Admin)> {
        let member = self.members.get(id)?;
        Some((&member.endpoint, member.admin))
    }

    /// The median of the latencies that are known of the endpoints, as they were last changed; none as
    /// long as nobody has answered. O(n).
    ///
    /// A snapshot carries the one of when it was built: see [`Snapshot::typical_latency`]. A host
    /// whose endpoints stay the same builds another one now and then, when this has moved.
    #[must_use]
    pub fn median_latency(&self) -> Option<Nanos> {
        let members = self.members.values();
        median(members.filter_map(|member| member.state.latency().last()))
    }

    /// Goes on counting generations from this one, if fewer were built: the process before this one built
    /// those, or a cluster of this name that was removed.
    pub fn continue_from(&mut self, generation: u64) {
        self.generation = self.generation.max(generation);
    }

    /// Builds the next generation. O(n log n) and the cost of the strategy's table; never on the
    /// path of a request.
    pub fn snapshot(&mut self) -> Snapshot {
        self.generation += 1;
        self.departed.retain(|_, state| state.strong_count() > 0);
        assemble(self)
    }
}

#[cfg(test)]
mod tests;
