//! What an endpoint is said to be, and the record of what it has been through.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::load::{InFlight, LatencyAtLoad, PeakEwma};
use crate::sync::atomic::{AtomicU32, Ordering};

/// Identifies an [`EndpointState`] for as long as the process lives; never used twice.
///
/// Choices are remembered by serial, never by position: positions move when endpoints come and go.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// let [a, b] = [0, 1].map(|at| snapshot.candidates()[at].serial());
/// assert_ne!(a, b);
/// assert_eq!(members.snapshot().candidates()[0].serial(), a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serial(pub u64);

/// An endpoint as configuration or discovery describes it.
///
/// A clone shares what it says, so lists of many are cheap to copy, and to compare with their copies.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Endpoint;
///
/// let endpoint = Endpoint::new("b", "127.0.0.1:9002").with_weight(2).with_capacity(100);
/// assert_eq!((endpoint.id(), endpoint.weight()), ("b", 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Description", into = "Description")
)]
pub struct Endpoint(Arc<Description>);

/// What is said of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Description {
    id: Arc<str>,
    address: Arc<str>,
    weight: u16,
    zone: Option<Arc<str>>,
    tier: u8,
    labels: BTreeMap<Arc<str>, Arc<str>>,
    capacity: Option<u32>,
    agent: Option<Arc<str>>,
}

impl From<Description> for Endpoint {
    fn from(description: Description) -> Self {
        Self(Arc::new(description))
    }
}

impl From<Endpoint> for Description {
    fn from(endpoint: Endpoint) -> Self {
        Arc::unwrap_or_clone(endpoint.0)
    }
}

impl Endpoint {
    /// An endpoint of weight 1 in tier 0.
    ///
    /// `id` is its identity for as long as it serves: keys, statistics and health follow the id, so
    /// it should outlive a change of `address`. The core does not interpret the address.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>, address: impl Into<Arc<str>>) -> Self {
        Self::from(Description {
            id: id.into(),
            address: address.into(),
            weight: 1,
            zone: None,
            tier: 0,
            labels: BTreeMap::new(),
            capacity: None,
            agent: None,
        })
    }

    fn said(&mut self) -> &mut Description {
        Arc::make_mut(&mut self.0)
    }

    /// Sets the share of traffic relative to the other endpoints; 0 means no new requests.
    #[must_use]
    pub fn with_weight(mut self, weight: u16) -> Self {
        self.said().weight = weight;
        self
    }

    /// Sets the zone the endpoint stands in.
    #[must_use]
    pub fn with_zone(mut self, zone: impl Into<Arc<str>>) -> Self {
        self.said().zone = Some(zone.into());
        self
    }

    /// Sets the tier: 0 is used first, the next ones as it fails.
    #[must_use]
    pub fn with_tier(mut self, tier: u8) -> Self {
        self.said().tier = tier;
        self
    }

    /// Adds a label, replacing an earlier one of the same name.
    #[must_use]
    pub fn with_label(mut self, name: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        self.said().labels.insert(name.into(), value.into());
        self
    }

    /// Sets the most requests the endpoint may have in flight at once, at least 1.
    #[must_use]
    pub fn with_capacity(mut self, requests: u32) -> Self {
        self.said().capacity = Some(requests.max(1));
        self
    }

    /// Sets where the agent is that speaks for the endpoint. The core does not interpret the address.
    #[must_use]
    pub fn with_agent(mut self, address: impl Into<Arc<str>>) -> Self {
        self.said().agent = Some(address.into());
        self
    }

    /// The stable identity.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The identity as a shared string.
    #[must_use]
    pub fn shared_id(&self) -> Arc<str> {
        Arc::clone(&self.0.id)
    }

    /// Where the host reaches it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// Where the host reaches it, as a shared string.
    #[must_use]
    pub fn shared_address(&self) -> Arc<str> {
        Arc::clone(&self.0.address)
    }

    /// The configured weight, 0..=65535.
    #[must_use]
    pub fn weight(&self) -> u16 {
        self.0.weight
    }

    /// The zone, if any.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.0.zone.as_deref()
    }

    /// The tier, 0 first.
    #[must_use]
    pub fn tier(&self) -> u8 {
        self.0.tier
    }

    /// The labels, by name.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<Arc<str>, Arc<str>> {
        &self.0.labels
    }

    /// The most requests in flight at once; none is no limit.
    #[must_use]
    pub fn capacity(&self) -> Option<u32> {
        self.0.capacity
    }

    /// Where the agent is that speaks for the endpoint, if it has one.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.0.agent.as_deref()
    }
}

/// What an operator, or the agent beside it, wants of an endpoint; from the strictest: of two wishes the
/// lesser one counts.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Admin;
///
/// assert_eq!(Admin::Draining.as_str(), "draining");
/// assert_eq!(Admin::Enabled.min(Admin::Draining), Admin::Draining);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Admin {
    /// Takes no requests at all; those in flight finish.
    Disabled,
    /// Takes no new requests; those in flight finish.
    Draining,
    /// Takes requests.
    #[default]
    Enabled,
}

impl Admin {
    /// The word for it in the API and in configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Draining => "draining",
            Self::Enabled => "enabled",
        }
    }
}

