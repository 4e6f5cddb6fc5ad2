//! What is merely counted: per thread, summed when somebody asks.
//!
//! A call is counted where it was chosen, and may end on another thread. Most end where they began, and a thread
//! needs no operation that costs for what it alone writes; so there are two counts, one for all other threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::health::{AttemptTimes, AttemptTotals};
use evenkeel_core::{Nanos, Outcome, RequestWindow, RetryPolicy};

use crate::stats::{EndpointCalls, Histogram, LATENCY_BOUNDS};

/// Numbers threads, from 1.
static NEXT_THREAD: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The number of this thread, which no other ever has.
#[inline]
pub(crate) fn thread() -> u64 {
    match THREAD.get() {
        0 => number_thread(),
        number => number,
    }
}

#[cold]
fn number_thread() -> u64 {
    let number = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
    THREAD.set(number);
    number
}

/// One thread's counts of an endpoint, on cache lines that no other thread's share.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct EndpointCounters {
    owner: u64,
    /// Written by the owner alone.
    own: Counts,
    /// Of calls that began in the owner and ended in another thread.
    others: Counts,
    /// Of successes, where endpoints are ejected for their latency.
    times: AttemptTimes,
}

#[derive(Debug, Default)]
struct Counts {
    outcomes: [AtomicU64; 4],
    buckets: [AtomicU64; LATENCY_BOUNDS.len() + 1],
    sum_ns: AtomicU64,
}

impl Counts {
    #[inline]
    fn count(&self, outcome: Outcome, took: Nanos, add: impl Fn(&AtomicU64, u64)) {
        add(&self.outcomes[place(outcome)], 1);
        if outcome == Outcome::Cancelled {
            return;
        }
        let at = LATENCY_BOUNDS.partition_point(|bound| *bound < took);
        add(&self.buckets[at], 1);
        add(&self.sum_ns, took.0);
    }

    fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes[place(outcome)].load(Ordering::Relaxed)
    }
}

/// Adds where nobody else writes.
#[inline]
fn add_alone(count: &AtomicU64, more: u64) {
    count.store(
        count.load(Ordering::Relaxed).wrapping_add(more),
        Ordering::Relaxed,
    );
}

impl EndpointCounters {
    /// Counts of this thread.
    pub(crate) fn new() -> Self {
        Self {
            owner: thread(),
            own: Counts::default(),
            others: Counts::default(),
            times: AttemptTimes::default(),
        }
    }

    #[inline]
    pub(crate) fn count(&self, outcome: Outcome, took: Nanos, is_timed: bool) {
        if is_timed && outcome == Outcome::Success {
            self.times.count_shared(took);
        }
        match thread() == self.owner {
            true => self.own.count(outcome, took, add_alone),
            false => self.others.count(outcome, took, |count, more| {
                count.fetch_add(more, Ordering::Relaxed);
            }),
        }
    }

    fn of(&self, outcome: Outcome) -> u64 {
        self.own.of(outcome) + self.others.of(outcome)
    }

    /// Adds what was counted, as outlier detection wants it.
    pub(crate) fn add_attempts(&self, sum: &mut AttemptTotals) {
        sum.successes += self.of(Outcome::Success);
        sum.failures += self.of(Outcome::Failure) + self.of(Outcome::TooMuch);
        self.times.add_to(sum);
    }

    /// Adds what was counted, as it is told.
    pub(crate) fn add_calls(&self, sum: &mut EndpointCalls) {
        sum.successes += self.of(Outcome::Success);
        sum.failures += self.of(Outcome::Failure);
        sum.too_much += self.of(Outcome::TooMuch);
        sum.cancelled += self.of(Outcome::Cancelled);
        for counts in [&self.own, &self.others] {
            let buckets = counts.buckets.each_ref();
            sum.latency.add(&Histogram {
                buckets: buckets.map(|count| count.load(Ordering::Relaxed)),
                sum: Nanos(counts.sum_ns.load(Ordering::Relaxed)),
            });
        }
    }
}

fn place(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Cancelled => 0,
        Outcome::Failure => 1,
        Outcome::Success => 2,
        Outcome::TooMuch => 3,
    }
}

/// What is counted of calls beside how they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Counted {
    /// An endpoint was chosen as the strategy proposed.
    Picked,
    /// Another one than that.
    Fallback,
    /// A slot was waited for.
    Queued,
    /// Nobody could be chosen.
    None,
    /// A try after the first.
    Retry,
    /// A retry that was not in the budget.
    OverBudget,
    /// A second try beside a slow first one.
    Hedge,
    /// It was turned away by the queue.
    Shed,
}

/// How many kinds there are.
pub(crate) const COUNTED: usize = 8;

/// One thread's counts of a cluster. Written by that thread alone, so without an operation that costs.
#[derive(Debug)]
pub(crate) struct ThreadCounters {
    pub(crate) window: RequestWindow,
    counts: [AtomicU64; COUNTED],
}

impl ThreadCounters {
    pub(crate) fn new(budget: &RetryPolicy) -> Self {
        Self {
            window: RequestWindow::new(budget),
            counts: Default::default(),
        }
    }

    #[inline]
    pub(crate) fn count(&self, what: Counted) {
        add_alone(&self.counts[what as usize], 1);
    }

    pub(crate) fn add_to(&self, sums: &mut [u64; COUNTED]) {
        for (sum, count) in sums.iter_mut().zip(&self.counts) {
            *sum += count.load(Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_end_in_other_threads_are_counted_too() {
        let counters = EndpointCounters::new();
        let took = Nanos::from_millis(3);
        counters.count(Outcome::Success, took, false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    counters.count(Outcome::Success, took, false);
                    counters.count(Outcome::Failure, took, false);
                    counters.count(Outcome::Cancelled, took, false);
                });
            }
        });
        let mut calls = EndpointCalls::default();
        counters.add_calls(&mut calls);
        let counts = (calls.successes, calls.failures, calls.cancelled);
        assert_eq!(counts, (3, 2, 2));
        assert_eq!(calls.latency.count(), 5);
        assert_eq!(calls.latency.sum, Nanos::from_millis(15));
        let mut attempts = AttemptTotals::default();
        counters.add_attempts(&mut attempts);
        assert_eq!((attempts.successes, attempts.failures), (3, 2));
    }
}
