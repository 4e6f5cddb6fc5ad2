//! The budget for retries against a list of all that has happened.

use evenkeel_core::{Nanos, RequestWindow, RetryBudget, RetryPolicy};
use proptest::prelude::*;

/// How many parts the budget cuts its window into: what it may be off by.
const PARTS: u64 = 16;

/// What happens next, and how long after the last event.
#[derive(Clone, Copy, Debug)]
enum Event {
    Request { worker: usize },
    Retry,
    GiveBack,
}

/// Remembers everything, and counts it from the start each time.
#[derive(Default)]
struct Reference {
    requests: Vec<u64>,
    retries: Vec<u64>,
}

impl Reference {
    /// The most retries in the window of `span` that ends at `now`, by its requests.
    fn allowance(&self, policy: &RetryPolicy, now: u64, span: u64) -> u64 {
        let requests = within(&self.requests, now, span) as f64;
        let beside = f64::from(policy.per_second) * policy.window.0 as f64 / 1e9;
        (requests * policy.ratio + beside) as u64
    }
}

fn within(times: &[u64], now: u64, span: u64) -> u64 {
    let is_within = |at: &&u64| **at <= now && **at + span > now;
    times.iter().filter(is_within).count() as u64
}

fn policies() -> impl Strategy<Value = RetryPolicy> {
    let windows = prop::sample::select(vec![1, 10, 100, 1_000, 10_000]);
    (0.0..=1.0, 0_u32..20, windows).prop_map(|(ratio, per_second, window)| RetryPolicy {
        ratio,
        per_second,
        window: Nanos::from_millis(window),
    })
}

/// Bursts, trickles and long pauses, in sixty-fourths of a window.
fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let pause = prop_oneof![6 => Just(0), 6 => 0_u64..4, 2 => 0_u64..40, 1 => 60_u64..200];
    let event = prop_oneof![
        8 => (0_usize..3).prop_map(|worker| Event::Request { worker }),
        8 => Just(Event::Retry),
        1 => Just(Event::GiveBack),
    ];
    prop::collection::vec((pause, event), 1..400)
}

fn check(policy: RetryPolicy, events: Vec<(u64, Event)>, start: u64, jitter: u64) {
    let (window, part) = (policy.window.0, policy.window.0 / PARTS);
    let budget = RetryBudget::new(policy);
    let workers: Vec<RequestWindow> = (0..3).map(|_| RequestWindow::new(&policy)).collect();
    let mut reference = Reference::default();
    let mut now = start;
    for (number, (pause, event)) in events.into_iter().enumerate() {
        now += pause * window / 64 + jitter * number as u64 % 1_000;
        match event {
            Event::Request { worker } => {
                workers[worker].count(Nanos(now));
                reference.requests.push(now);
            }
            Event::GiveBack => {
                // Only what was taken just now is given back.
                if reference.retries.last() == Some(&now) {
                    budget.give_back(Nanos(now));
                    reference.retries.pop();
                }
            }
            Event::Retry => {
                let most = reference.allowance(&policy, now, window);
                let surely = reference.allowance(&policy, now, window - part);
                let longer = within(&reference.retries, now, window + 2 * part);
                let granted = budget.spend(Nanos(now), &workers);
                if granted {
                    reference.retries.push(now);
                    let retries = within(&reference.retries, now, window);
                    assert!(retries <= most, "{retries} of {most} at {now}");
                } else {
                    assert!(longer >= surely, "{longer} of {surely} at {now}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// No window that ends with a retry has more than the policy allows, and none is refused that
    /// fits into a window an eighth longer with the requests of one a sixteenth shorter.
    #[test]
    fn the_budget_is_the_policy_to_within_a_part(
        policy in policies(),
        events in events(),
        start in 0_u64..100_000_000_000,
        jitter in 0_u64..1_000,
    ) {
        check(policy, events, start, jitter);
    }
}

/// D08: threads that ask at once share one budget.
#[test]
fn d08_threads_that_ask_at_once_get_no_more() {
    let policy = RetryPolicy {
        ratio: 0.2,
        per_second: 10,
        window: Nanos::from_secs(10),
    };
    let budget = RetryBudget::new(policy);
    let workers: Vec<RequestWindow> = (0..4).map(|_| RequestWindow::new(&policy)).collect();
    let granted: usize = std::thread::scope(|scope| {
        let ask = |worker: usize| {
            let (budget, workers) = (&budget, &workers);
            scope.spawn(move || {
                let asked = (0..1_000).filter(|number| {
                    let now = Nanos::from_millis(50_000 + number);
                    workers[worker].count(now);
                    budget.spend(now, workers)
                });
                asked.count()
            })
        };
        let threads: Vec<_> = (0..4).map(ask).collect();
        let counts = threads
            .into_iter()
            .map(|thread| thread.join().expect("it counts"));
        counts.sum()
    });
    assert!(granted <= 4_000 / 5 + 100, "{granted}");
    assert!(granted > 700, "{granted}");
}
