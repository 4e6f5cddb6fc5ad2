//! The reports that a picker has of some endpoints, and the choice among them.
//!
//! Source: Wydrowski et al., "Load is not what you should balance: Introducing Prequal", NSDI 2024. A
//! report is hot if its requests in flight are among the highest; of the cold ones the fastest is
//! chosen; of equally fast ones the least pressed. One report for each endpoint is kept, the latest: an overloaded one that reports often must
//! not raise the bar to its own height.

use std::any::Any;

use super::cursor::{OwnCursor, Place};
use crate::clock::Nanos;
use crate::endpoint::Serial;
use crate::load::Load;

/// After this a report says nothing any more.
const EXPIRY: Nanos = Nanos::from_secs(1);

/// Q = 2^(-1/4) of the reports' requests in flight: what is above it is hot. In 1/10,000.
const QUANTILE: usize = 8_409;

/// Latencies of up to so many percent of the shortest are as short: the paper has them decide to the
/// last digit, and among few endpoints chance would then leave some idle for as long as it is
/// remembered.
const TIE: u64 = 115;

/// The most reports.
pub(super) const POOL_MAX: usize = 32;

/// No endpoint's place.
const NOBODY: u32 = u32::MAX;

/// The most that can be hot, and the one that is the bar.
const TOP: usize = 6;

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
    /// Load over weight.
    pub(super) pressure: u64,
    /// In nanoseconds; 0 is not known.
    latency: u64,
    /// How often it may still be used.
    uses: u32,
    /// Counts reports, modulo 2^32: which came before which.
    number: u32,
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
    /// How many are by the endpoint's own word.
    own_words: usize,
    /// The number of the next report.
    next: u32,
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
            own_words: 0,
            next: 0,
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
            pressure: pressure(report.load, report.weight),
            latency: in_nanos(report.latency),
            uses: budget / 256,
            number: self.next,
            report,
        };
        self.next = self.next.wrapping_add(1);
        let full = self.entries.len() == self.upkeep.size;
        match known.or(full.then(|| self.oldest())) {
            Some(at) => self.replace(at, entry),
            None => self.push(entry),
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
            let sum: u64 = own.map(|entry| entry.pressure).sum();
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

    fn push(&mut self, entry: Entry) {
        self.endpoints[self.entries.len()] = entry.report.index;
        self.own_words += usize::from(entry.report.own_word);
        self.entries.push(entry);
    }

    fn replace(&mut self, at: usize, entry: Entry) {
        let old = std::mem::replace(&mut self.entries[at], entry);
        self.endpoints[at] = entry.report.index;
        self.own_words += usize::from(entry.report.own_word);
        self.own_words -= usize::from(old.report.own_word);
    }

    fn remove(&mut self, at: usize) {
        let gone = self.entries.swap_remove(at);
        let left = self.entries.len();
        self.endpoints[at] = self.endpoints[left];
        self.endpoints[left] = NOBODY;
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

    /// The place of the oldest report.
    fn oldest(&self) -> usize {
        let (mut oldest, mut most) = (0, 0);
        for (at, entry) in self.entries.iter().enumerate() {
            let age = self.next.wrapping_sub(entry.number);
            (oldest, most) = if age > most {
                (at, age)
            } else {
                (oldest, most)
            };
        }
        oldest
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

    /// The entry to use among those that are usable: the fastest that is not hot, as the module says; and
    /// the pressure above which others are. `None` for fewer than two.
    ///
    /// Which entry is the fastest, or hot, is not to be guessed: so no branch asks for it.
    #[inline]
    pub(super) fn best(&self, usable: u32) -> Option<(usize, u64)> {
        let bar = self.bar(usable)?;
        let mut fastest = u64::MAX;
        for (at, entry) in self.entries.iter().enumerate() {
            let cold = usable >> at & 1 == 1 && entry.pressure <= bar;
            // What is not known, 0, is the largest here.
            let latency = entry.latency.wrapping_sub(1);
            fastest = fastest.min(if cold { latency } else { u64::MAX });
        }
        // One that is not known is as fast as any: so pressure decides, and it gets its share of a try.
        let as_fast = fastest.saturating_add(1).saturating_mul(TIE) / 100;
        let (mut best, mut least) = (0, u64::MAX);
        for (at, entry) in self.entries.iter().enumerate() {
            let fast = usable >> at & 1 == 1 && entry.latency <= as_fast;
            // What is hot is never below what is cold.
            let pressure = if fast { entry.pressure } else { u64::MAX };
            (best, least) = if pressure < least {
                (at, pressure)
            } else {
                (best, least)
            };
        }
        Some((best, bar))
    }

    /// A bit for each entry.
    #[inline]
    pub(super) fn all(&self) -> u32 {
        // POOL_MAX of them fill the word.
        ((1u64 << self.entries.len()) - 1) as u32
    }

    /// A bit for each entry that `may` be used.
    pub(super) fn usable(&self, may: impl Fn(u32) -> bool) -> u32 {
        let entries = self.entries.iter().enumerate();
        entries.fold(0, |bits, (at, entry)| {
            bits | u32::from(may(entry.report.index)) << at
        })
    }

    /// The pressure above which an entry is hot, by exact rank among those that are usable; `None` for
    /// fewer than two.
    #[inline]
    fn bar(&self, usable: u32) -> Option<u64> {
        let count = usable.count_ones() as usize;
        if count < 2 {
            return None;
        }
        match count - 1 - (count - 1) * QUANTILE / 10_000 {
            // Up to 19 entries.
            hot @ ..4 => Some(self.highest::<4>(usable)[hot]),
            hot => Some(self.highest::<TOP>(usable)[hot]),
        }
    }

    /// The highest pressures in falling order.
    #[inline]
    fn highest<const COUNT: usize>(&self, usable: u32) -> [u64; COUNT] {
        let mut highest = [0; COUNT];
        for (at, entry) in self.entries.iter().enumerate() {
            let mut rest = if usable >> at & 1 == 1 {
                entry.pressure
            } else {
                0
            };
            for slot in &mut highest {
                (*slot, rest) = (rest.max(*slot), rest.min(*slot));
            }
        }
        highest
    }

    /// Counts a use of an entry: one more request is in flight there, and the report is worn. `bar` is
    /// the pressure above which others are hot.
    #[inline]
    pub(super) fn spend(&mut self, at: usize, bar: u64) {
        let entry = &mut self.entries[at];
        entry.report.load.in_flight = entry.report.load.in_flight.saturating_add(1);
        entry.pressure = pressure(entry.report.load, entry.report.weight);
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
        let at = if self.worst_is_next {
            self.oldest()
        } else {
            self.worst(bar)
        };
        self.remove(at);
    }

    /// The hot one with the most requests in flight, or, if none is hot, the slowest.
    fn worst(&self, bar: u64) -> usize {
        let badness = |(_, entry): &(usize, &Entry)| match entry.pressure > bar {
            true => (true, entry.pressure),
            false => (false, entry.latency),
        };
        let worst = self.entries.iter().enumerate().max_by_key(badness);
        worst.map_or(0, |(at, _)| at)
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
                pressure: pressure(report.load, weight),
                latency: entry.latency,
                uses: entry.uses,
                number: entry.number,
            })
        };
        self.retain(|_| false);
        // No more than there is room for.
        for entry in old.entries.iter().filter_map(moved).take(self.upkeep.size) {
            self.push(entry);
        }
        self.next = old.next;
        self.not_before = old.not_before;
        self.use_rest = old.use_rest;
        self.remove_rest = old.remove_rest;
        self.worst_is_next = old.worst_is_next;
    }
}

#[cfg(test)]
mod tests;
