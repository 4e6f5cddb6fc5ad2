//! 10.3 and 10.4: strategies that look at nothing.

use crate::model::{Model, RANDOM, near};

const TURNS: &str = "[\"round_robin\"]";

/// A number of servers; none: so many that arrivals at each are even.
type Servers = Option<u32>;

const SERVERS: [Servers; 5] = [Some(2), Some(6), Some(10), Some(100), None];

/// By the texts: loads, and what comes of them with each number of servers.
const TABLE: [(f64, [f64; 5]); 4] = [
    (0.5, [1.6180, 1.3722, 1.3246, 1.2619, 1.2550]),
    (0.8, [3.8440, 3.0756, 2.9223, 2.7157, 2.6927]),
    (0.9, [7.5883, 5.9815, 5.6603, 5.2268, 5.1787]),
    (0.95, [15.0857, 11.8100, 11.1549, 10.2707, 10.1724]),
];

/// W = 1 / (1 - s), where s = (n load / (n load + 1 - s))^n; with even arrivals s = exp(-(1 - s) / load).
fn by_turns(load: f64, servers: Servers) -> f64 {
    let mut s = load;
    for _ in 0..100_000 {
        s = match servers {
            Some(n) => {
                let n = f64::from(n);
                (n * load / (n * load + 1.0 - s)).powf(n)
            }
            None => (-(1.0 - s) / load).exp(),
        };
    }
    1.0 / (1.0 - s)
}

/// A split by chance leaves single servers.
#[test]
fn a_split_by_chance_leaves_single_servers() {
    near("random", Model::fifo(6, 0.8, RANDOM).mean(), 5.0, 0.02);
}

/// One by turns makes arrivals at each more even.
#[test]
fn a_split_by_turns_makes_arrivals_even() {
    for (load, row) in TABLE.iter().filter(|(load, _)| *load < 0.95) {
        check(*load, row, 0.02);
    }
}

#[test]
fn a_split_by_turns_of_busy_servers() {
    for (load, row) in TABLE.iter().filter(|(load, _)| *load >= 0.95) {
        check(*load, row, 0.05);
    }
}

fn check(load: f64, row: &[f64; 5], tolerance: f64) {
    for (servers, wanted) in SERVERS.into_iter().zip(row) {
        near("the formula", by_turns(load, servers), *wanted, 1e-4);
        let model = Model {
            arrivals: if servers.is_some() {
                "poisson"
            } else {
                "uniform"
            },
            ..Model::fifo(servers.unwrap_or(1), load, TURNS)
        };
        near(
            &format!("{servers:?} at {load}"),
            model.mean(),
            *wanted,
            tolerance,
        );
    }
}
