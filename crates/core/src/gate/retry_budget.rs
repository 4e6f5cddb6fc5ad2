//! How much may be tried again: retries that are not bounded multiply the load on a cluster that
//! fails because of load.
//!
//! Source: Finagle's `RetryBudget` (a share of the requests, and a few a second beside), with a
//! window that slides instead of tokens that age.

use crate::clock::Nanos;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Into how many parts a window is cut. A request counts until its part has left the window, a
/// retry until the part after it has.
const PARTS: usize = 16;

/// How many retries there may be.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Nanos, RequestWindow, RetryBudget, RetryPolicy};
///
/// let policy = RetryPolicy { ratio: 0.5, per_second: 0, ..RetryPolicy::default() };
/// let (budget, requests) = (RetryBudget::new(policy), RequestWindow::new(&policy));
/// let now = Nanos::from_secs(60);
/// requests.count(now);
/// requests.count(now);
/// assert!(budget.spend(now, [&requests]));
/// assert!(!budget.spend(now, [&requests]), "half of two");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Retries for each request, from 0.
    pub ratio: f64,
    /// Retries a second beside, so that a quiet cluster may retry at all.
    pub per_second: u32,
    /// Over what time both are counted, at least 1 ms; a multiple of 16 ns, or it is cut to one.
    pub window: Nanos,
}

impl Default for RetryPolicy {
    /// A fifth of the requests and ten a second, over ten seconds.
    fn default() -> Self {
        Self {
            ratio: 0.2,
            per_second: 10,
            window: Nanos::from_secs(10),
        }
    }
}

impl RetryPolicy {
    fn part(&self) -> u64 {
        (self.window.0 / PARTS as u64).max(1)
    }

    /// The most retries in a window of so many requests.
    fn allowance(&self, requests: u64) -> u64 {
        let beside = u64::from(self.per_second) as f64 * self.window.0 as f64 / 1e9;
        (requests as f64 * self.ratio + beside) as u64
    }
}

/// Counts events in a sliding window. One part more than the window has, for the one that is under
/// way.
#[derive(Debug, Default)]
struct Parts {
    /// The part's number in the high half, its count in the low half.
    cells: [AtomicU64; PARTS + 1],
}

const COUNT_BITS: u32 = 32;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

impl Parts {
    fn cell(&self, part: u64) -> &AtomicU64 {
        &self.cells[(part % (PARTS as u64 + 1)) as usize]
    }

    /// The count of a part, 0 when its cell holds another one.
    fn count(&self, part: u64) -> u64 {
        let packed = self.cell(part).load(Ordering::Relaxed);
        if packed >> COUNT_BITS == part & COUNT_MASK {
            packed & COUNT_MASK
        } else {
            0
        }
    }

    /// Takes one back that was added; nobody else may write at the same time.
    fn take_back(&self, part: u64) {
        if self.count(part) > 0 {
            let cell = self.cell(part);
            cell.store(cell.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        }
    }

    /// Adds one; nobody else may write at the same time.
    fn add(&self, part: u64) {
        let count = (self.count(part) + 1).min(COUNT_MASK);
        let packed = (part & COUNT_MASK) << COUNT_BITS | count;
        self.cell(part).store(packed, Ordering::Relaxed);
    }

    /// The events of the `parts` parts up to `last`.
    fn sum(&self, last: u64, parts: usize) -> u64 {
        let first = last.saturating_sub(parts as u64 - 1);
        (first..=last).map(|part| self.count(part)).sum()
    }
}

/// The requests of one worker in the window of a budget.
///
/// Written by that worker alone, without an atomic operation that costs: counting touches no memory
/// that another worker writes.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Nanos, RequestWindow, RetryBudget, RetryPolicy};
///
/// let policy = RetryPolicy { ratio: 0.5, per_second: 0, ..RetryPolicy::default() };
/// let (budget, requests) = (RetryBudget::new(policy), RequestWindow::new(&policy));
/// let now = Nanos::from_secs(60);
/// requests.count(now);
/// requests.count(now);
/// assert!(budget.spend(now, [&requests]));
/// assert!(!budget.spend(now, [&requests]), "half of two");
/// ```
#[derive(Debug)]
#[repr(align(128))]
pub struct RequestWindow {
    part: AtomicU64,
    parts: Parts,
}

impl RequestWindow {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(policy: &RetryPolicy) -> Self {
        Self {
            part: AtomicU64::new(policy.part()),
            parts: Parts::default(),
        }
    }

