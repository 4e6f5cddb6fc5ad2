//! What is merely counted: per thread, summed when somebody asks.
//!
//! A call is counted where it was chosen, and may end on another thread: so counting is an atomic addition,
//! on memory that hardly any other thread writes.

use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::health::{AttemptTimes, AttemptTotals};
use evenkeel_core::{Nanos, Outcome, RequestWindow, RetryPolicy};

use crate::stats::{EndpointCalls, Histogram, LATENCY_BOUNDS};

/// One thread's counts of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct EndpointCounters {
    outcomes: [AtomicU64; 4],
    /// Of successes, where endpoints are ejected for their latency.
    times: AttemptTimes,
    buckets: [AtomicU64; LATENCY_BOUNDS.len() + 1],
    sum_ns: AtomicU64,
}

impl EndpointCounters {
    #[inline]
    pub(crate) fn count(&self, outcome: Outcome, took: Nanos, is_timed: bool) {
        self.outcomes[place(outcome)].fetch_add(1, Ordering::Relaxed);
        if outcome == Outcome::Cancelled {
            return;
        }
        if is_timed && outcome == Outcome::Success {
            self.times.count_shared(took);
        }
        let at = LATENCY_BOUNDS.partition_point(|bound| *bound < took);
        self.buckets[at].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(took.0, Ordering::Relaxed);
    }

    /// Adds what was counted, as outlier detection wants it.
    pub(crate) fn add_attempts(&self, sum: &mut AttemptTotals) {
        let read = |outcome| self.outcomes[place(outcome)].load(Ordering::Relaxed);
        sum.successes += read(Outcome::Success);
        sum.failures += read(Outcome::Failure) + read(Outcome::TooMuch);
        self.times.add_to(sum);
    }

    /// Adds what was counted, as it is told.
    pub(crate) fn add_calls(&self, sum: &mut EndpointCalls) {
        let read = |outcome| self.outcomes[place(outcome)].load(Ordering::Relaxed);
        sum.successes += read(Outcome::Success);
        sum.failures += read(Outcome::Failure);
        sum.too_much += read(Outcome::TooMuch);
        sum.cancelled += read(Outcome::Cancelled);
        let buckets = self.buckets.each_ref();
        let read = Histogram {
            buckets: buckets.map(|count| count.load(Ordering::Relaxed)),
            sum: Nanos(self.sum_ns.load(Ordering::Relaxed)),
        };
        sum.latency.add(&read);
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

/// One thread's counts of a cluster.
#[derive(Debug)]
pub(crate) struct ThreadCounters {
    /// Written by that thread alone.
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
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_to(&self, sums: &mut [u64; COUNTED]) {
        for (sum, count) in sums.iter_mut().zip(&self.counts) {
            *sum += count.load(Ordering::Relaxed);
        }
    }
}
