//! 10.7: n balls into n bins, which nobody takes out: decisions alone, without a simulation around them.

use std::sync::Arc;

use evenkeel_core::strategy::{Strategy, Value, registry};
use evenkeel_core::{
    Endpoint, Lease, Membership, Nanos, PickContext, Picker, PickerSeed, Snapshot,
};

use crate::model::near;

/// Sends each request to the emptiest of `d`.
fn strategy(d: u64) -> Arc<dyn Strategy> {
    let built = match d {
        1 => registry::build("random", &[]),
        _ => {
            let params = [("scan", Value::Integer(0)), ("choices", Value::Integer(d))];
            let params = params.map(|(name, value)| (name.to_owned(), value));
            registry::build("least_request", &params)
        }
    };
    built.expect("registered")
}

/// The fullest of n bins with n balls, on average over some runs.
fn fullest(snapshot: &Snapshot, runs: u32) -> f64 {
    let mut sum = 0;
    for picker in 0..runs {
        let mut picker = Picker::new(PickerSeed { root: 7, picker });
        let pick = |_| {
            let lease = picker.pick(snapshot, &PickContext::at(Nanos(0)));
            lease.expect("all are open")
        };
        let _held: Vec<Lease<'_>> = snapshot.endpoints().iter().map(pick).collect();
        let candidates = snapshot.candidates().iter();
        let most = candidates.map(|candidate| candidate.state().in_flight().count());
        sum += most.max().unwrap_or(0);
    }
    f64::from(sum) / f64::from(runs)
}

/// The same by theory for one choice: each bin has a Poisson number, nearly on its own.
fn fullest_by_chance(n: u32) -> f64 {
    // P(N = k), and P(N >= k).
    let (mut exactly, mut at_least) = ((-1.0_f64).exp(), 1.0);
    let mut mean = 0.0;
    for k in 1..30 {
        at_least -= exactly;
        exactly /= f64::from(k);
        mean += 1.0 - (-f64::from(n) * at_least).exp();
    }
    mean
}

/// With one, two and three choices, each so many times.
fn check(n: u32, tolerance: f64, wanted: [(u32, f64); 3]) {
    let mut members = Membership::new("bins", strategy(1));
    for at in 0..n {
        members.upsert(Endpoint::new(format!("{at}"), "10.0.0.1:80"));
    }
    for (d, (runs, wanted)) in (1..).zip(wanted) {
        members.set_strategy(strategy(d));
        let got = fullest(&members.snapshot(), runs);
        if d == 1 {
            near("the formula", fullest_by_chance(n), wanted, 0.01);
        }
        near(&format!("{d} choices of {n}"), got, wanted, tolerance);
    }
}

#[test]
fn balls_into_ten_thousand_bins() {
    check(10_000, 0.02, [(200, 6.65), (200, 3.05), (50, 3.0)]);
}

#[test]
fn balls_into_a_hundred_thousand_bins() {
    check(100_000, 0.04, [(16, 7.7), (16, 3.55), (2, 3.0)]);
}

/// The texts have 8.3 for one choice, from a few runs; theory has 8.79.
#[test]
fn balls_into_a_million_bins() {
    check(1_000_000, 0.05, [(4, 8.79), (1, 4.0), (1, 3.0)]);
}
