//! An endpoint as a decision sees it.

use std::sync::Arc;

use crate::clock::Nanos;
use crate::endpoint::{EndpointState, Serial};
use crate::gate::{Levels, Upto};
use crate::load::Load;
use crate::pick::receipt::Refusal;

/// What a decision reads of an endpoint: small, and side by side with the others.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// let first = &snapshot.candidates()[0];
/// assert!(first.is_open());
/// assert_eq!(first.weight(), 256);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Candidate {
    state: Arc<EndpointState>,
    /// In 1/256 of a configured unit; 0 takes nothing.
    weight: u32,
    /// Requests in flight; 0 while the endpoint may not be chosen.
    cap: u32,
}

impl Candidate {
    pub(crate) fn new(state: Arc<EndpointState>, weight: u32, cap: u32) -> Self {
        Self { state, weight, cap }
    }

    /// The effective weight in 1/256 of a configured unit.
    #[inline]
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// The record of the endpoint.
    #[inline]
    #[must_use]
    pub fn state(&self) -> &EndpointState {
        &self.state
    }

    /// The most requests in flight; 0 while the endpoint may not be chosen.
    #[inline]
    pub(crate) fn cap(&self) -> u32 {
        self.cap
    }

    pub(crate) fn shared_state(&self) -> Arc<EndpointState> {
        Arc::clone(&self.state)
    }

    /// The identity of the record.
    #[must_use]
    pub fn serial(&self) -> Serial {
        self.state.serial()
    }

    /// Whether the endpoint may be chosen at all.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.cap > 0
    }

    #[inline]
    pub(crate) fn load(&self, now: Nanos, half_life: Nanos) -> Load {
        self.state.in_flight().load(now, half_life)
    }

    #[inline]
    pub(crate) fn latency(&self, now: Nanos, decay: Nanos) -> Option<Nanos> {
        self.state.latency().at(now, decay)
    }

    pub(crate) fn ended_if_full(&self) -> Option<u32> {
        self.state.in_flight().ended_if_full(self.cap)
    }

    pub(crate) fn would_refuse(&self, levels: Option<Levels>, upto: Upto) -> Option<Refusal> {
        if !self.is_open() {
            return Some(Refusal::NotInService);
        }
        let in_flight = self.state.in_flight();
        match (levels, upto) {
            (Some(levels), Upto::Stop) => in_flight.is_held(levels).then_some(Refusal::Saturated),
            _ => (in_flight.count() >= self.cap).then_some(Refusal::Full),
        }
    }

    #[inline]
    pub(crate) fn acquire(&self) -> Option<Refusal> {
        if self.state.in_flight().acquire(self.cap) {
            None
        } else if self.is_open() {
            Some(Refusal::Full)
        } else {
            Some(Refusal::NotInService)
        }
    }

    #[cold]
    pub(crate) fn acquire_within(&self, levels: Levels, upto: Upto) -> Option<Refusal> {
        if !self.is_open() {
            return Some(Refusal::NotInService);
        }
        let taken = self.state.in_flight().acquire_within(levels, upto);
        (!taken).then_some(Refusal::of(upto))
    }
}
