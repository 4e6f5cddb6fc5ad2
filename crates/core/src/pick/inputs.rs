//! What a strategy may read while it decides: each shared value once, and on the record.

use crate::candidate::Candidate;
use crate::clock::Nanos;
use crate::endpoint::Serial;
use crate::gate::Upto;
use crate::load::{Cost, Load};
use crate::membership::MissingKey;
use crate::pick::context::{Attempts, PickContext};
use crate::pick::receipt::{Compared, Fallback, Refusal};
use crate::pick::scratch::{SCORES_MAX, Scratch};
use crate::pick::tape::Tape;
use crate::rng::scale;
use crate::snapshot::Snapshot;
use crate::strategy::{Cursor, Report};

/// The changing inputs of one decision.
///
/// A strategy draws random numbers and reads loads only through this, so that a traced decision
/// records all of them and a derivation can hand them out again.
///
/// A few words, since a pick writes them to memory before it calls a strategy, and the atomic count
/// of its lease waits until they are written; all that is larger is the picker's, and stays.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::Inputs;
///
/// /// The one that has less to do for its weight.
/// fn lighter(one: u32, other: u32, inputs: &mut Inputs<'_>) -> u32 {
///     let (load, other_load) = (inputs.load(one), inputs.load(other));
///     match other_load.is_lighter(inputs.weight(other), load, inputs.weight(one)) {
///         true => other,
///         false => one,
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Inputs<'a> {
    snapshot: &'a Snapshot,
    scratch: &'a mut Scratch,
    tape: Option<&'a mut Tape<'a>>,
    now: Nanos,
    key: Option<u64>,
    fallback: Option<Fallback>,
}

