//! The reports that a picker has of some endpoints, and the choice among them.
//!
//! Source: Wydrowski et al., "Load is not what you should balance: Introducing Prequal", NSDI 2024. A
//! report is hot if its requests in flight are among the highest; of the cold ones the fastest is
//! chosen; of equally fast ones the least pressed. One report for each endpoint is kept, the latest: an overloaded
//! one that reports often must not raise the bar to its own height.

mod ages;
mod figures;

use std::any::Any;

use ages::Ages;
use figures::Figures;

use super::cursor::{OwnCursor, Place};
use crate::clock::Nanos;
use crate::endpoint::Serial;
use crate::load::Load;

/// After this a report says nothing any more.
const EXPIRY: Nanos = Nanos::from_secs(1);

/// The most reports.
pub(super) const POOL_MAX: usize = 32;

/// No endpoint's place.
const NOBODY: u32 = u32::MAX;

/// What is known of an endpoint's load, by its own word or by what is seen of it.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Nanos, strategy::Report};
///
/// /// Whether a report is too old to go by.
/// fn is_stale(report: &Report, now: Nanos) -> bool {
///     now.since(report.at) > Nanos::from_secs(5)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The identity of the endpoint.
    pub serial: Serial,
    /// Its place in the snapshot.
    pub index: u32,
    /// Its effective weight in 1/256.
    pub weight: u32,
    /// Its requests in flight, and what failures weigh.
    pub load: Load,
    /// How long it takes to answer, if that is known.
    pub latency: Option<Nanos>,
    /// When this was so.
    pub at: Nanos,
    /// Whether the endpoint said so itself.
    pub own_word: bool,
}

/// A report in the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) report: Report,
    /// How often it may still be used.
    uses: u32,
}

impl Entry {
    #[inline]
    fn pressure(&self) -> u64 {
        pressure(self.report.load, self.report.weight)
    }
}

/// A latency for comparisons: 0 is not known.
fn in_nanos(latency: Option<Nanos>) -> u64 {
    latency.map_or(0, |latency| latency.0.max(1))
}

/// Load over weight.
fn pressure(load: Load, weight: u32) -> u64 {
    (load.total() << 16) / u64::from(weight.max(1))
}

/// How a pool is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upkeep {
    /// The most reports.
    pub(super) size: usize,
    /// How often a report is used on average, in 1/256.
    pub(super) reuse: u32,
    /// How many reports are dropped for each decision, in 1/256.
    pub(super) remove: u32,
}

impl Upkeep {
    /// By the formulas of the paper, for `rate` reports a decision and `endpoints` that may report.
    pub(super) fn new(size: usize, rate: f64, endpoints: usize) -> Self {
        const DELTA: f64 = 1.0;
        const REUSE_MAX: f64 = 4.0;
        // The paper drops one for each three that come.
        let remove = rate / 3.0;
        let arriving = (1.0 - size as f64 / endpoints.max(1) as f64) * rate - remove;
        let reuse = if arriving > 0.0 {
            ((1.0 + DELTA) / arriving).clamp(1.0, REUSE_MAX)
        } else {
            REUSE_MAX
        };
        Self {
            size,
            reuse: (reuse * 256.0) as u32,
            remove: (remove * 256.0) as u32,
        }
    }
}

/// The pool of one picker.
#[derive(Debug)]
pub(super) struct Pool {
    upkeep: Upkeep,
    /// In no order; never more than it was made for.
    entries: Vec<Entry>,
    /// The endpoint of each entry, side by side: every report looks through all of them.
    endpoints: [u32; POOL_MAX],
    /// Load over weight, and latency, of each entry.
    figures: Figures,
    ages: Ages,
    /// How many are by the endpoint's own word.
    own_words: usize,
    /// None was made before this.
    not_before: Nanos,
    /// Fractions of a use and of a removal that are left over, in 1/256.
    use_rest: u32,
    remove_rest: u32,
    /// Whether the next to go is the worst, not the oldest.
    worst_is_next: bool,
}

