//! 10.5 and 10.6: strategies that look at some or all of the queues.

use crate::model::{Model, RANDOM, erlang, mean, near, p99};
use crate::policies::{idle, shortest};

const TWO: &str = "[{ name = \"least_request\", scan = 0 }]";
const THREE: &str = "[{ name = \"least_request\", scan = 0, choices = 3 }]";
const FIVE: &str = "[{ name = \"least_request\", scan = 0, choices = 5 }]";
const ALL: &str = "[{ name = \"least_request\", scan = 64 }]";

/// So many are as good as infinitely many, within a percent.
const MANY: u32 = 500;

const LOADS: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

/// The share of queues with k or more of d choices: load^((d^k - 1) / (d - 1)).
fn at_least(load: f64, d: f64, k: i32) -> f64 {
    load.powf((d.powi(k) - 1.0) / (d - 1.0))
}

/// W: the sum of load^((d^i - d) / (d - 1)).
fn limit(load: f64, d: f64) -> f64 {
    (1..40)
        .map(|i| load.powf((d.powi(i) - d) / (d - 1.0)))
        .sum()
}

fn in_the_limit(strategies: &'static str, d: f64, table: [f64; 6]) {
    for (load, wanted) in LOADS.into_iter().zip(table) {
        near("the formula", limit(load, d), wanted, 1e-4);
        let model = Model::fifo(MANY, load, strategies);
        let tolerance = if load < 0.95 { 0.02 } else { 0.05 };
        near(&format!("{d} at {load}"), model.mean(), wanted, tolerance);
    }
}

#[test]
fn two_choices_in_the_limit() {
    in_the_limit(TWO, 2.0, [1.2657, 1.6145, 1.9474, 2.6141, 3.3830, 5.4320]);
}

#[test]
fn three_choices_in_the_limit() {
    in_the_limit(THREE, 3.0, [1.1252, 1.3568, 1.5809, 2.0279, 2.5351, 3.8578]);
}

#[test]
fn five_choices_in_the_limit() {
    in_the_limit(FIVE, 5.0, [1.0313, 1.1681, 1.3289, 1.6329, 1.9888, 2.9017]);
}

/// 10.5: how long queues are under two choices at 0.9.
#[test]
fn two_choices_leave_few_long_queues() {
    let model = Model {
        sample: Some("2ms"),
        requests: 6_000_000,
        ..Model::fifo(1_000, 0.9, TWO)
    };
    let lengths = &model.run(11)[0].lengths;
    let all: u64 = lengths.iter().sum();
    for (k, wanted) in (1..).zip([0.9, 0.729, 0.478_297, 0.205_891, 0.038_152, 0.001_310]) {
        near("the formula", at_least(0.9, 2.0, k), wanted, 1e-3);
        let longer: u64 = lengths.iter().skip(k as usize).sum();
        // A thousand are not infinitely many, which shows in the long ones first: of these there is one, or two.
        let tolerance = match k {
            ..5 => 0.02,
            5 => 0.06,
            _ => 0.25,
        };
        near(
            &format!("P(N >= {k})"),
            longer as f64 / all as f64,
            wanted,
            tolerance,
        );
    }
}

/// 10.5 and 10.6: two choices of few.
#[test]
fn two_choices_of_few() {
    for (servers, load, wanted) in [
        (100, 0.7, 1.62),
        (100, 0.95, 3.47),
        (6, 0.5, 1.301),
        (6, 0.8, 2.171),
        (6, 0.9, 3.324),
    ] {
        let tolerance = if load < 0.95 { 0.02 } else { 0.05 };
        let model = Model::fifo(servers, load, TWO);
        near(
            &format!("{servers} at {load}"),
            model.mean(),
            wanted,
            tolerance,
        );
    }
}

/// 10.6: a hundred servers at 0.9, mean and p99. What is known of the queues is worth more the fresher it is.
#[test]
fn a_hundred_servers() {
    let of = |strategies, policy| Model {
        policy,
        requests: 4_000_000,
        ..Model::fifo(100, 0.9, strategies)
    };
    for (what, model, wanted) in [
        ("random", of(RANDOM, None), (10.1, 46.5)),
        ("by turns", of("[\"round_robin\"]", None), (5.20, 23.5)),
        ("two choices", of(TWO, None), (2.65, 8.9)),
        ("idle, 1", of(RANDOM, Some(idle(1))), (1.07, 5.0)),
        ("idle, 10", of(RANDOM, Some(idle(10))), (1.88, 8.6)),
        ("shortest", of(RANDOM, Some(shortest())), (1.065, 4.9)),
    ] {
        let tally = model.run(11).remove(0);
        near(what, mean(&tally), wanted.0, 0.02);
        // Told to two digits.
        near(&format!("{what}, p99"), p99(&tally), wanted.1, 0.03);
    }
}

/// 10.6: the shortest of all queues.
#[test]
fn the_shortest_queue() {
    for (servers, load, wanted) in [
        (2, 0.5, 1.428),
        (2, 0.8, 2.973),
        (2, 0.9, 5.421),
        (6, 0.5, 1.078),
        (6, 0.8, 1.624),
        (6, 0.9, 2.524),
    ] {
        let model = Model {
            requests: if load >= 0.9 { 3_000_000 } else { 1_200_000 },
            ..Model::fifo(servers, load, ALL)
        };
        near("mean", model.mean(), wanted, 0.02);
    }
    // What the gateway has for this is what the oracle is.
    let model = Model {
        policy: Some(shortest()),
        ..Model::fifo(6, 0.8, RANDOM)
    };
    near("the oracle", model.mean(), 1.624, 0.02);
}

/// 10.6: the order of means, which holds whatever the load.
#[test]
fn knowing_more_is_never_worse() {
    let strategies = "[\"random\", \"round_robin\", { name = \"least_request\", label = \"two\", scan = 0 }, { name = \"least_request\", label = \"all\", scan = 64 }]";
    for load in [0.3, 0.6, 0.9] {
        let model = Model {
            requests: 1_000_000,
            ..Model::fifo(6, load, strategies)
        };
        let tallies = model.run(3);
        let [random, turns, two, all] = &tallies[..] else {
            panic!("four results");
        };
        let bound = erlang(6, load) * 0.99;
        assert!(bound <= mean(all) && mean(all) <= mean(two), "{load}");
        assert!(
            mean(two) <= mean(random) && mean(turns) <= mean(random),
            "{load}"
        );
    }
}
