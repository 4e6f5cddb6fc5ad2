//! The guard that counts a request in flight.

use std::sync::Arc;

use crate::clock::Nanos;
use crate::endpoint::EndpointState;
use crate::pick::receipt::Fallback;
use crate::snapshot::{Snapshot, Terms};

/// How a request ended, as far as the endpoint is concerned.
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
/// lease.finish(Outcome::Failure, Nanos::from_millis(1));
/// assert_eq!(state.failures_in_row(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
/// println!("send it to {}", snapshot.endpoint(lease.index()).address());
/// lease.finish(Outcome::Success, Nanos::from_millis(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// The requests in flight with it when it began.
    load: u32,
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
            // Its cache line was written to just before: that is less than to ask who wants it.
            load: state.in_flight().count(),
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

    /// How long it has been held at `now`.
    #[must_use]
    pub fn age(&self, now: Nanos) -> Nanos {
        now.since(self.started)
    }

    /// The requests in flight at its endpoint when it was chosen, itself among them.
    #[inline]
    #[must_use]
    pub fn load(&self) -> u32 {
        self.load
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
        let took = now.since(self.started);
        observe(
            self.state,
            self.terms,
            Outcome::Success,
            took,
            self.load,
            now,
        );
    }

    /// Reports how the request ended, at `now`: how long it took is the endpoint's latency, and a
    /// failure counts as a slow answer.
    pub fn finish(self, outcome: Outcome, now: Nanos) {
        observe(
            self.state,
            self.terms,
            outcome,
            now.since(self.started),
            self.load,
            now,
        );
        // Dropping it releases the slot.
    }

    /// The same lease with a share of its snapshot instead of a borrow, for hosts that keep requests in
    /// places where the snapshot does not live. The share may be of something that holds the snapshot,
    /// so that the threads of a host count no common share up and down.
    ///
    /// # Panics
    ///
    /// When the lease is not of this snapshot.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use evenkeel_core::{
    ///     Endpoint, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, strategy::registry,
    /// };
    ///
    /// let mut members = Membership::new("web", registry::build("least_request", &[])?);
    /// members.upsert(Endpoint::new("a", "127.0.0.1:9001"));
    /// let snapshot = Arc::new(members.snapshot());
    /// let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
    /// let kept = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?.keep(&snapshot);
    /// std::thread::spawn(move || kept.finish(Outcome::Success, Nanos::from_millis(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep<H: AsRef<Snapshot>>(self, holder: &Arc<H>) -> OwnedLease<H> {
        assert!(
            std::ptr::eq(self.terms, &(**holder).as_ref().terms),
            "a lease is kept with the snapshot it was chosen from"
        );
        let kept = OwnedLease {
            holder: Arc::clone(holder),
            started: self.started,
            index: self.index,
            fallback: self.fallback,
            shard: self.shard,
            load: self.load,
            holds: true,
        };
        // The slot goes over: what is kept releases it.
        std::mem::forget(self);
        kept
    }
}

