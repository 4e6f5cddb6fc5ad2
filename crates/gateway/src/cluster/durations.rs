//! Durations in buckets: what a worker counts, and the sum of what all of them did.

use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::Nanos;

use super::counters::add;

/// The upper bounds of the duration buckets; a last one without a bound follows.
pub const BUCKETS: [Nanos; 18] = [
    Nanos(100_000),
    Nanos(200_000),
    Nanos(500_000),
    Nanos::from_millis(1),
    Nanos::from_millis(2),
    Nanos::from_millis(5),
    Nanos::from_millis(10),
    Nanos::from_millis(20),
    Nanos::from_millis(50),
    Nanos::from_millis(100),
    Nanos::from_millis(200),
    Nanos::from_millis(500),
    Nanos::from_secs(1),
    Nanos::from_secs(2),
    Nanos::from_secs(5),
    Nanos::from_secs(10),
    Nanos::from_secs(20),
    Nanos::from_secs(60),
];

/// Each bucket is counted in so many equal parts, so that a quantile of equal durations is near them: at most
/// an eighth of a bucket away, which is a fifth of the duration itself where a bucket goes from 2 to 5.
const PARTS: usize = 8;

/// The upper bounds of the parts of all buckets.
const PART_BOUNDS: [Nanos; BUCKETS.len() * PARTS] = part_bounds();

const CELLS: usize = PART_BOUNDS.len() + 1;

const fn part_bounds() -> [Nanos; BUCKETS.len() * PARTS] {
    let mut bounds = [Nanos(0); BUCKETS.len() * PARTS];
    let mut at = 0;
    while at < bounds.len() {
        let bucket = at / PARTS;
        let lower = if bucket == 0 {
            0
        } else {
            BUCKETS[bucket - 1].0
        };
        let width = BUCKETS[bucket].0 - lower;
        let part = (at % PARTS + 1) as u64;
        bounds[at] = Nanos(lower + width * part / PARTS as u64);
        at += 1;
    }
    bounds
}

/// The cell that a duration is counted in.
#[inline]
fn cell_of(duration: Nanos) -> usize {
    PART_BOUNDS.partition_point(|bound| *bound < duration)
}

/// One worker's count of durations.
#[derive(Debug)]
pub(super) struct Durations {
    cells: [AtomicU64; CELLS],
    sum: AtomicU64,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            cells: [const { AtomicU64::new(0) }; CELLS],
            sum: AtomicU64::new(0),
        }
    }
}

impl Durations {
    #[inline]
    pub(super) fn count(&self, duration: Nanos) {
        add(&self.cells[cell_of(duration)], 1);
        add(&self.sum, duration.0);
    }

    /// The count of each part of a bucket, and the sum.
    pub(super) fn figures(&self) -> Vec<&AtomicU64> {
        self.cells.iter().chain([&self.sum]).collect()
    }

    pub(super) fn add_to(&self, total: &mut Histogram) {
        for (total, cell) in total.cells.iter_mut().zip(&self.cells) {
            *total += cell.load(Ordering::Relaxed);
        }
        let sum = self.sum.load(Ordering::Relaxed);
        total.sum = Nanos(total.sum.0.wrapping_add(sum));
    }
}

/// Durations, counted in equal parts of [`BUCKETS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    cells: [u64; CELLS],
    sum: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            cells: [0; CELLS],
            sum: Nanos(0),
        }
    }
}

impl Histogram {
    /// The count of each part of a bucket, and the sum.
    pub(crate) fn figures(&self) -> Vec<u64> {
        self.cells.iter().copied().chain([self.sum.0]).collect()
    }

    /// Adds what another process counted, if it counts in as many buckets.
    pub(crate) fn add_figures(&mut self, figures: &[u64]) {
        let Some((sum, cells)) = figures.split_last() else {
            return;
        };
        if cells.len() == self.cells.len() {
            for (cell, count) in self.cells.iter_mut().zip(cells) {
                *cell += count;
            }
            self.sum.0 = self.sum.0.wrapping_add(*sum);
        }
    }

    pub(crate) fn count_one(&mut self, duration: Nanos) {
        self.cells[cell_of(duration)] += 1;
        self.sum.0 = self.sum.0.wrapping_add(duration.0);
    }

    /// The count of each of [`BUCKETS`], the one without a bound last.
    #[must_use]
    pub fn buckets(&self) -> [u64; BUCKETS.len() + 1] {
        let mut buckets = [0; BUCKETS.len() + 1];
        for (bucket, parts) in buckets.iter_mut().zip(self.cells.chunks(PARTS)) {
            *bucket = parts.iter().sum();
        }
        buckets
    }

    /// All durations together.
    #[must_use]
    pub fn sum(&self) -> Nanos {
        self.sum
    }

