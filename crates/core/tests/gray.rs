//! Endpoints that are slow or fail fast, under clients that each wait for their answer: what the strategies
//! that look at load make of them, on a clock of our own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_core::strategy::registry;
use evenkeel_core::{Endpoint, Lease, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed};

const SIZE: usize = 6;
const CLIENTS: usize = 24;
const SICK: usize = 2;

/// How an endpoint answers.
#[derive(Clone, Copy)]
struct Answers {
    after_us: u64,
    fails: bool,
}

/// What fell on the sick endpoint in a span, and how long the others' requests took at the 99th percentile.
struct Seen {
    share: f64,
    p99_us: u64,
}

/// Runs closed-loop clients: the sick endpoint is well up to `sick_at_ms`; what comes after `from_ms` is
/// looked at. Service times of the others vary by a third, so that nothing runs in step.
fn run(strategy: &str, sick: Answers, sick_at_ms: u64, from_ms: u64, until_ms: u64) -> Seen {
    let mut members = Membership::new("gray", registry::build(strategy, &[]).expect("registered"));
    for at in 0..SIZE {
        members.upsert(Endpoint::new(format!("e{at}"), "10.0.0.1:80"));
    }
    members.set_failure_latency(Nanos::from_secs(1));
    // Two generations: the second one knows the median latency.
    let first = members.snapshot();
    let mut picker = Picker::new(PickerSeed {
        root: 11,
        picker: 0,
    });
    for _ in 0..200 {
        let lease = picker
            .pick(&first, &PickContext::at(Nanos(0)))
            .expect("all are well");
        lease.finish(Outcome::Success, Nanos::from_millis(WELL_US / 1_000));
    }
    let snapshot = members.snapshot();
    let mut due: BinaryHeap<_> = (0..CLIENTS).map(|client| Reverse((0u64, client))).collect();
    let mut held: Vec<Option<(Lease<'_>, u64)>> = (0..CLIENTS).map(|_| None).collect();
    let (mut of_sick, mut all, mut others) = (0u32, 0u32, Vec::new());
    let mut rng = evenkeel_core::Rng::new(7);
    while let Some(Reverse((us, client))) = due.pop() {
        if us > until_ms * 1_000 {
            break;
        }
        let now = Nanos(us * 1_000 + 1_000_000_000);
        let is_sick = |index: usize, us: u64| index == SICK && us >= sick_at_ms * 1_000;
        if let Some((lease, began)) = held[client].take() {
            let fails = sick.fails && is_sick(lease.index(), began);
            if lease.index() != SICK && began >= from_ms * 1_000 {
                others.push(us - began);
            }
            let outcome = if fails {
                Outcome::Failure
            } else {
                Outcome::Success
            };
            lease.finish(outcome, now);
        }
        let lease = picker
            .pick(&snapshot, &PickContext::at(now))
            .expect("somebody");
        if us >= from_ms * 1_000 {
            all += 1;
            of_sick += u32::from(lease.index() == SICK);
        }
        let takes = if is_sick(lease.index(), us) {
            sick.after_us
        } else {
            WELL_US * 2 / 3 + rng.next_u64() % (WELL_US * 2 / 3)
        };
        due.push(Reverse((us + takes, client)));
        held[client] = Some((lease, us));
    }
    others.sort_unstable();
    Seen {
        share: f64::from(of_sick) / f64::from(all),
        p99_us: others[others.len() * 99 / 100],
    }
}

const WELL_US: u64 = 30_000;

/// Sixty times slower: requests pile up there, and that is all that is known.
#[test]
fn a_gray_endpoint_gets_little() {
    let sick = Answers {
        after_us: 60 * WELL_US,
        fails: false,
    };
    for (strategy, most) in [("least_request", 0.10), ("peak_ewma", 0.04)] {
        let well = run(
            strategy,
            Answers {
                after_us: WELL_US,
                fails: false,
            },
            0,
            2_000,
            20_000,
        );
        let seen = run(strategy, sick, 5_000, 5_000, 35_000);
        assert!(
            seen.share < most,
            "{strategy}: {:.3} of the requests",
            seen.share
        );
        let ratio = seen.p99_us as f64 / well.p99_us as f64;
        assert!(
            (0.9..1.1).contains(&ratio),
            "{strategy}: p99 of the others is {ratio:.2} of normal"
        );
    }
}

/// An error in a millisecond looks idle and fast, without ejection too.
#[test]
fn a_black_hole_attracts_little() {
    let sick = Answers {
        after_us: 1_000,
        fails: true,
    };
    for strategy in ["least_request", "peak_ewma", "prequal"] {
        let seen = run(strategy, sick, 5_000, 7_000, 17_000);
        assert!(
            seen.share < 0.15,
            "{strategy}: {:.3} of the requests",
            seen.share
        );
    }
}
