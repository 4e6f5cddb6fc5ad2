//! Orders and counts that are known beforehand, through the public API.

use std::sync::Mutex;
use std::thread;

use evenkeel_core::reference::SmoothWeightedRoundRobin;
use evenkeel_core::strategy::{Place, registry};
use evenkeel_core::{Picker, PickerSeed, Snapshot};
use evenkeel_testkit::laws::{Subject, cluster, counts, fits, form, pick};
use proptest::prelude::*;

const SEED: PickerSeed = PickerSeed {
    root: 12,
    picker: 0,
};

/// Of a strategy by its name, or that of a form of it.
fn snapshot(name: &str, weights: &[u16]) -> Snapshot {
    cluster(&Subject::new(form(name)), weights).snapshot()
}

/// The first picks from the start of the schedule, as letters.
fn letters(strategy: &str, weights: &[u16], picks: usize) -> String {
    letters_of(&snapshot(strategy, weights), picks)
}

fn letters_of(snapshot: &Snapshot, picks: usize) -> String {
    let mut picker = Picker::starting_at(SEED, Place::START);
    (0..picks)
        .map(|_| char::from(b'A' + pick(&mut picker, snapshot) as u8))
        .collect()
}

#[test]
fn round_robin_goes_abc() {
    assert_eq!(letters("round_robin", &[1, 1, 1], 6), "ABCABC");
    assert_eq!(letters("round_robin", &[9, 1, 3], 6), "ABCABC");
}

/// One picker that 50 threads share is exact over all; 50 pickers are exact each.
#[test]
fn round_robin_is_exact_over_fifty_threads() {
    let snapshot = snapshot("round_robin", &[1, 1, 1]);
    let shared = Mutex::new(Picker::new(SEED));
    let own: Vec<Vec<u64>> = thread::scope(|scope| {
        let work = |picker: u32| {
            let (shared, snapshot) = (&shared, &snapshot);
            let mut own = Picker::new(PickerSeed { picker, ..SEED });
            scope.spawn(move || {
                let mut shared_counts = vec![0; 3];
                for _ in 0..100 {
                    shared_counts[pick(&mut shared.lock().expect("whole"), snapshot)] += 1;
                }
                let own_counts = counts(&mut own, snapshot, 100);
                assert!(own_counts.iter().all(|count| (33..=34).contains(count)));
                shared_counts
            })
        };
        let threads: Vec<_> = (0..50).map(work).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|counts| counts.expect("no panic")).collect()
    });
    let mut sums: Vec<u64> = (0..3)
        .map(|at| own.iter().map(|one| one[at]).sum())
        .collect();
    sums.sort_unstable();
    assert_eq!(sums, [1666, 1667, 1667]);
}

/// The cycles of nginx's algorithm; `reference::smooth` has them from the scan itself.
#[test]
fn weighted_round_robin_is_smooth() {
    let letters = |weights, picks| letters("weighted_round_robin", weights, picks);
    assert_eq!(letters(&[5, 1], 12), "AAABAAAAABAA");
    assert_eq!(letters(&[2, 1], 6), "ABAABA");
    assert_eq!(letters(&[5, 1, 1], 7), "AABACAA");
    assert_eq!(letters(&[3, 2], 5), "ABABA");
    assert_eq!(letters(&[4, 2, 1], 7), "ABACABA");
    assert_eq!(letters(&[2, 7, 1], 10), "BABBBCBABB");
    assert_eq!(letters(&[3, 1, 1, 1], 6), "ABACDA");
    assert_eq!(letters(&[1, 1, 1], 6), "ABCABC");
}

#[test]
fn weights_count_by_their_proportion() {
    assert_eq!(letters("weighted_round_robin", &[100, 50], 6), "ABAABA");
}

#[test]
fn plain_weighted_round_robin_goes_in_blocks() {
    let snapshot = snapshot("plain_weighted_round_robin", &[2, 7, 1]);
    assert_eq!(letters_of(&snapshot, 12), "AABBBBBBBCAA");
}

/// The shares are exactly 2, 7 and 1 (see the unit tests of the alias table); here their counts.
#[test]
fn weighted_random_follows_2_7_1() {
    let snapshot = snapshot("weighted_random", &[2, 7, 1]);
    let counts = counts(&mut Picker::new(SEED), &snapshot, 100_000);
    fits(&counts, &[2.0, 7.0, 1.0]).expect("2, 7, 1");
}

#[test]
fn a_million_picks_follow_the_weights() {
    const PICKS: usize = 1_000_000;
    // Where latency decides, shares follow weights only under load: the laws have that.
    let strategies = registry::STRATEGIES.iter();
    for strategy in strategies.filter(|strategy| !strategy.traits.latency_aware) {
        let weights = [5, 4, 3, 2, 1, 1];
        let snapshot = snapshot(strategy.name, &weights);
        let shares: Vec<f64> = match strategy.traits.weighted {
            true => weights.iter().map(|weight| f64::from(*weight)).collect(),
            false => vec![1.0; 6],
        };
        let total: f64 = shares.iter().sum();
        let counts = counts(&mut Picker::new(SEED), &snapshot, PICKS);
        if strategy.traits.exact {
            for (count, share) in counts.iter().zip(&shares) {
                let off = *count as f64 - PICKS as f64 * share / total;
                assert!(off.abs() <= 1.0, "{}: {counts:?}", strategy.name);
            }
        } else if let Err(off) = Subject::registered(strategy).fits(&counts, &shares) {
            panic!("{}: {off}", strategy.name);
        }
    }
}

#[test]
fn with_nothing_in_flight_the_first_does_not_win() {
    for size in [6, 60] {
        let snapshot = snapshot("least_request", &vec![1; size]);
        let counts = counts(&mut Picker::new(SEED), &snapshot, 60_000);
        fits(&counts, &vec![1.0; size]).expect("even shares");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The cycle that is worked out beforehand is the scan's, pick by pick, whatever the weights.
    #[test]
    fn the_cycle_is_that_of_the_scan(weights in prop::collection::vec(1u16..=60, 1..20)) {
        let snapshot = snapshot("weighted_round_robin", &weights);
        let mut picker = Picker::starting_at(SEED, Place::START);
        let wide: Vec<u32> = weights.iter().map(|weight| u32::from(*weight)).collect();
        let mut scan = SmoothWeightedRoundRobin::new(&wide);
        for _ in 0..2 * wide.iter().sum::<u32>() {
            prop_assert_eq!(pick(&mut picker, &snapshot), scan.next_index());
        }
    }
}

/// Cycles too long to be written down: no count is ever more than 1.01 from its share.
#[test]
fn deadlines_are_as_smooth_as_the_scan() {
    let mut one_heavy = vec![6_553; 100];
    one_heavy[40] = 65_535;
    for (weights, picks) in [
        (vec![65_535, 13_107, 13_106], 91_748),
        (one_heavy, 30_000),
        ((0..1_000).map(|at| 1 + at * 37 % 100).collect(), 50_500),
    ] {
        let snapshot = snapshot("weighted_round_robin", &weights);
        let mut picker = Picker::starting_at(SEED, Place::START);
        let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        let mut counts = vec![0.0; weights.len()];
        let off = |picks: u32, count: f64, weight: u16| {
            (count - f64::from(picks) * f64::from(weight) / total).abs()
        };
        for done in 1..=picks {
            let index = pick(&mut picker, &snapshot);
            // An endpoint is ahead the most right after its pick, and behind right before it.
            assert!(off(done - 1, counts[index], weights[index]) <= 1.01);
            counts[index] += 1.0;
            assert!(off(done, counts[index], weights[index]) <= 1.01);
        }
    }
}