    /// How many durations there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.cells.iter().sum()
    }

    /// What was counted after `earlier`; series that began anew count from their beginning.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        if self.count() < earlier.count() {
            return self.clone();
        }
        let mut later = self.clone();
        for (cell, before) in later.cells.iter_mut().zip(earlier.cells) {
            *cell = cell.saturating_sub(before);
        }
        later.sum = self.sum.since(earlier.sum);
        later
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: &Self) {
        for (cell, count) in self.cells.iter_mut().zip(other.cells) {
            *cell += count;
        }
        self.sum.0 = self.sum.0.wrapping_add(other.sum.0);
    }

    /// The duration below which `share` (0..=1) of them lie, interpolated within an eighth of its bucket, and
    /// never further than their sum allows: of one duration it is that duration. Zero without any, and the last
    /// bound of [`BUCKETS`] for what lies beyond it.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Nanos {
        if self.count() == 0 {
            return Nanos(0);
        }
        let rank = self.count() as f64 * share;
        let mut below = 0.0;
        let mut lower = Nanos(0);
        for (at, cell) in self.cells.iter().enumerate() {
            let count = *cell as f64;
            let Some(upper) = PART_BOUNDS.get(at).copied() else {
                return lower;
            };
            if count > 0.0 && below + count >= rank {
                let part = ((rank - below) / count).clamp(0.0, 1.0);
                let guess = lower.0 + ((upper.0 - lower.0) as f64 * part) as u64;
                return self.within_sum(Nanos(guess), lower, upper, (count * part, count));
            }
            below += count;
            lower = upper;
        }
        lower
    }

    /// Moves a guess from within a cell to where it can lie. As many of the cell's `count` as are not
    /// `below` it are at least as long, so together they exceed the cell's lower bound by no more than
    /// all durations exceed the bounds of theirs; and the same from above.
    fn within_sum(
        &self,
        guess: Nanos,
        lower: Nanos,
        upper: Nanos,
        (below, count): (f64, f64),
    ) -> Nanos {
        let lowers = [Nanos(0)].into_iter().chain(PART_BOUNDS);
        let least: u64 = lowers.zip(self.cells).map(|(bound, it)| bound.0 * it).sum();
        let excess = self.sum.0.saturating_sub(least) as f64;
        let most = lower.0 as f64 + excess / (count - below).max(1.0);
        let bounds = PART_BOUNDS.into_iter().zip(self.cells);
        let sum: u64 = bounds.map(|(bound, it)| bound.0 * it).sum();
        let fewest = match self.cells[CELLS - 1] {
            0 => upper.0 as f64 - sum.saturating_sub(self.sum.0) as f64 / below.max(1.0),
            // Some have no bound above.
            _ => lower.0 as f64,
        };
        let guess = (guess.0 as f64).max(fewest).min(most);
        Nanos((guess as u64).clamp(lower.0, upper.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_millis(durations: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for millis in durations {
            histogram.count_one(Nanos::from_millis(*millis));
        }
        histogram
    }

    #[test]
    fn quantiles_of_one_duration_are_that_duration() {
        for millis in [1, 3, 21, 49, 2001, 4999, 59_000] {
            let one = of_millis(&[millis]);
            for share in [0.0, 0.5, 0.99, 1.0] {
                assert_eq!(one.quantile(share).as_millis(), millis, "{share}");
            }
        }
        assert_eq!(of_millis(&[100_000]).quantile(0.5), Nanos::from_secs(60));
    }

    #[test]
    fn quantiles_of_equal_durations_are_near_them() {
        // Near the lower and near the upper bound of a bucket of 2 to 5 s.
        for (millis, far) in [(2001, 110), (4999, 110), (101, 13), (150, 13), (7000, 630)] {
            let equal = of_millis(&[millis; 1000]);
            for share in [0.01, 0.5, 0.99] {
                let quantile = equal.quantile(share).as_millis();
                assert!(quantile.abs_diff(millis) < far, "{share}: {quantile}");
            }
        }
    }

    #[test]
    fn a_few_long_durations_do_not_move_the_quantiles_of_equal_ones() {
        let mut durations = vec![101; 1000];
        durations.extend([190, 3000]);
        let quantile = of_millis(&durations).quantile(0.99).as_millis();
        assert!((101..=113).contains(&quantile), "{quantile}");
    }

    #[test]
    fn parts_of_buckets_add_up_to_buckets() {
        let histogram = of_millis(&[51, 60, 100, 101, 99_000]);
        let buckets = histogram.buckets();
        let at = |bound| {
            BUCKETS
                .iter()
                .position(|it| *it == Nanos::from_millis(bound))
        };
        assert_eq!(buckets[at(100).unwrap()], 3);
        assert_eq!(buckets[at(200).unwrap()], 1);
        assert_eq!(buckets[BUCKETS.len()], 1);
        assert_eq!(buckets.iter().sum::<u64>(), histogram.count());
        for (bound, last) in BUCKETS.iter().zip(PART_BOUNDS.chunks(PARTS)) {
            assert_eq!(
                last.last(),
                Some(bound),
                "a part ends where its bucket does"
            );
        }
    }

    #[test]
    fn quantiles_of_many_durations_lie_in_order_and_in_their_buckets() {
        let spread: Vec<u64> = (1..=1000).collect();
        let spread = of_millis(&spread);
        let quantiles = [0.1, 0.5, 0.9, 0.99].map(|share| spread.quantile(share).as_millis());
        assert!(quantiles.is_sorted(), "{quantiles:?}");
        for (found, exact) in quantiles.into_iter().zip([100, 500, 900, 990]) {
            assert!(found.abs_diff(exact) <= 10, "{found} for {exact}");
        }
    }
}
