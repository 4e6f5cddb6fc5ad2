//! What is merely counted: per worker, summed when somebody asks.
//!
//! Each counter has one writer, so counting is a load and a store on memory that no other worker
//! writes; a reader may see a request's count before its duration.

mod figures;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use evenkeel_core::health::{AttemptTimes, AttemptTotals};
use evenkeel_core::{
    Nanos, Priority, RequestWindow, RetryPolicy, Samples, ShedReason, Signal, SignalSum, unpoisoned,
};

use super::decision_times::DecisionCells;
use super::durations::{Durations, Histogram};

/// How a request ended, as metrics tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum CodeClass {
    /// A status 1xx.
    Informational,
    /// A status 2xx.
    Success,
    /// A status 3xx.
    Redirection,
    /// A status 4xx.
    ClientError,
    /// A status 5xx, and whatever lies beyond.
    ServerError,
    /// The client went away before the answer was complete.
    Cancelled,
}

impl CodeClass {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Informational,
        Self::Success,
        Self::Redirection,
        Self::ClientError,
        Self::ServerError,
        Self::Cancelled,
    ];

    /// The class of a status code.
    #[must_use]
    pub const fn of(status: u16) -> Self {
        match status {
            ..=199 => Self::Informational,
            200..=299 => Self::Success,
            300..=399 => Self::Redirection,
            400..=499 => Self::ClientError,
            500.. => Self::ServerError,
        }
    }

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Informational => "1xx",
            Self::Success => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Requests that were turned away, by priority and reason.
pub type Sheds = [[u64; ShedReason::ALL.len()]; Priority::ALL.len()];

/// One worker's counts for one endpoint.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct EndpointCounters {
    codes: [AtomicU64; CodeClass::ALL.len()],
    durations: Durations,
    failures: AtomicU64,
    successes: AtomicU64,
    turned_away: AtomicU64,
    idle: AtomicU64,
    active: AtomicU64,
    reports: AtomicU64,
    bad_reports: AtomicU64,
    /// What was heard of its load; poured here by the worker's pulse, off the path of requests.
    heard: Mutex<SignalSum>,
    /// What successful attempts took; only where somebody asks for it.
    attempts: OnceLock<Box<AttemptTimes>>,
    /// Answers that say how much it takes at once, until the control side takes them; only where that is
    /// learned.
    samples: AtomicSamples,
}

/// Answers since somebody took them.
#[derive(Debug, Default)]
struct AtomicSamples {
    count: AtomicU64,
    sum: AtomicU64,
    in_flight: AtomicU64,
}

/// Adds to a counter that nobody else writes.
#[inline]
pub(super) fn add(counter: &AtomicU64, amount: u64) {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before.wrapping_add(amount), Ordering::Relaxed);
}

impl EndpointCounters {
    /// Counts a request that ended.
    #[inline]
    pub(crate) fn finish(&self, class: CodeClass, duration: Nanos) {
        add(&self.codes[class as usize], 1);
        self.durations.count(duration);
    }

    /// Counts an answer that says how much the endpoint takes at once. Only where that is learned: these
    /// counts have two writers.
    pub(crate) fn sample(&self, samples: Samples) {
        let order = Ordering::Relaxed;
        self.samples.count.fetch_add(samples.count, order);
        self.samples.sum.fetch_add(samples.sum.0, order);
        let in_flight = u64::from(samples.in_flight);
        self.samples.in_flight.fetch_max(in_flight, order);
    }

