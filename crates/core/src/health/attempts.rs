//! What attempts at an endpoint came to and how long they took, to be compared between endpoints.

use crate::clock::Nanos;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Four to each doubling, from 2^16 ns (66 us) to 2^40 ns (18 min): a median is known to a tenth or so.
const CELLS: usize = 96;
const FIRST_BIT: u32 = 16;

/// A count of what successful attempts at one endpoint took.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Nanos;
/// use evenkeel_core::health::{AttemptTimes, AttemptTotals};
///
/// let times = AttemptTimes::default();
/// times.count(Nanos::from_millis(10));
/// let mut totals = AttemptTotals::default();
/// times.add_to(&mut totals);
/// let median = totals.median().expect("one attempt");
/// assert!((9..=11).contains(&median.as_millis()));
/// ```
#[derive(Debug)]
pub struct AttemptTimes {
    cells: [AtomicU64; CELLS],
}

impl Default for AttemptTimes {
    fn default() -> Self {
        Self {
            cells: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl AttemptTimes {
    /// Counts one; by the one thread whose count it is.
    #[inline]
    pub fn count(&self, took: Nanos) {
        let cell = &self.cells[cell_of(took)];
        cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts one, where several threads count.
    #[inline]
    pub fn count_shared(&self, took: Nanos) {
        self.cells[cell_of(took)].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds what was counted.
    pub fn add_to(&self, sum: &mut AttemptTotals) {
        for (total, cell) in sum.times.iter_mut().zip(&self.cells) {
            *total += cell.load(Ordering::Relaxed);
        }
    }
}

fn cell_of(took: Nanos) -> usize {
    let ns = took.0.max(1 << FIRST_BIT);
    let bit = ns.ilog2();
    let quarter = (ns >> (bit - 2)) & 3;
    let cell = (bit - FIRST_BIT) as usize * 4 + quarter as usize;
    cell.min(CELLS - 1)
}

/// The middle of a cell.
fn middle_of(cell: usize) -> Nanos {
    let bit = FIRST_BIT + (cell / 4) as u32;
    let quarter = (cell % 4) as u64;
    Nanos((8 + 2 * quarter + 1) << (bit - 3))
}

/// What attempts at an endpoint came to, over all workers.
///
/// # Examples
///
/// ```
/// use evenkeel_core::health::AttemptTotals;
///
/// let before = AttemptTotals::default();
/// let mut now = before.clone();
/// now.successes += 3;
/// assert_eq!(now.since(&before).successes, 3);
/// assert_eq!(now.median(), None, "times were not counted");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptTotals {
    /// Those that succeeded.
    pub successes: u64,
    /// Those that failed; those that were turned away with 429 too.
    pub failures: u64,
    times: [u64; CELLS],
}

impl Default for AttemptTotals {
    fn default() -> Self {
        Self {
            successes: 0,
            failures: 0,
            times: [0; CELLS],
        }
    }
}

impl AttemptTotals {
    /// What has come since these were `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            successes: self.successes.saturating_sub(before.successes),
            failures: self.failures.saturating_sub(before.failures),
            times: std::array::from_fn(|at| self.times[at].saturating_sub(before.times[at])),
        }
    }

    /// The median of what successful attempts took, if that was counted.
    #[must_use]
    pub fn median(&self) -> Option<Nanos> {
        let count: u64 = self.times.iter().sum();
        let mut below = 0;
        let cell = self.times.iter().position(|cell| {
            below += cell;
            below * 2 >= count
        })?;
        (count > 0).then(|| middle_of(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever took so long, the middle of its cell is at most an eighth of it away.
    #[test]
    fn a_cell_is_as_narrow_as_an_eighth() {
        let (mut took, mut last) = (1u64 << FIRST_BIT, 0);
        while took < 1 << 39 {
            let cell = cell_of(Nanos(took));
            assert!(cell == last || cell == last + 1, "{took}");
            let off = middle_of(cell).0 as f64 / took as f64 - 1.0;
            assert!(off.abs() <= 0.126, "{took}: {off}");
            (took, last) = (took + took / 19, cell);
        }
        assert_eq!(
            (cell_of(Nanos(0)), cell_of(Nanos(u64::MAX))),
            (0, CELLS - 1)
        );
    }

    #[test]
    fn medians_are_known_to_a_few_percents() {
        let mut all = AttemptTotals::default();
        for (median, others) in [(3.0, [1.0, 50.0]), (0.2, [0.1, 0.3]), (700.0, [20.0, 9e5])] {
            let attempts = AttemptTimes::default();
            for ms in [median, others[0], median, others[1], median] {
                attempts.count(Nanos((ms * 1e6) as u64));
            }
            let mut sum = AttemptTotals::default();
            attempts.add_to(&mut sum);
            attempts.add_to(&mut all);
            let got = sum.median().expect("five of them").0 as f64 / 1e6;
            assert!((got / median - 1.0).abs() < 0.12, "{got} of {median}");
            assert_eq!(sum.since(&sum).median(), None);
        }
        assert_eq!(all.times.iter().sum::<u64>(), 15);
        assert_eq!(AttemptTotals::default().median(), None);
    }
}
