//! Bugs that others had: the cases of section A that concern the core, by
//! their ids (`docs/internals/cases.md`).

use evenkeel_core::strategy::{Place, registry};
use evenkeel_core::{
    Endpoint, Lease, Membership, Nanos, NoEndpoint, Outcome, PickContext, Picker, PickerSeed,
    Snapshot,
};
use evenkeel_testkit::laws::{Subject, cluster, counts, endpoint, fits, form, id, pick};
use proptest::prelude::*;

const WEIGHTED: [&str; 3] = ["weighted_round_robin", "weighted_random", "least_request"];

fn members(name: &str, weights: &[u16]) -> Membership {
    cluster(&Subject::new(form(name)), weights)
}

fn picker(root: u64) -> Picker {
    Picker::new(PickerSeed { root, picker: 0 })
}

fn hold<'s>(picker: &mut Picker, snapshot: &'s Snapshot) -> Lease<'s> {
    let lease = picker.pick(snapshot, &PickContext::at(Nanos(0)));
    lease.expect("an endpoint")
}

/// How often fresh pickers pick each endpoint first.
fn first_picks(snapshot: &Snapshot, pickers: u64) -> Vec<u64> {
    let mut counts = vec![0; snapshot.endpoints().len()];
    for root in 0..pickers {
        counts[pick(&mut picker(root), snapshot)] += 1;
    }
    counts
}

#[test]
fn a01_a_light_endpoint_is_picked_first_as_often_as_it_should() {
    for name in WEIGHTED {
        let snapshot = members(name, &[100, 10]).snapshot();
        let light = first_picks(&snapshot, 2_000)[1];
        assert!((131..=233).contains(&light), "{name}: {light}");
    }
}

#[test]
fn a01_a_light_endpoint_gets_its_share_while_all_is_reloaded() {
    for name in WEIGHTED {
        let mut members = members(name, &[100, 10]);
        let mut picker = picker(1);
        let light = (0..440).filter(|_| pick(&mut picker, &members.snapshot()) == 1);
        let light = light.count();
        assert!((16..=64).contains(&light), "{name}: {light}");
    }
}

#[test]
fn a02_processes_do_not_start_in_step() {
    for strategy in registry::STRATEGIES {
        let counts = first_picks(&members(strategy.name, &[1; 5]).snapshot(), 20);
        let used = counts.iter().filter(|count| **count > 0).count();
        let most = counts.iter().max();
        assert!(
            used >= 3 && most <= Some(&12),
            "{}: {counts:?}",
            strategy.name
        );
    }
}

/// The cluster shrinks to one endpoint and grows again: pickers must not come out of it in step.
#[test]
fn a02_pickers_do_not_fall_into_step() {
    for name in ["round_robin", "weighted_round_robin"] {
        let one = members(name, &[1]).snapshot();
        let many = members(name, &[1; 5]).snapshot();
        let mut counts = vec![0; 5];
        for root in 0..1_000 {
            let mut picker = picker(root);
            pick(&mut picker, &many);
            pick(&mut picker, &one);
            counts[pick(&mut picker, &many)] += 1;
        }
        fits(&counts, &[1.0; 5]).expect("even shares");
    }
}

#[test]
fn a03_a_unique_heaviest_is_not_always_first() {
    for name in WEIGHTED {
        let heavy = first_picks(&members(name, &[5, 1, 1, 1, 1]).snapshot(), 1_000)[0];
        assert!((490..=620).contains(&heavy), "{name}: {heavy}");
    }
}

fn cycle(weights: &[u16], picks: usize) -> Vec<usize> {
    let snapshot = members("weighted_round_robin", weights).snapshot();
    let mut picker = Picker::starting_at(PickerSeed { root: 4, picker: 0 }, Place::START);
    (0..picks).map(|_| pick(&mut picker, &snapshot)).collect()
}

#[test]
fn a04_weights_are_interleaved() {
    let picks = cycle(&[21, 11], 64);
    assert!(picks[..3].contains(&1), "{picks:?}");
    let longest = picks.chunk_by(|a, b| a == b).map(<[_]>::len).max();
    assert_eq!(longest, Some(2));
    for window in picks.windows(32) {
        assert_eq!(window.iter().filter(|pick| **pick == 1).count(), 11);
    }
    for window in cycle(&[100, 100, 66], 532).windows(16) {
        for at in 0..3 {
            let count = window.iter().filter(|pick| **pick == at).count();
            assert!(count >= 3, "{window:?}");
        }
    }
}