    /// Takes what was counted so. An answer that comes meanwhile may be split over two takings.
    pub(crate) fn take_samples<'a>(all: impl Iterator<Item = &'a Self>) -> Samples {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        let samples = |counters: &Self| Samples {
            count: take(&counters.samples.count),
            sum: Nanos(take(&counters.samples.sum)),
            in_flight: take(&counters.samples.in_flight) as u32,
        };
        all.map(samples).fold(Samples::default(), Samples::and)
    }

    /// Counts an attempt that failed.
    pub(crate) fn fail(&self) {
        add(&self.failures, 1);
    }

    /// Counts an attempt that succeeded, and how long it took if that is asked for.
    #[inline]
    pub(crate) fn succeed(&self, took: Option<Nanos>) {
        add(&self.successes, 1);
        if let Some(took) = took {
            self.attempts.get_or_init(Box::default).count(took);
        }
    }

    /// Counts an attempt that was answered with 429.
    pub(crate) fn turn_away(&self) {
        add(&self.turned_away, 1);
    }

    /// Adds what was counted of attempts.
    pub(crate) fn add_attempts(&self, sum: &mut AttemptTotals) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        sum.successes += read(&self.successes);
        sum.failures += read(&self.failures) + read(&self.turned_away);
        if let Some(attempts) = self.attempts.get() {
            attempts.add_to(sum);
        }
    }

    /// Counts connections: those that idle, and those that carry a request.
    pub(crate) fn connections(&self, idle: i64, active: i64) {
        add(&self.idle, idle as u64);
        add(&self.active, active as u64);
    }

    /// Counts a load report that was read.
    pub(crate) fn report_read(&self) {
        // Rare, and not by its worker alone: answers to checks may say it too.
        self.reports.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a load report that made no sense.
    pub(crate) fn report_refused(&self) {
        self.bad_reports.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes over what was heard of its load.
    pub(crate) fn pour(&self, heard: SignalSum) {
        unpoisoned(self.heard.lock()).merge(heard);
    }

    /// What all workers have heard since the last time.
    pub(crate) fn take_heard<'a>(all: impl Iterator<Item = &'a Self>) -> Option<Signal> {
        let mut sum = SignalSum::default();
        for counters in all {
            sum.merge(std::mem::take(&mut *unpoisoned(counters.heard.lock())));
        }
        sum.take()
    }

    fn add_to(&self, totals: &mut Totals) {
        for (total, cell) in totals.codes.iter_mut().zip(&self.codes) {
            *total += cell.load(Ordering::Relaxed);
        }
        self.durations.add_to(&mut totals.durations);
        totals.failures += self.failures.load(Ordering::Relaxed);
        totals.reports += self.reports.load(Ordering::Relaxed);
        totals.bad_reports += self.bad_reports.load(Ordering::Relaxed);
        let gauge = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        totals.idle_connections = totals.idle_connections.wrapping_add(gauge(&self.idle));
        totals.active_connections = totals.active_connections.wrapping_add(gauge(&self.active));
    }

    pub(crate) fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Totals {
        let mut totals = Totals::default();
        for counters in all {
            counters.add_to(&mut totals);
        }
        totals
    }
}

/// One worker's counts of decisions and retries in one cluster.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct ClusterCounters {
    picked: AtomicU64,
    fallback: AtomicU64,
    queued: AtomicU64,
    none: AtomicU64,
    sheds: [[AtomicU64; ShedReason::ALL.len()]; Priority::ALL.len()],
    waits: Durations,
    retried: AtomicU64,
    retry_failed: AtomicU64,
    over_budget: AtomicU64,
    /// How long decisions took.
    pub(crate) times: DecisionCells,
    /// Requests in the window of the retry budget.
    pub(crate) requests: RequestWindow,
    /// Answers that the gateway made itself.
    pub(crate) own: EndpointCounters,
}

impl ClusterCounters {
    pub(crate) fn new(budget: &RetryPolicy) -> Self {
        Self {
            picked: AtomicU64::new(0),
            fallback: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            none: AtomicU64::new(0),
            sheds: Default::default(),
            waits: Durations::default(),
            retried: AtomicU64::new(0),
            retry_failed: AtomicU64::new(0),
            over_budget: AtomicU64::new(0),
            times: DecisionCells::default(),
            requests: RequestWindow::new(budget),
            own: EndpointCounters::default(),
        }
    }

    /// Counts how a try that was not the first ended.
    pub(crate) fn retry_ended(&self, success: bool) {
        add(
            if success {
                &self.retried
            } else {
                &self.retry_failed
            },
            1,
        );
    }

    pub(crate) fn retry_over_budget(&self) {
        add(&self.over_budget, 1);
    }

