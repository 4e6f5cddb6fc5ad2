//! What the choice goes by, side by side for all entries: it looks through all of it three times for each
//! decision. Which entry is the fastest, or hot, is not to be guessed: so no branch asks for it.

use super::POOL_MAX;

/// Q = 2^(-1/4) of the reports' requests in flight: what is above it is hot. In 1/10,000.
const QUANTILE: usize = 8_409;

/// Latencies of up to so many percent of the shortest are as short: the paper has them decide to the
/// last digit, and among few endpoints chance would then leave some idle for as long as it is
/// remembered.
const TIE: u64 = 115;

/// The most that can be hot, and the one that is the bar.
const TOP: usize = 6;

/// Entries that are looked at together.
const LANES: usize = 4;

/// The pressure where no entry is: above each bar. Those of entries have 48 bits.
const NONE: u64 = u64::MAX;

/// Pressure and latency of each entry.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pressures: [u64; POOL_MAX],
    /// In nanoseconds; 0 is not known.
    latencies: [u64; POOL_MAX],
}

impl Figures {
    pub(super) const fn new() -> Self {
        Self {
            pressures: [NONE; POOL_MAX],
            latencies: [0; POOL_MAX],
        }
    }

    #[inline]
    pub(super) fn pressure(&self, at: usize) -> u64 {
        self.pressures[at]
    }

    #[inline]
    pub(super) fn set_pressure(&mut self, at: usize, pressure: u64) {
        self.pressures[at] = pressure;
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, pressure: u64, latency: u64) {
        self.pressures[at] = pressure;
        self.latencies[at] = latency;
    }

    /// The last of some entries takes the place of one that is gone.
    #[inline]
    pub(super) fn swap_remove(&mut self, at: usize, last: usize) {
        self.set(at, self.pressures[last], self.latencies[last]);
        self.set(last, NONE, 0);
    }

    /// Those of the entries of which `may` says so.
    #[cold]
    pub(super) fn of(&self, may: impl Fn(usize) -> bool) -> Self {
        let mut usable = self.clone();
        for at in (0..POOL_MAX).filter(|at| !may(*at)) {
            usable.set(at, NONE, 0);
        }
        usable
    }

    /// How many there are.
    #[cold]
    pub(super) fn count(&self) -> usize {
        let pressures = self.pressures.iter();
        pressures.filter(|pressure| **pressure != NONE).count()
    }

    /// Of `count` entries, all before place `end`, the one to use: the fastest that is not hot, as the
    /// module says; and the pressure above which others are. `None` for fewer than two.
    #[inline]
    pub(super) fn best(&self, count: usize, end: usize) -> Option<(usize, u64)> {
        let bar = self.bar(count, end)?;
        let mut fastest = u64::MAX;
        for (pressures, latencies) in self.lanes(end) {
            for (pressure, latency) in pressures.iter().zip(latencies) {
                // What is not known, 0, is the largest here.
                let latency = latency.wrapping_sub(1);
                fastest = fastest.min(if *pressure <= bar { latency } else { u64::MAX });
            }
        }
        // One that is not known is as fast as any: so pressure decides, and it gets its share of a try.
        let as_fast = fastest.saturating_add(1).saturating_mul(TIE) / 100;
        let (mut best, mut least, mut at) = (0, NONE, 0);
        for (pressures, latencies) in self.lanes(end) {
            for (pressure, latency) in pressures.iter().zip(latencies) {
                // What is hot is never below what is cold.
                let pressure = if *latency <= as_fast { *pressure } else { NONE };
                best = if pressure < least { at } else { best };
                least = least.min(pressure);
                at += 1;
            }
        }
        Some((best, bar))
    }

    /// Those before place `end`, and where there are none up to a full lane.
    #[inline]
    fn lanes(&self, end: usize) -> impl Iterator<Item = (&[u64; LANES], &[u64; LANES])> {
        let (pressures, _) = self.pressures.as_chunks();
        let (latencies, _) = self.latencies.as_chunks();
        pressures.iter().zip(latencies).take(end.div_ceil(LANES))
    }