impl<'a> Inputs<'a> {
    #[inline]
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        ctx: &PickContext,
        scratch: &'a mut Scratch,
        tape: Option<&'a mut Tape<'a>>,
    ) -> Self {
        scratch.refusals.clear();
        Self {
            snapshot,
            scratch,
            tape,
            now: ctx.now,
            key: ctx.key,
            fallback: None,
        }
    }

    /// The time of the decision; zero in a derivation.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The hash of the request's key, if it has one.
    #[must_use]
    pub fn key(&self) -> Option<u64> {
        self.key
    }

    /// The hash of the request's key, or a random one if it has none; nothing when requests without
    /// a key are to fail.
    #[inline]
    pub(crate) fn key_or_draw(&mut self) -> Option<u64> {
        if self.key.is_some() {
            return self.key;
        }
        match self.snapshot.missing_key {
            MissingKey::Error => None,
            MissingKey::Random => Some(self.bits()),
        }
    }

    /// Whether the request fails since it has no key.
    pub(crate) fn lacks_key(&self) -> bool {
        let keyed = self.snapshot.strategy.descriptor().traits.keyed;
        keyed && self.key.is_none() && self.snapshot.missing_key == MissingKey::Error
    }

    /// A key to draw a group by, if the strategy chooses by key: it must not change tiers from request
    /// to request.
    pub(crate) fn key_of_group(&self) -> Option<u64> {
        self.key
            .filter(|_| self.snapshot.strategy.descriptor().traits.keyed)
    }

    /// All requests in flight in the cluster, read once for a decision.
    #[cold]
    pub(crate) fn total_in_flight(&mut self) -> u64 {
        let total = self.snapshot.terms.in_flight.as_ref();
        let read = || total.map_or(0, |total| total.sum());
        match &mut self.tape {
            None => read(),
            Some(tape) => tape.total(read),
        }
    }

    /// Says that the strategy chose otherwise than it usually does.
    #[inline]
    pub(crate) fn note_fallback(&mut self, fallback: Fallback) {
        self.fallback = Some(fallback);
    }

    /// Why the strategy chose otherwise than usual, if it did.
    #[inline]
    pub(crate) fn fallback(&self) -> Option<Fallback> {
        self.fallback
    }

    /// The effective weight of an endpoint in 1/256, at least 1 while it may be chosen.
    #[inline]
    #[must_use]
    pub fn weight(&self, index: u32) -> u32 {
        self.candidate(index).weight()
    }

    /// The place of an endpoint in the snapshot.
    pub(crate) fn position(&self, serial: Serial) -> Option<u32> {
        self.snapshot.position(serial)
    }

    #[inline]
    fn candidate(&self, index: u32) -> &'a Candidate {
        &self.snapshot.candidates()[index as usize]
    }

    /// Whether an endpoint refuses another request, as far as the load that was read of it goes.
    #[inline]
    pub(crate) fn is_full(&self, index: u32, load: Load, upto: Upto) -> bool {
        self.snapshot.is_full(index, load, upto)
    }

    /// Whether endpoints are left alone below their caps.
    pub(crate) fn has_levels(&self) -> bool {
        !self.snapshot.levels.is_empty()
    }

    /// Whether this decision is being written down, or derived from what was.
    #[inline]
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.tape.is_some()
    }

    /// Puts the group and the place in its schedule on the record.
    #[inline]
    pub(crate) fn note_group(&mut self, tier: u8, cursor: &Cursor) {
        if let Some(tape) = &mut self.tape {
            tape.written.tier = tier;
            tape.written.cursor = cursor.place();
        }
    }

    /// Draws from `0..n` together with the bits left over, as a fraction of 2^64. `n` is at least 1.
    #[inline]
    pub fn draw(&mut self, n: u64) -> (u64, u64) {
        scale(self.bits(), n)
    }

    /// 64 random bits.
    #[inline]
    fn bits(&mut self) -> u64 {
        let rng = &mut self.scratch.rng;
        match &mut self.tape {
            None => rng.next_u64(),
            Some(tape) => tape.draw(rng),
        }
    }

    /// Reads the load of an endpoint. Call it once for each endpoint and decide on what it said.
    #[inline]
    pub fn load(&mut self, index: u32) -> Load {
        let candidate = self.candidate(index);
        let half_life = self.snapshot.failure_half_life();
        let now = self.now;
        match &mut self.tape {
            None => candidate.load(now, half_life),
            Some(tape) => {
                let load = tape.load(index, || candidate.load(now, half_life));
                tape.compared(Compared::by_load(index, candidate.weight(), load));
                load
            }
        }
    }

    /// Reads load and latency of an endpoint. Call it once for each endpoint, in the order of the
    /// [`Inputs::cost`]s that are made of it.
    #[inline]
    pub fn read(&mut self, index: u32) -> Reading {
        let candidate = self.candidate(index);
        let (now, terms) = (self.now, &self.snapshot.terms);
        let read = || {
            let latency = candidate.latency(now, terms.latency_decay);
            (candidate.load(now, terms.failure_half_life), latency)
        };
        let (load, latency) = match &mut self.tape {
            None => read(),
            Some(tape) => tape.load_and_latency(index, read),
        };
        Reading {
            load,
            latency: latency.map(in_micros),
        }
    }

    /// What a request would cost at an endpoint of which `reading` was read, taken to answer in
    /// `unknown` if nothing is known of that.
    #[inline]
    pub fn cost(&mut self, index: u32, reading: Reading, unknown: Nanos) -> Cost {
        let latency = reading.latency.unwrap_or(in_micros(unknown));
        let cost = Cost::new(latency, reading.load, self.candidate(index).weight());
        if let Some(tape) = &mut self.tape {
            tape.compared(Compared::by_cost(index, reading.load, latency, cost));
        }
        cost
    }

    /// What this process sees of an endpoint, not on the record.
    #[inline]
    pub(crate) fn see(&self, index: u32) -> Report {
        let (candidate, terms) = (self.candidate(index), &self.snapshot.terms);
        let load = candidate.load(self.now, terms.failure_half_life);
        let at_load = candidate.state().latency_at_load();
        // One more would be in flight.
        let latency = at_load.estimate(load.in_flight.saturating_add(1), self.now);
        Report {
            serial: candidate.serial(),
            index,
            weight: candidate.weight(),
            latency: latency.map(|latency| load.held_against(latency)),
            load,
            at: self.now,
            own_word: false,
        }
    }

    /// Puts a report that is decided on on the record, with the pressure that it means.
    #[cold]
    pub(crate) fn note_report(&mut self, report: &Report, pressure: u64, is_hot: bool) {
        if let Some(tape) = &mut self.tape {
            tape.compared(Compared::by_report(report, pressure, is_hot));
        }
    }

    /// The next report on the record of a decision that is derived, unless it belongs to the strategy's
    /// next proposal: then its endpoint is among those `before` it.
    #[cold]
    pub(crate) fn recorded_report(&mut self, before: &[Report]) -> Option<Report> {
        let endpoints = self.snapshot.candidates();
        let fits = |index: u32| {
            (index as usize) < endpoints.len() && before.iter().all(|other| other.index != index)
        };
        let compared = self.tape.as_mut()?.next_report(fits)?;
        let candidate = self.candidate(compared.index);
        Some(Report {
            serial: candidate.serial(),
            index: compared.index,
            weight: candidate.weight(),
            load: compared.load,
            latency: compared.latency,
            at: self.now,
            own_word: true,
        })
    }

    /// Reads the loads of `endpoints`, at most 64 of them, gives each the score that `score` makes of
    /// its place in the list and its load, and returns the least: `u64::MAX` when all are refused.
    #[inline]
    pub fn score_all(&mut self, endpoints: &[u32], score: impl Fn(usize, Load) -> u64) -> u64 {
        if self.tape.is_some() || !self.scratch.refusals.is_empty() {
            return self.score_one_by_one(endpoints, score);
        }
        let (now, half_life) = (self.now, self.snapshot.failure_half_life());
        let candidates = self.snapshot.candidates();
        let mut least = u64::MAX;
        let slots = self.scratch.scores.iter_mut();
        for (at, (slot, index)) in slots.zip(endpoints).enumerate() {
            *slot = score(at, candidates[*index as usize].load(now, half_life));
            least = least.min(*slot);
        }
        least
    }

    /// As above, but puts each load on the record and leaves out who refused.
    #[cold]
    fn score_one_by_one(&mut self, endpoints: &[u32], score: impl Fn(usize, Load) -> u64) -> u64 {
        let mut least = u64::MAX;
        for (at, index) in endpoints.iter().enumerate().take(SCORES_MAX) {
            let score = if self.is_refused(*index) {
                u64::MAX
            } else {
                score(at, self.load(*index))
            };
            self.scratch.scores[at] = score;
            least = least.min(score);
        }
        least
    }

    /// The score that the last [`Inputs::score_all`] of this decision gave to the endpoint at a
    /// place in its list; `u64::MAX` if it is refused.
    ///
    /// # Panics
    ///
    /// From place 64 on.
    #[inline]
    #[must_use]
    pub fn score(&self, at: usize) -> u64 {
        self.scratch.scores[at]
    }

    /// Puts a deadline on the record, for schedules: it follows from the cursor, but no reader would
    /// work it out.
    #[cold]
    pub fn note_deadline(&mut self, index: u32, deadline: u64) {
        let weight = self.candidate(index).weight();
        if let Some(tape) = &mut self.tape {
            tape.noted(Compared::by_deadline(index, weight, deadline));
        }
    }

    /// Whether no endpoint is known not to be open to this request.
    #[inline]
    pub(crate) fn nobody_refused(&self) -> bool {
        self.scratch.refusals.is_empty()
    }

    /// Whether an endpoint is known not to be open to this request: tried before, or just refused.
    #[inline]
    #[must_use]
    pub fn is_refused(&self, index: u32) -> bool {
        self.scratch.refusals.contains(index)
    }

    /// Takes a slot at a proposed endpoint, or notes that it refused.
    #[inline]
    pub(crate) fn acquire(&mut self, index: u32, upto: Upto) -> bool {
        !self.is_refused(index) && self.acquire_again(index, upto)
    }

    /// Takes a slot at an endpoint that may have been full before.
    #[inline]
    pub(crate) fn acquire_again(&mut self, index: u32, upto: Upto) -> bool {
        let refusal = match &mut self.tape {
            None => self.snapshot.acquire(index, upto, self.now),
            Some(tape) => tape.slot(index, self.snapshot, upto, self.now),
        };
        let Some(refusal) = refusal else { return true };
        self.refuse(index, refusal);
        false
    }

    #[cold]
    fn refuse(&mut self, index: u32, refusal: Refusal) {
        self.scratch.refusals.push(index);
        if let Some(tape) = &mut self.tape {
            tape.excluded(index, refusal);
        }
    }

    /// Excludes the endpoints that this request has been sent to before.
    #[cold]
    pub(crate) fn exclude_tried(&mut self, attempts: &Attempts) {
        if self.is_replaying() {
            // A derivation knows no serials: it finds the places on the record.
            while let Some(index) = self.tape.as_mut().and_then(|tape| tape.next_tried()) {
                self.refuse(index, Refusal::Tried);
            }
        } else {
            for serial in attempts.iter() {
                if let Some(index) = self.snapshot.position(serial) {
                    self.refuse(index, Refusal::Tried);
                }
            }
        }
        self.scratch.refusals.end_of_tried();
    }

    /// Whether this decision is derived from a record.
    #[inline]
    pub(crate) fn is_replaying(&self) -> bool {
        self.tape.as_ref().is_some_and(|tape| tape.is_replaying())
    }

    /// Whether to search once more: what `read` says, or in a derivation the record.
    pub(crate) fn goes_on(&self, read: impl FnOnce() -> bool) -> bool {
        match &self.tape {
            Some(tape) => tape.goes_on(read),
            None => read(),
        }
    }

    /// Gives those that were full another chance.
    pub(crate) fn forgive_full(&mut self) {
        self.scratch.refusals.keep_tried();
    }

    /// The requests that an endpoint has ended, if it is full.
    pub(crate) fn ended_if_full(&self, index: u32) -> Option<u32> {
        self.snapshot.ended_if_full(index, self.now)
    }

    /// Whether there is room to remember one more refusal.
    pub(crate) fn remembers_refusals(&self) -> bool {
        self.scratch.refusals.has_room()
    }

    /// Whether an endpoint could take this request if it had a slot.
    pub(crate) fn is_untried(&self, index: u32) -> bool {
        self.scratch.refusals.is_untried(index)
    }
}

/// What was read of an endpoint.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Cost, Nanos, strategy::{Inputs, Reading}};
///
/// /// What one more request would cost at an endpoint, taken to answer in 10 ms if nothing is known of it.
/// fn cost(index: u32, inputs: &mut Inputs<'_>) -> Cost {
///     let reading: Reading = inputs.read(index);
///     inputs.cost(index, reading, Nanos::from_millis(10))
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its load.
    pub load: Load,
    /// How long it takes to answer, in whole microseconds, if that is known.
    pub latency: Option<Nanos>,
}

/// Whole microseconds, at least one: finer differences of latency are none.
#[inline]
fn in_micros(latency: Nanos) -> Nanos {
    Nanos((latency.0 / 1_000).max(1) * 1_000)
}