#[test]
fn a06_zero_is_no_traffic() {
    for strategy in registry::STRATEGIES {
        let mut members = members(strategy.name, &[100, 0]);
        let mut picker = picker(6);
        assert_eq!(counts(&mut picker, &members.snapshot(), 1_000), [1_000, 0]);
        members.set_weight(&id(0), 0).expect("known");
        let none = members.snapshot();
        let refused = picker.pick(&none, &PickContext::default()).err();
        assert_eq!(refused, Some(NoEndpoint::NoneInService));
        members.set_weight(&id(0), 1).expect("known");
        assert_eq!(pick(&mut picker, &members.snapshot()), 0);
    }
}

#[test]
fn a09_a_cursor_at_any_value_is_good() {
    for strategy in registry::STRATEGIES {
        for size in [1, 2, 3, 5, 7] {
            for end in [u64::from(u32::MAX), u64::MAX] {
                let snapshot = members(strategy.name, &vec![1; size]).snapshot();
                let seed = PickerSeed { root: 9, picker: 0 };
                let mut picker = Picker::starting_at(seed, Place::new(end - 3, end));
                let counts = counts(&mut picker, &snapshot, 20);
                if strategy.traits.exact {
                    let fair = 20 / size as u64..=20u64.div_ceil(size as u64) + 1;
                    assert!(
                        counts.iter().all(|count| fair.contains(count)),
                        "{counts:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a10_a_ramp_does_not_start_the_schedule_anew() {
    for name in ["round_robin", "weighted_round_robin"] {
        let mut members = members(name, &[100; 11]);
        let mut picker = picker(10);
        for step in 1..=60u32 {
            let factor = (256 * step / 60).max(3);
            members.set_factor(&id(10), factor as u16).expect("known");
            let new = counts(&mut picker, &members.snapshot(), 1_000)[10];
            let share = f64::from(factor) / f64::from(2_560 + factor);
            let bound = 1_000.0 * (1.2 * share + 0.002);
            assert!(
                new as f64 <= bound,
                "{name}: {new} at {factor}/256, {bound:.1}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the weights, factors and health: who has a weight gets its share, the same weight
    /// being used for the total and for the walk.
    #[test]
    fn a11_weights_are_read_once(
        spec in prop::collection::vec((0u16..300, 1u16..=256, prop::bool::weighted(0.9)), 1..40),
        at in 0..registry::STRATEGIES.len(),
    ) {
        let strategy = registry::STRATEGIES[at];
        // A table of keys resolves small ratios only, and a ramp takes keys from one endpoint at a time.
        let keyed = strategy.traits.keyed;
        let weigh = |one: &(u16, u16, bool)| if keyed { one.0.min(1) + one.0 % 5 } else { one.0 };
        let weights: Vec<u16> = spec.iter().map(weigh).collect();
        let mut members = members(strategy.name, &weights);
        members.set_panic(evenkeel_core::PanicThreshold::OFF);
        let mut shares = Vec::new();
        for (at, ((_, factor, healthy), weight)) in spec.iter().zip(&weights).enumerate() {
            let factor = if keyed { &256 } else { factor };
            members.set_factor(&id(at), *factor).expect("known");
            members.set_healthy(&id(at), *healthy).expect("known");
            let unit = if strategy.traits.weighted { *weight } else { (*weight).min(1) };
            shares.push(if *healthy { f64::from(unit) * f64::from(*factor) } else { 0.0 });
        }
        let snapshot = members.snapshot();
        if shares.iter().all(|share| *share == 0.0) {
            prop_assert!(picker(11).pick(&snapshot, &PickContext::default()).is_err());
        } else {
            let counts = counts(&mut picker(11), &snapshot, 20_000);
            // Where latency decides, shares follow weights only under load.
            if !strategy.traits.latency_aware {
                let verdict = Subject::registered(strategy).fits(&counts, &shares);
                prop_assert_eq!(verdict, Ok(()), "{}", strategy.name);
            }
            let none = counts.iter().zip(&shares).filter(|(_, share)| **share == 0.0);
            prop_assert!(none.into_iter().all(|(count, _)| *count == 0));
        }
    }
}

#[test]
fn a13_choices_are_distinct_and_even() {
    let mut four = members("least_request", &[1; 4]);
    four.set_healthy(&id(0), false).expect("known");
    let counts = counts(&mut picker(13), &four.snapshot(), 3_000);
    assert_eq!(counts[0], 0);
    assert!(
        counts[1..]
            .iter()
            .all(|count| (890..=1_110).contains(count)),
        "{counts:?}"
    );

    let snapshot = members("least_request", &[1; 2]).snapshot();
    let mut picker = picker(13);
    let mut held: Vec<Lease<'_>> = (0..100).map(|_| hold(&mut picker, &snapshot)).collect();
    held.retain(|lease| lease.index() == 0);
    assert_eq!(held.len(), 50);
    assert!((0..200).all(|_| pick(&mut picker, &snapshot) == 1));
}

#[test]
fn a15_no_neighbour_takes_it_all() {
    for strategy in registry::STRATEGIES {
        let mut members = members(strategy.name, &[1; 4]);
        members.set_healthy(&id(1), false).expect("known");
        let counts = counts(&mut picker(15), &members.snapshot(), 900);
        let even = [0, 2, 3]
            .iter()
            .all(|at| (240..=360).contains(&counts[*at]));
        assert!(even && counts[1] == 0, "{}: {counts:?}", strategy.name);
    }
}

#[test]
fn a17_ties_are_broken_fairly() {
    let counts = counts(
        &mut picker(17),
        &members("least_request", &[1; 5]).snapshot(),
        1_000,
    );
    assert!(
        counts.iter().all(|count| (150..=250).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn a19_load_outlives_changes_of_the_cluster() {
    let mut members = members("least_request", &[1; 2]);
    let before = members.snapshot();
    let mut picker = picker(19);
    let held: Vec<_> = (0..4).map(|_| hold(&mut picker, &before)).collect();
    members.upsert(endpoint(2, 1));
    // A new address is a return: what is in flight still counts.
    members.upsert(Endpoint::new(id(0), "10.0.0.9:80"));
    let after = members.snapshot();
    let more: Vec<_> = (0..2).map(|_| hold(&mut picker, &after)).collect();
    assert!(more.iter().all(|lease| lease.index() == 2));
    drop((held, more));
    let idle = |one: &evenkeel_core::Candidate| one.state().in_flight().count() == 0;
    assert!(after.candidates().iter().all(idle));
}

#[test]
fn a23_a_cold_endpoint_is_not_flooded() {
    let mut members = members("least_request", &[1; 4]);
    let before = members.snapshot();
    let mut picker = picker(23);
    let _held: Vec<_> = (0..40).map(|_| hold(&mut picker, &before)).collect();
    members.upsert(endpoint(4, 1));
    members.set_factor(&id(4), 26).expect("known");
    let after = members.snapshot();
    let _burst: Vec<_> = (0..40).map(|_| hold(&mut picker, &after)).collect();
    let cold = after.candidates()[4].state().in_flight().count();
    assert!((1..=8).contains(&cold), "{cold}");
}

/// A picker tells snapshots of different clusters apart, even of the same generation.
#[test]
fn a_picker_may_move_to_another_cluster() {
    let mut picker = picker(2);
    let weights: Vec<u16> = (1..=300).collect();
    for name in ["round_robin", "weighted_round_robin", "least_request"] {
        for weights in [
            &weights[..],
            &weights[..1],
            &[65_535, 30_000, 7, 1_001],
            &[],
        ] {
            let snapshot = members(name, weights).snapshot();
            assert_eq!(snapshot.generation(), 1);
            let picked = picker.pick(&snapshot, &PickContext::default());
            assert_eq!(picked.is_ok(), !weights.is_empty());
        }
    }
}

/// A tier that is gone for a while goes on where it was.
#[test]
fn a_tier_that_comes_and_goes_keeps_its_place() {
    let mut members = members("round_robin", &[1; 4]);
    members.set_panic(evenkeel_core::PanicThreshold::OFF);
    let (mut picker, mut picks) = (picker(3), Vec::new());
    for _ in 0..8 {
        picks.push(pick(&mut picker, &members.snapshot()));
        for at in 0..4 {
            members.set_healthy(&id(at), false).expect("known");
        }
        let refused = picker
            .pick(&members.snapshot(), &PickContext::default())
            .err();
        assert_eq!(refused, Some(NoEndpoint::NoneHealthy));
        for at in 0..4 {
            members.set_healthy(&id(at), true).expect("known");
        }
    }
    let next = |pair: &[usize]| pair[1] == (pair[0] + 1) % 4;
    assert!(picks.windows(2).all(next), "{picks:?}");
}

/// A failure weighs for ten median latencies, of the cluster and not of anybody's guess; a cluster
/// without a history is taken to answer in 30 ms.
#[test]
fn a_failure_fades_with_the_latency_of_its_cluster() {
    let mut members = members("least_request", &[1; 5]);
    assert_eq!(members.median_latency(), None);
    let before = members.snapshot();
    assert_eq!(before.failure_half_life(), Nanos::from_millis(300));
    let mut picker = picker(8);
    for (at, took) in [(0, 100), (1, 2_000), (2, 400), (3, 50)] {
        let lease = loop {
            let lease = hold(&mut picker, &before);
            if lease.index() == at {
                break lease;
            }
        };
        lease.finish(Outcome::Success, Nanos::from_millis(took));
    }
    assert_eq!(members.median_latency(), Some(Nanos::from_millis(100)));
    let after = members.snapshot();
    assert_eq!(after.typical_latency(), Nanos::from_millis(100));
    assert_eq!(after.failure_half_life(), Nanos::from_secs(1));
}