    /// The pressure above which an entry is hot, by exact rank; `None` for fewer than two.
    #[inline]
    pub(super) fn bar(&self, count: usize, end: usize) -> Option<u64> {
        if count < 2 {
            return None;
        }
        match count - 1 - (count - 1) * QUANTILE / 10_000 {
            // Up to 19 entries.
            hot @ ..4 => Some(self.highest::<4>(end)[hot]),
            hot => Some(self.highest::<TOP>(end)[hot]),
        }
    }

    /// The highest pressures in falling order.
    #[inline]
    fn highest<const COUNT: usize>(&self, end: usize) -> [u64; COUNT] {
        let mut highest = [0; COUNT];
        for (pressures, _) in self.lanes(end) {
            for pressure in pressures {
                // Where no entry is it becomes the lowest.
                let mut rest = pressure.wrapping_add(1);
                for slot in &mut highest {
                    (*slot, rest) = (rest.max(*slot), rest.min(*slot));
                }
            }
        }
        highest.map(|pressure| pressure.wrapping_sub(1))
    }

    /// The place of the hot one with the most requests in flight, or, if none is hot, of the slowest.
    pub(super) fn worst(&self, bar: u64, end: usize) -> usize {
        let badness = |at: &usize| match self.pressures[*at] {
            hot if hot > bar => (true, hot),
            _ => (false, self.latencies[*at]),
        };
        (0..end).max_by_key(badness).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The rule as the paper has it: sort, and compare one by one. Entries are (pressure, latency).
    fn by_definition(entries: &[Option<(u64, u64)>]) -> Option<(usize, u64)> {
        let usable = || {
            let entries = entries.iter().enumerate();
            entries
                .filter_map(|(at, entry)| entry.map(|(pressure, latency)| (at, pressure, latency)))
        };
        let mut sorted: Vec<u64> = usable().map(|(_, pressure, _)| pressure).collect();
        sorted.sort_unstable();
        let rank = sorted.len().checked_sub(1).filter(|last| *last > 0)? * QUANTILE / 10_000;
        let bar = sorted[rank];
        let known = usable().filter(|(_, pressure, latency)| *pressure <= bar && *latency > 0);
        let fastest = known.map(|(_, _, latency)| latency).min();
        let as_fast = |latency: u64| fastest.is_none_or(|fastest| latency * 100 <= fastest * 115);
        let (at, ..) = usable()
            .filter(|(_, _, latency)| as_fast(*latency))
            .min_by_key(|(_, pressure, _)| *pressure)?;
        Some((at, bar))
    }

    #[test]
    fn the_worst_is_the_most_pressed_of_the_hot_or_else_the_slowest() {
        let mut figures = Figures::new();
        for (at, (pressure, latency)) in [(5, 1), (6, 30), (7, 20)].into_iter().enumerate() {
            figures.set(at, pressure, latency);
        }
        assert_eq!([4, 5, 6, 7].map(|bar| figures.worst(bar, 3)), [2, 2, 2, 1]);
    }

    #[test]
    fn the_choice_is_that_of_the_definition() {
        let mut rng = Rng::new(5);
        for round in 0..20_000 {
            let end = 1 + round % POOL_MAX;
            let mut draw = |n: u64| rng.next_u64() % n;
            let entries: Vec<Option<(u64, u64)>> = (0..end)
                .map(|_| (draw(8) > 0).then(|| (draw(40), draw(12) * 25)))
                .collect();
            let mut figures = Figures::new();
            for (at, (pressure, latency)) in entries.iter().map(|e| e.unwrap_or((1, 1))).enumerate()
            {
                figures.set(at, pressure, latency);
            }
            let usable = figures.of(|at| entries.get(at).is_some_and(Option::is_some));
            let expected = by_definition(&entries);
            assert_eq!(usable.best(usable.count(), end), expected, "{entries:?}");
            if entries.iter().all(Option::is_some) {
                assert_eq!(figures.best(end, end), expected, "{entries:?}");
            }
        }
    }
}
