//! How long decisions take: one in some is timed, since reading the clock twice costs as much as a
//! decision.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::Nanos;

use crate::clock::Clock;

/// One decision in so many is timed, the first one too.
const TIMED_EVERY: u32 = 64;

/// The upper bounds of the buckets; a last one without a bound follows.
pub const DECISION_BUCKETS: [Nanos; 12] = [
    Nanos(50),
    Nanos(100),
    Nanos(200),
    Nanos(500),
    Nanos(1_000),
    Nanos(2_000),
    Nanos(5_000),
    Nanos(10_000),
    Nanos(20_000),
    Nanos(50_000),
    Nanos(100_000),
    Nanos(1_000_000),
];

const CELLS: usize = DECISION_BUCKETS.len() + 1;

/// One worker's durations of decisions in one cluster; it alone writes them.
#[derive(Debug, Default)]
pub(crate) struct DecisionCells {
    cells: [AtomicU64; CELLS],
    sum: AtomicU64,
}

impl DecisionCells {
    /// The count of each bucket, and the sum.
    pub(super) fn figures(&self) -> Vec<&AtomicU64> {
        self.cells.iter().chain([&self.sum]).collect()
    }

    pub(crate) fn took(&self, span: Nanos) {
        let bucket = DECISION_BUCKETS.partition_point(|bound| *bound < span);
        super::counters::add(&self.cells[bucket], 1);
        super::counters::add(&self.sum, span.0);
    }
}

/// Durations of the decisions that were timed, over all workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionTimes {
    /// The count of each bucket of [`DECISION_BUCKETS`], the one without a bound last.
    pub cells: [u64; CELLS],
    /// All of them together.
    pub sum: Nanos,
}

impl DecisionTimes {
    pub(super) fn sum<'a>(all: impl Iterator<Item = &'a DecisionCells>) -> Self {
        let mut times = Self::default();
        for worker in all {
            for (sum, cell) in times.cells.iter_mut().zip(&worker.cells) {
                *sum += cell.load(Ordering::Relaxed);
            }
            times.sum.0 += worker.sum.load(Ordering::Relaxed);
        }
        times
    }
}

/// Says which decisions of a worker are timed, and times them.
#[derive(Debug)]
pub(crate) struct DecisionTimer {
    clock: Clock,
    until: Cell<u32>,
}

impl DecisionTimer {
    pub(crate) fn new() -> Self {
        Self {
            clock: Clock::start(),
            until: Cell::new(0),
        }
    }

    /// When a decision begins, if this one is timed: a count down for the others.
    #[inline]
    pub(crate) fn begin(&self) -> Option<Nanos> {
        let until = self.until.get();
        if until > 0 {
            self.until.set(until - 1);
            return None;
        }
        self.until.set(TIMED_EVERY - 1);
        Some(self.clock.now())
    }

    /// How long it took.
    pub(crate) fn since(&self, began: Nanos) -> Nanos {
        self.clock.now().since(began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_some_is_timed() {
        let timer = DecisionTimer::new();
        let timed = (0..2 * TIMED_EVERY + 1).filter(|_| timer.begin().is_some());
        assert_eq!(timed.count(), 3);
    }

    #[test]
    fn durations_of_workers_add_up() {
        let workers = [DecisionCells::default(), DecisionCells::default()];
        workers[0].took(Nanos(50));
        workers[0].took(Nanos(51));
        workers[1].took(Nanos(5_000_000));
        let times = DecisionTimes::sum(workers.iter());
        assert_eq!(
            (times.cells[0], times.cells[1], times.cells[CELLS - 1]),
            (1, 1, 1)
        );
        assert_eq!(times.sum, Nanos(5_000_101));
    }
}