/// Writes into the record of an endpoint how a request ended there that was one of `load` at its beginning.
pub(crate) fn observe(
    state: &EndpointState,
    terms: &Terms,
    outcome: Outcome,
    took: Nanos,
    load: u32,
    now: Nanos,
) {
    let (in_flight, latency) = (state.in_flight(), state.latency());
    let took = match outcome {
        Outcome::Failure => took.max(terms.failure_latency),
        _ => took,
    };
    if terms.by_load && outcome != Outcome::Cancelled {
        let least = match outcome {
            Outcome::Failure => Nanos(terms.typical_latency.0.saturating_mul(2)),
            _ => Nanos(0),
        };
        state.latency_at_load().observe(took.max(least), load, now);
    }
    match outcome {
        Outcome::Failure => {
            latency.observe_failure(took, terms.typical_latency, now, terms.latency_decay);
            in_flight.burden(now, terms.failure_half_life);
            state.count_failure();
        }
        Outcome::Success => {
            latency.observe(took, now, terms.latency_decay);
            in_flight.tidy(now, terms.failure_half_life);
            state.forget_failures_in_row();
        }
        Outcome::TooMuch => latency.observe(took, now, terms.latency_decay),
        Outcome::Cancelled => {}
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

impl AsRef<Self> for Snapshot {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A [`Lease`] that shares the snapshot it was chosen from: see [`Lease::keep`].
///
/// Like any lease it reports its outcome exactly once, by [`OwnedLease::finish`] or when it is dropped.
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
/// use std::sync::Arc;
/// use evenkeel_core::{Nanos, Outcome, OwnedLease, PickContext};
///
/// let snapshot = Arc::new(snapshot);
/// let kept: OwnedLease = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?.keep(&snapshot);
/// std::thread::spawn(move || kept.finish(Outcome::Success, Nanos::from_millis(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a lease that is dropped at once counts for nothing"]
pub struct OwnedLease<H: AsRef<Snapshot> = Snapshot> {
    holder: Arc<H>,
    started: Nanos,
    index: u32,
    fallback: Option<Fallback>,
    shard: u8,
    load: u32,
    /// The slot is still to be released.
    holds: bool,
}

impl<H: AsRef<Snapshot>> OwnedLease<H> {
    /// What holds the snapshot that the endpoint was chosen from.
    #[must_use]
    pub fn holder(&self) -> &Arc<H> {
        &self.holder
    }

    /// The snapshot that the endpoint was chosen from.
    #[inline]
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        (*self.holder).as_ref()
    }

    /// The record of the chosen endpoint.
    #[inline]
    #[must_use]
    pub fn state(&self) -> &EndpointState {
        self.snapshot().candidates()[self.index as usize].state()
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

    /// Reports how the request ended, as [`Lease::finish`] does.
    pub fn finish(mut self, outcome: Outcome, now: Nanos) {
        self.holds = false;
        self.lend().finish(outcome, now);
    }

    /// The lease that was kept; it releases the slot.
    #[inline]
    fn lend(&self) -> Lease<'_> {
        Lease {
            state: self.state(),
            terms: &self.snapshot().terms,
            started: self.started,
            index: self.index,
            fallback: self.fallback,
            shard: self.shard,
            load: self.load,
        }
    }
}

impl<H: AsRef<Snapshot>> Drop for OwnedLease<H> {
    #[inline]
    fn drop(&mut self) {
        if self.holds {
            drop(self.lend());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{Endpoint, Membership, PickContext, Picker, PickerSeed};

    #[test]
    fn a_lease_knows_when_it_began() {
        let strategy = registry::build("least_request", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        members.upsert(Endpoint::new("a", "127.0.0.1:1"));
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let ctx = PickContext::at(Nanos(7));
        let mut pick = || picker.pick(&snapshot, &ctx).expect("there is one");
        let (lease, other) = (pick(), pick());
        assert_eq!(lease.started(), Nanos(7));
        assert_eq!((lease.load(), other.load()), (1, 2));
    }

    /// However fast it was: twice what is typical, then twice that; and as load.
    #[test]
    fn a_failure_counts_as_a_slow_answer_and_as_load() {
        let strategy = registry::build("peak_ewma", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        members.upsert(Endpoint::new("a", "127.0.0.1:1"));
        let snapshot = members.snapshot();
        let typical = snapshot.typical_latency();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        for times in [2, 4] {
            let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)));
            let lease = lease.expect("there is one");
            lease.finish(Outcome::Failure, Nanos::from_millis(1));
            let state = snapshot.candidates()[0].state();
            let latency = state.latency().last().expect("it is known");
            let off = latency.0 as f64 / (typical.0 * times) as f64 - 1.0;
            assert!(off.abs() < 0.01, "{latency:?} of {typical:?}");
            let load = state
                .in_flight()
                .load(Nanos::from_millis(1), snapshot.failure_half_life());
            let failures = f64::from(load.penalty) / 256.0;
            assert!((failures - times as f64 / 2.0).abs() < 0.05, "{failures}");
        }
    }

    /// What an answer takes at a load is kept for strategies that go by it, and only of answers.
    #[test]
    fn what_was_given_up_says_nothing_of_latency() {
        for (name, outcome, known) in [
            ("prequal", Outcome::Success, true),
            ("prequal", Outcome::Cancelled, false),
            ("least_request", Outcome::Success, false),
        ] {
            let strategy = registry::build(name, &[]).expect("registered");
            let mut members = Membership::new("web", strategy);
            members.upsert(Endpoint::new("a", "127.0.0.1:1"));
            let snapshot = members.snapshot();
            let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
            let now = Nanos::from_millis(5);
            for _ in 0..63 {
                let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)));
                lease.expect("there is one").finish(outcome, now);
            }
            let state = snapshot.candidates()[0].state();
            let estimate = state.latency_at_load().estimate(1, now);
            assert_eq!(estimate.is_some(), known, "{name} {outcome:?}");
            let latency = state.latency().last().is_some();
            assert_eq!(latency, outcome == Outcome::Success, "{name} {outcome:?}");
        }
    }

    #[test]
    fn a_kept_lease_releases_its_slot_once_after_its_snapshot_was_replaced() {
        let strategy = registry::build("least_request", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        members.upsert(Endpoint::new("a", "127.0.0.1:9001").with_capacity(2));
        let snapshot = Arc::new(members.snapshot());
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let mut kept = || {
            let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)));
            lease.map(|lease| lease.keep(&snapshot))
        };
        let (first, second) = (kept().expect("a slot"), kept().expect("a slot"));
        assert!(kept().is_err(), "two slots");
        assert_eq!((first.index(), first.fallback()), (0, None));
        drop(members);
        assert_eq!(first.state().in_flight().count(), 2);
        first.finish(Outcome::Success, Nanos::from_millis(5));
        assert_eq!(second.state().in_flight().count(), 1);
        assert_eq!(second.state().latency().last(), Some(Nanos::from_millis(5)));
        drop(second);
        assert_eq!(snapshot.candidates()[0].state().in_flight().count(), 0);
    }
}