/// The record of an endpoint that outlives every snapshot, reload, weight and strategy.
///
/// What all pickers must see at once lives here, on cache lines that no other endpoint shares:
/// whoever chooses among others never waits for this one.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// # let mut picker = evenkeel_core::Picker::new(evenkeel_core::PickerSeed { root: 7, picker: 0 });
/// use evenkeel_core::{Nanos, Outcome, PickContext};
///
/// let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?;
/// let state = lease.state();
/// assert_eq!(state.in_flight().count(), 1);
/// lease.finish(Outcome::Success, Nanos::from_millis(5));
/// assert_eq!(state.latency().last(), Some(Nanos::from_millis(5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[repr(C, align(128))]
pub struct EndpointState {
    /// On one line with all that the end of a request writes: that line has to come for the count anyway.
    in_flight: InFlight,
    latency: PeakEwma,
    /// Failures since the last success.
    failures_in_row: AtomicU32,
    serial: Serial,
    /// On a line of its own, written under a strategy that goes by it.
    at_load: Apart<LatencyAtLoad>,
}

/// Begins a pair of cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

impl EndpointState {
    pub(crate) fn new(serial: Serial) -> Self {
        Self {
            in_flight: InFlight::default(),
            latency: PeakEwma::default(),
            failures_in_row: AtomicU32::new(0),
            serial,
            at_load: Apart::default(),
        }
    }

    /// The identity of this record.
    #[must_use]
    pub fn serial(&self) -> Serial {
        self.serial
    }

    /// The requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    /// How long it takes to answer.
    #[inline]
    #[must_use]
    pub fn latency(&self) -> &PeakEwma {
        &self.latency
    }

    /// How long it takes to answer at which load, under a strategy that goes by it.
    #[inline]
    #[must_use]
    pub fn latency_at_load(&self) -> &LatencyAtLoad {
        &self.at_load.0
    }

    /// Failures since the last success.
    #[must_use]
    pub fn failures_in_row(&self) -> u32 {
        self.failures_in_row.load(Ordering::Relaxed)
    }

    pub(crate) fn count_failure(&self) {
        self.failures_in_row.fetch_add(1, Ordering::Relaxed);
    }

    /// Written only when there is something to forget, so that successes of many workers share the line.
    #[inline]
    pub(crate) fn forget_failures_in_row(&self) {
        if self.failures_in_row() != 0 {
            self.failures_in_row.store(0, Ordering::Relaxed);
        }
    }

    /// How long its answers took and how they ended lately, to be carried into another process whose clock
    /// goes on as this one's.
    #[must_use]
    pub fn remember(&self) -> EndpointMemory {
        EndpointMemory {
            latency: self.latency.word(),
            at_load: self.at_load.0.words().to_vec(),
            failures_in_row: self.failures_in_row(),
        }
    }

    /// Goes on with what was remembered. What is in flight is that of this process.
    pub fn recall(&self, memory: &EndpointMemory) {
        self.latency.set_word(memory.latency);
        self.at_load.0.set_words(&memory.at_load);
        self.failures_in_row
            .store(memory.failures_in_row, Ordering::Relaxed);
    }

    /// Forgets what is known of the endpoint but not what it is doing: it came back as another one.
    pub(crate) fn start_anew(&self) {
        self.in_flight.forgive();
        self.latency.forget();
        self.at_load.0.forget();
        self.forget_failures_in_row();
    }
}

/// How long an endpoint's answers took and how they ended, to be carried into another process.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// let [old, new] = [0, 1].map(|at| snapshot.candidates()[at].state());
/// let memory = old.remember();
/// new.recall(&memory);
/// assert_eq!(new.remember(), memory);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EndpointMemory {
    latency: u64,
    at_load: Vec<u64>,
    failures_in_row: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Nanos;

    /// Who comes back as another one is not blamed for what was before, and keeps what is in flight.
    #[test]
    fn a_new_beginning_forgets_all_but_what_is_in_flight() {
        let (now, span) = (Nanos::from_secs(1), Nanos::from_secs(10));
        let state = EndpointState::new(Serial(1));
        assert!(state.in_flight().acquire(3));
        state.in_flight().burden(now, span);
        state.latency().observe(span, now, span);
        state.count_failure();
        for _ in 0..63 {
            state.latency_at_load().observe(span, 1, now);
        }
        state.start_anew();
        let load = state.in_flight().load(now, span);
        assert_eq!((load.in_flight, load.penalty), (1, 0));
        assert_eq!((state.latency().last(), state.failures_in_row()), (None, 0));
        assert_eq!(state.latency_at_load().estimate(1, now), None);
    }

    #[test]
    fn what_was_remembered_is_as_it_was() {
        let (now, span) = (Nanos::from_secs(7), Nanos::from_secs(10));
        let old = EndpointState::new(Serial(1));
        old.latency().observe(Nanos::from_millis(30), now, span);
        (0..3).for_each(|_| old.count_failure());
        for _ in 0..63 {
            old.latency_at_load().observe(span, 1, now);
        }
        assert!(old.in_flight().acquire(3));
        let new = EndpointState::new(Serial(2));
        new.recall(&old.remember());
        assert_eq!(new.latency().at(now, span), old.latency().at(now, span));
        assert_eq!(new.failures_in_row(), 3);
        let estimate = new.latency_at_load().estimate(1, now);
        assert!(estimate.is_some());
        assert_eq!(estimate, old.latency_at_load().estimate(1, now));
        assert_eq!(new.in_flight().count(), 0);
        assert_eq!(new.remember(), old.remember());
    }

    #[test]
    fn two_states_share_no_cache_line() {
        assert_eq!(align_of::<EndpointState>(), 128);
        assert_eq!(size_of::<EndpointState>(), 256);
    }
}