impl Pool {
    pub(super) fn new(upkeep: Upkeep) -> Self {
        Self {
            upkeep,
            entries: Vec::with_capacity(upkeep.size),
            endpoints: [NOBODY; POOL_MAX],
            figures: Figures::new(),
            ages: Ages::new(),
            own_words: 0,
            not_before: Nanos(0),
            use_rest: 0,
            remove_rest: 0,
            worst_is_next: false,
        }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Takes in a report in place of an older one of the same endpoint, or of the oldest. What is only
    /// seen of an endpoint does not replace its own word.
    pub(super) fn insert(&mut self, report: Report) {
        let known = self.known(report.index);
        if known.is_some_and(|at| self.entries[at].report.own_word && !report.own_word) {
            return;
        }
        // The fractions are carried, so the mean is exact without a draw.
        let budget = self.upkeep.reuse + self.use_rest;
        self.use_rest = budget % 256;
        let entry = Entry {
            uses: budget / 256,
            report,
        };
        let full = self.entries.len() == self.upkeep.size;
        let oldest = if full { self.ages.oldest() } else { None };
        match known.or(oldest) {
            Some(at) => self.replace(at, entry),
            None => {
                self.ages.add(self.entries.len());
                self.push(entry);
            }
        }
        if report.at < self.not_before {
            self.not_before = report.at;
        }
    }

    /// Takes in what is seen of an endpoint that has not spoken itself.
    ///
    /// Who speaks counts the requests of all callers, and who is only seen those of this one. So where
    /// others speak it is taken to be as pressed as they are on average: it is tried when they are busier.
    #[inline]
    pub(super) fn insert_seen(&mut self, mut seen: Report) {
        if self.own_words > 0 {
            let own = self.entries.iter().filter(|entry| entry.report.own_word);
            let sum: u64 = own.map(Entry::pressure).sum();
            let typical = sum / self.own_words as u64;
            // Back from load over weight to requests.
            let requests = (typical * u64::from(seen.weight)).div_ceil(1 << 24);
            let requests = u32::try_from(requests).unwrap_or(u32::MAX);
            seen.load.in_flight = seen.load.in_flight.max(requests);
        }
        self.insert(seen);
    }

    /// The place of the entry of an endpoint.
    #[inline]
    fn known(&self, index: u32) -> Option<usize> {
        let mut found = 0u32;
        // All of them, with no branch for each: so several are compared at once.
        for (at, endpoint) in self.endpoints.iter().enumerate() {
            found |= u32::from(*endpoint == index) << at;
        }
        (found != 0).then(|| found.trailing_zeros() as usize)
    }

    /// Adds an entry behind the others; its age is up to the caller.
    fn push(&mut self, entry: Entry) {
        let at = self.entries.len();
        self.endpoints[at] = entry.report.index;
        self.figures
            .set(at, entry.pressure(), in_nanos(entry.report.latency));
        self.own_words += usize::from(entry.report.own_word);
        self.entries.push(entry);
    }

    fn replace(&mut self, at: usize, entry: Entry) {
        let old = &mut self.entries[at];
        self.own_words += usize::from(entry.report.own_word);
        self.own_words -= usize::from(old.report.own_word);
        *old = entry;
        self.endpoints[at] = entry.report.index;
        self.figures
            .set(at, entry.pressure(), in_nanos(entry.report.latency));
        self.ages.remove(at);
        self.ages.add(at);
    }

    fn remove(&mut self, at: usize) {
        let gone = self.entries.swap_remove(at);
        let last = self.entries.len();
        self.endpoints[at] = self.endpoints[last];
        self.endpoints[last] = NOBODY;
        self.figures.swap_remove(at, last);
        self.ages.remove(at);
        if at != last {
            self.ages.relocate(last, at);
        }
        self.own_words -= usize::from(gone.report.own_word);
    }

    /// Keeps the entries that are wanted.
    fn retain(&mut self, mut wanted: impl FnMut(&Entry) -> bool) {
        for at in (0..self.entries.len()).rev() {
            if !wanted(&self.entries[at]) {
                self.remove(at);
            }
        }
    }

    /// Drops reports that are too old.
    #[inline]
    pub(super) fn expire(&mut self, now: Nanos) {
        if now.since(self.not_before) > EXPIRY {
            self.expire_all(now);
        }
    }

    #[cold]
    fn expire_all(&mut self, now: Nanos) {
        self.retain(|entry| now.since(entry.report.at) <= EXPIRY);
        let times = self.entries.iter().map(|entry| entry.report.at);
        self.not_before = times.min().unwrap_or(now);
    }

    /// The entry to use: the fastest that is not hot, as the module says; and the pressure above which
    /// others are. `None` for fewer than two.
    #[inline]
    pub(super) fn best(&self) -> Option<(usize, u64)> {
        let count = self.entries.len();
        self.figures.best(count, count)
    }

    /// The same among those that `may` be used.
    #[cold]
    pub(super) fn best_of(&self, may: impl Fn(u32) -> bool) -> Option<(usize, u64)> {
        let entries = &self.entries;
        let usable = self
            .figures
            .of(|at| entries.get(at).is_some_and(|entry| may(entry.report.index)));
        usable.best(usable.count(), entries.len())
    }

    /// Load over weight of an entry.
    pub(super) fn pressure(&self, at: usize) -> u64 {
        self.figures.pressure(at)
    }

    /// Counts a use of an entry: one more request is in flight there, and the report is worn. `bar` is
    /// the pressure above which others are hot.
    #[inline]
    pub(super) fn spend(&mut self, at: usize, bar: u64) {
        let entry = &mut self.entries[at];
        entry.report.load.in_flight = entry.report.load.in_flight.saturating_add(1);
        self.figures.set_pressure(at, entry.pressure());
        entry.uses = entry.uses.saturating_sub(1);
        if entry.uses == 0 {
            self.remove(at);
        }
        self.remove_rest += self.upkeep.remove;
        while self.remove_rest >= 256 {
            self.remove_rest -= 256;
            self.remove_one(bar);
        }
    }

    /// Drops the oldest and the worst in turn: else bad news would fill the pool, since good news is
    /// used up.
    fn remove_one(&mut self, bar: u64) {
        if self.entries.len() <= 2 {
            return;
        }
        self.worst_is_next = !self.worst_is_next;
        let at = match self.worst_is_next {
            true => self.ages.oldest(),
            false => Some(self.figures.worst(bar, self.entries.len())),
        };
        if let Some(at) = at {
            self.remove(at);
        }
    }
}

impl OwnCursor for Pool {
    fn place(&self) -> Option<Place> {
        None
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn report(&mut self, report: &Report) {
        self.insert(*report);
    }

    fn take_over(
        &mut self,
        old: &mut dyn OwnCursor,
        now_at: &dyn Fn(Serial) -> Option<(u32, u32)>,
    ) {
        let Some(old) = old.as_any().downcast_ref::<Self>() else {
            return;
        };
        let moved = |entry: &Entry| {
            let (index, weight) = now_at(entry.report.serial)?;
            let report = Report {
                index,
                weight,
                ..entry.report
            };
            Some(Entry {
                report,
                uses: entry.uses,
            })
        };
        self.retain(|_| false);
        // No more than there is room for.
        let mut places = [None; POOL_MAX];
        for (place, entry) in places.iter_mut().zip(&old.entries) {
            let room = self.entries.len() < self.upkeep.size;
            if let Some(entry) = moved(entry).filter(|_| room) {
                *place = Some(self.entries.len());
                self.push(entry);
            }
        }
        for at in old.ages.iter().filter_map(|at| places[at]) {
            self.ages.add(at);
        }
        self.not_before = old.not_before;
        self.use_rest = old.use_rest;
        self.remove_rest = old.remove_rest;
        self.worst_is_next = old.worst_is_next;
    }
}

#[cfg(test)]
mod tests;