    /// Retries by outcome: success, failure, over budget.
    pub(crate) fn retries(&self) -> [u64; 3] {
        [&self.retried, &self.retry_failed, &self.over_budget]
            .map(|count| count.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn picked(&self, fallback: bool) {
        add(
            if fallback {
                &self.fallback
            } else {
                &self.picked
            },
            1,
        );
    }

    pub(crate) fn none(&self) {
        add(&self.none, 1);
    }

    /// Counts a decision that waited for its slot.
    pub(crate) fn queued(&self) {
        add(&self.queued, 1);
    }

    /// Counts how long it waited.
    pub(crate) fn waited(&self, span: Nanos) {
        self.waits.count(span);
    }

    /// Counts a request that was turned away, and the decision that chose nobody for it.
    pub(crate) fn shed(&self, priority: Priority, reason: ShedReason) {
        let class = Priority::ALL.iter().position(|known| *known == priority);
        let column = ShedReason::ALL.iter().position(|known| *known == reason);
        if let (Some(class), Some(column)) = (class, column) {
            add(&self.sheds[class][column], 1);
        }
        if reason != ShedReason::Capacity {
            self.none();
        }
    }

    pub(crate) fn add_sheds(&self, sum: &mut Sheds) {
        for (sum, counts) in sum.iter_mut().flatten().zip(self.sheds.iter().flatten()) {
            *sum += counts.load(Ordering::Relaxed);
        }
    }

    pub(crate) fn add_waits(&self, sum: &mut Histogram) {
        self.waits.add_to(sum);
    }

    /// Decisions by outcome: picked, fallback, queued, none.
    pub(crate) fn decisions(&self) -> [u64; 4] {
        [&self.picked, &self.fallback, &self.queued, &self.none]
            .map(|count| count.load(Ordering::Relaxed))
    }
}

/// Counts over all workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests by how they ended, in the order of [`CodeClass::ALL`].
    pub codes: [u64; CodeClass::ALL.len()],
    /// Durations of requests.
    pub durations: Histogram,
    /// Attempts that failed.
    pub failures: u64,
    /// Load reports that were read.
    pub reports: u64,
    /// Load reports that made no sense.
    pub bad_reports: u64,
    /// Connections without a request.
    pub idle_connections: u64,
    /// Connections that carry a request.
    pub active_connections: u64,
}

impl Totals {
    /// All requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.codes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_workers_add_up() {
        let workers = [EndpointCounters::default(), EndpointCounters::default()];
        workers[0].finish(CodeClass::of(204), Nanos::from_millis(3));
        workers[1].finish(CodeClass::of(503), Nanos::from_secs(100));
        workers[1].connections(2, 1);
        workers[0].connections(-1, 0);
        let totals = EndpointCounters::sum(workers.iter());
        assert_eq!(totals.codes, [0, 1, 0, 0, 1, 0]);
        assert_eq!(totals.durations.count(), 2);
        assert_eq!((totals.idle_connections, totals.active_connections), (1, 1));
    }

    #[test]
    fn quantiles_lie_within_their_bucket() {
        let counters = EndpointCounters::default();
        for _ in 0..99 {
            counters.finish(CodeClass::Success, Nanos::from_millis(3));
        }
        counters.finish(CodeClass::Success, Nanos::from_millis(700));
        let durations = EndpointCounters::sum([&counters].into_iter()).durations;
        let p50 = durations.quantile(0.5).as_millis();
        assert!((2..=5).contains(&p50), "{p50}");
        let top = durations.quantile(1.0).as_millis();
        assert!((500..=1000).contains(&top), "{top}");
        assert_eq!(Histogram::default().quantile(0.99), Nanos(0));
    }

    #[test]
    fn a_part_and_the_rest_are_the_whole() {
        let counters = EndpointCounters::default();
        let now = || EndpointCounters::sum([&counters].into_iter()).durations;
        counters.finish(CodeClass::Success, Nanos::from_millis(3));
        let first = now();
        counters.finish(CodeClass::Success, Nanos::from_millis(40));
        let second = now().since(&first);
        assert_eq!((second.count(), second.sum()), (1, Nanos::from_millis(40)));
        let mut whole = first.clone();
        whole.add(&second);
        assert_eq!(whole, now());
        // An endpoint that was removed and came back counts from 0.
        assert_eq!(first.since(&now()), first);
    }
}