    /// Counts a request. To be called by one thread only.
    #[inline]
    pub fn count(&self, now: Nanos) {
        self.parts.add(now.0 / self.part.load(Ordering::Relaxed));
    }
}

/// The retries of a cluster, over all workers.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Nanos, RequestWindow, RetryBudget, RetryPolicy};
///
/// let policy = RetryPolicy { ratio: 0.5, per_second: 0, ..RetryPolicy::default() };
/// let (budget, requests) = (RetryBudget::new(policy), RequestWindow::new(&policy));
/// let now = Nanos::from_secs(60);
/// requests.count(now);
/// requests.count(now);
/// assert!(budget.spend(now, [&requests]));
/// assert!(!budget.spend(now, [&requests]), "half of two");
/// ```
#[derive(Debug)]
pub struct RetryBudget {
    spent: crate::sync::Mutex<Spent>,
}

#[derive(Debug)]
struct Spent {
    policy: RetryPolicy,
    parts: Parts,
    /// The last part that was looked at: the clocks of workers may be read in another order than the
    /// lock is taken in.
    newest: u64,
}

impl RetryBudget {
    /// Nothing spent yet.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            spent: crate::sync::Mutex::new(Spent {
                policy,
                parts: Parts::default(),
                newest: 0,
            }),
        }
    }

    /// How many retries there may be.
    #[must_use]
    pub fn policy(&self) -> RetryPolicy {
        crate::sync::lock(&self.spent).policy
    }

    /// Goes by another policy from now on; these are all workers. Over another window counting starts
    /// anew.
    pub fn change<'w>(
        &self,
        policy: RetryPolicy,
        workers: impl IntoIterator<Item = &'w RequestWindow>,
    ) {
        let mut spent = crate::sync::lock(&self.spent);
        if spent.policy.part() != policy.part() {
            for worker in workers {
                worker.part.store(policy.part(), Ordering::Relaxed);
            }
            (spent.parts, spent.newest) = (Parts::default(), 0);
        }
        spent.policy = policy;
    }

    /// Takes a retry, if the window that ends now has one left. O(workers).
    ///
    /// The window of the requests is a part shorter than the one of the retries, so whatever the
    /// rounding, no window that ends with a retry has more than the policy allows.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_core::{Nanos, RequestWindow, RetryBudget, RetryPolicy};
    ///
    /// let policy = RetryPolicy { ratio: 0.5, per_second: 0, window: Nanos::from_secs(10) };
    /// let (requests, budget) = (RequestWindow::new(&policy), RetryBudget::new(policy));
    /// let now = Nanos::from_secs(60);
    /// for _ in 0..4 {
    ///     requests.count(now);
    /// }
    /// let granted = (0..4).filter(|_| budget.spend(now, [&requests])).count();
    /// assert_eq!(granted, 2);
    /// ```
    #[must_use]
    pub fn spend<'w>(
        &self,
        now: Nanos,
        workers: impl IntoIterator<Item = &'w RequestWindow>,
    ) -> bool {
        let mut spent = crate::sync::lock(&self.spent);
        let last = spent.newest.max(now.0 / spent.policy.part());
        spent.newest = last;
        let requests = workers
            .into_iter()
            .map(|worker| worker.parts.sum(last, PARTS))
            .sum();
        if spent.parts.sum(last, PARTS + 1) >= spent.policy.allowance(requests) {
            return false;
        }
        spent.parts.add(last);
        true
    }

    /// Gives back a retry that was taken at `now` and not made after all.
    pub fn give_back(&self, now: Nanos) {
        let spent = crate::sync::lock(&self.spent);
        // It may have been counted a part later, but never earlier.
        let taken = now.0 / spent.policy.part()..=spent.newest;
        if let Some(part) = taken
            .rev()
            .take(PARTS + 1)
            .find(|part| spent.parts.count(*part) > 0)
        {
            spent.parts.take_back(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(policy: RetryPolicy, rate: u64, seconds: u64) -> Vec<(u64, bool)> {
        let (requests, budget) = (RequestWindow::new(&policy), RetryBudget::new(policy));
        (0..rate * seconds)
            .map(|at| {
                let now = Nanos(at * 1_000_000_000 / rate + 777);
                requests.count(now);
                (now.0, budget.spend(now, [&requests]))
            })
            .collect()
    }

    #[test]
    fn a_quiet_cluster_may_retry_from_the_start() {
        let granted = drive(RetryPolicy::default(), 1, 20);
        assert!(granted.iter().all(|(_, granted)| *granted));
    }

    /// Case D08: every request fails and asks for a retry.
    #[test]
    fn d08_no_window_has_more_than_the_policy_allows() {
        let policy = RetryPolicy::default();
        let tries = drive(policy, 500, 40);
        for (end, granted) in &tries {
            if !granted {
                continue;
            }
            let window = tries
                .iter()
                .filter(|(at, _)| at <= end && *at + policy.window.0 > *end);
            let (mut requests, mut retries) = (0, 0);
            for (_, granted) in window {
                requests += 1;
                retries += u64::from(*granted);
            }
            assert!(
                retries <= policy.allowance(requests),
                "{retries} of {requests}"
            );
        }
        let retries = tries.iter().filter(|(_, granted)| *granted).count() as f64;
        let allowed = tries.len() as f64 * 0.2 + 40.0 * 10.0;
        assert!(retries > 0.75 * allowed, "{retries} of {allowed}");
    }

    #[test]
    fn what_has_left_the_window_is_forgotten() {
        let policy = RetryPolicy {
            ratio: 0.0,
            per_second: 1,
            window: Nanos::from_secs(2),
        };
        let budget = RetryBudget::new(policy);
        let grants = |seconds| {
            (0..10)
                .filter(|_| budget.spend(Nanos::from_secs(seconds), []))
                .count()
        };
        assert_eq!(grants(100), 2);
        assert_eq!(grants(101), 0);
        assert_eq!(grants(103), 2);
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let policy = RetryPolicy {
            ratio: 0.0,
            per_second: 1,
            window: Nanos::from_secs(2),
        };
        let budget = RetryBudget::new(policy);
        let now = Nanos::from_secs(100);
        assert!(budget.spend(now, []) && budget.spend(now, []) && !budget.spend(now, []));
        budget.give_back(now);
        assert!(budget.spend(now, []) && !budget.spend(now, []));
        // Nothing is given back that was not taken.
        let budget = RetryBudget::new(policy);
        budget.give_back(now);
        assert!(budget.spend(now, []) && budget.spend(now, []) && !budget.spend(now, []));
    }

    #[test]
    fn another_policy_counts_at_once() {
        let first = RetryPolicy {
            ratio: 0.5,
            per_second: 0,
            window: Nanos::from_secs(10),
        };
        let (requests, budget) = (RequestWindow::new(&first), RetryBudget::new(first));
        let now = Nanos::from_secs(1_000);
        let grants = |asked| {
            (0..asked)
                .filter(|_| budget.spend(now, [&requests]))
                .count()
        };
        (0..8).for_each(|_| requests.count(now));
        assert_eq!(grants(9), 4);
        let more = RetryPolicy {
            ratio: 1.0,
            ..first
        };
        budget.change(more, [&requests]);
        assert_eq!(
            (budget.policy(), grants(9)),
            (more, 4),
            "what was spent still is"
        );
        let shorter = RetryPolicy {
            window: Nanos::from_secs(1),
            ..first
        };
        budget.change(shorter, [&requests]);
        assert_eq!(grants(9), 0, "nothing was counted yet");
        (0..8).for_each(|_| requests.count(now));
        assert_eq!(grants(9), 4);
    }

    #[test]
    fn a_clock_that_was_read_earlier_finds_no_fresh_budget() {
        let policy = RetryPolicy {
            ratio: 0.0,
            per_second: 1,
            window: Nanos::from_secs(1),
        };
        let budget = RetryBudget::new(policy);
        assert!(budget.spend(Nanos::from_secs(100), []));
        assert!(!budget.spend(Nanos::from_millis(99_900), []));
    }

    #[test]
    fn nothing_allowed_is_nothing() {
        let policy = RetryPolicy {
            ratio: 0.0,
            per_second: 0,
            window: Nanos(1),
        };
        assert!(!RetryBudget::new(policy).spend(Nanos(0), []));
    }
}
