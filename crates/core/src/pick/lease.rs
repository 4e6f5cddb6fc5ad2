//! The guard that counts a request in flight.

use crate::clock::Nanos;
use crate::endpoint::EndpointState;
use crate::pick::receipt::Fallback;
use crate::snapshot::Terms;

/// How a request ended, as far as the endpoint is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The caller went away or changed its mind: nobody is to blame.
    Cancelled,
    /// The endpoint failed: no connection, a broken answer, or an error of its own.
    Failure,
    /// The endpoint answered.
    Success,
    /// The endpoint answered that this was too much for it: no failure in a row, and the end of none.
    TooMuch,
}

/// A request in flight at the endpoint that was chosen for it.
///
/// It counts from the moment of the choice and reports its outcome exactly once: by
/// [`Lease::finish`], or, when it is dropped, as [`Outcome::Cancelled`].
#[derive(Debug)]
#[must_use = "a lease that is dropped at once counts for nothing"]
pub struct Lease<'s> {
    state: &'s EndpointState,
    terms: &'s Terms,
    started: Nanos,
    index: u32,
    fallback: Option<Fallback>,
    /// Which part of the cluster's count it is in, if anyone asks for that.
    shard: u8,
}

impl<'s> Lease<'s> {
    /// Wraps a slot that has been acquired.
    #[inline]
    pub(crate) fn held(
        state: &'s EndpointState,
        terms: &'s Terms,
        started: Nanos,
        index: u32,
        fallback: Option<Fallback>,
        picker: u32,
    ) -> Self {
        let shard = picker as u8;
        if let Some(total) = &terms.in_flight {
            total.begin(shard);
        }
        Self {
            state,
            terms,
            started,
            index,
            fallback,
            shard,
        }
    }

    /// The record of the chosen endpoint.
    #[must_use]
    pub fn state(&self) -> &'s EndpointState {
        self.state
    }

    /// The place of the chosen endpoint in the snapshot that it was chosen from, and only there.
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// When the endpoint was chosen.
    #[must_use]
    pub fn started(&self) -> Nanos {
        self.started
    }

    /// Why the strategy's own proposal was not taken, if it was not.
    #[must_use]
    pub fn fallback(&self) -> Option<Fallback> {
        self.fallback
    }

    /// Reports that the endpoint answered at `now`, and goes on to hold the slot: the request has become a
    /// connection, and how long that lasts says nothing of how quick the endpoint is. To be dropped
    /// then, not finished.
    pub fn answered(&self, now: Nanos) {
        let (terms, took) = (self.terms, now.since(self.started));
        self.state.latency().observe(took, now, terms.latency_decay);
        self.state.in_flight().tidy(now, terms.failure_half_life);
        self.state.forget_failures_in_row();
    }

    /// Reports how the request ended, at `now`: how long it took is the endpoint's latency, and a
    /// failure counts as a slow answer.
    pub fn finish(self, outcome: Outcome, now: Nanos) {
        let (terms, took) = (self.terms, now.since(self.started));
        let (in_flight, latency) = (self.state.in_flight(), self.state.latency());
        match outcome {
            Outcome::Failure => {
                let took = took.max(terms.failure_latency);
                latency.observe_failure(took, terms.typical_latency, now, terms.latency_decay);
                in_flight.burden(now, terms.failure_half_life);
                self.state.count_failure();
            }
            Outcome::Success => self.answered(now),
            Outcome::TooMuch => latency.observe(took, now, terms.latency_decay),
            Outcome::Cancelled => {}
        }
        // Dropping it releases the slot.
    }
}

impl Drop for Lease<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(total) = &self.terms.in_flight {
            total.end(self.shard);
        }
        match &self.terms.room {
            None => self.state.in_flight().release(),
            Some(room) => room.release(self.state),
        }
    }
}
