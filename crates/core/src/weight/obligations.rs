//! What a law has to show before it may steer: the step response, no swinging, no starving, no drift, many
//! balancers at once, noise, and an error that shrinks.
//!
//! Nodes are fluid: a node of capacity m that gets a rate r is r/m busy, and answers as an M/M/1 queue does.
//! Reports are as old as `delay` periods when they arrive.

use std::collections::VecDeque;

use super::{DynamicWeights, Observation, Signal, WeightLaw, WeightRules};
use crate::clock::Nanos;
use crate::endpoint::Serial;
use crate::rng::Rng;

const LAWS: [WeightLaw; 3] = [WeightLaw::Utilization, WeightLaw::Orca, WeightLaw::Latency];
const LOADS: [f64; 6] = [0.3, 0.5, 0.7, 0.8, 0.9, 0.95];
const SIZES: [usize; 3] = [2, 6, 100];
const DELAYS: std::ops::RangeInclusive<usize> = 0..=5;

/// No node is busier, and none answers later than this allows.
const FULL: f64 = 0.995;

/// Nodes under a steady rate that some balancers share equally.
struct World {
    law: WeightLaw,
    capacities: Vec<f64>,
    rate: f64,
    delay: usize,
    noise: f64,
    balancers: Vec<DynamicWeights>,
    /// What nodes said, the oldest first.
    said: VecDeque<Vec<Signal>>,
    second: u64,
    rng: Rng,
}

impl World {
    fn new(law: WeightLaw, nodes: usize, load: f64, delay: usize) -> Self {
        let rules = WeightRules {
            law,
            blackout: Nanos(0),
            ..WeightRules::default()
        };
        Self {
            law,
            capacities: vec![100.0; nodes],
            rate: load * 100.0 * nodes as f64,
            delay,
            noise: 0.0,
            balancers: vec![DynamicWeights::new(rules)],
            said: VecDeque::new(),
            second: 0,
            rng: Rng::new(9),
        }
    }

    fn with_balancers(mut self, count: usize) -> Self {
        let one = self.balancers[0].clone();
        self.balancers = vec![one; count];
        self
    }

    /// The share of the whole rate that each node gets.
    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.capacities.len()];
        for balancer in &self.balancers {
            let weight = |at: usize| f64::from(balancer.factor(Serial(at as u64)));
            let sum: f64 = (0..shares.len()).map(weight).sum();
            for (at, share) in shares.iter_mut().enumerate() {
                *share += weight(at) / sum / self.balancers.len() as f64;
            }
        }
        shares
    }

    fn signals(&mut self) -> Vec<Signal> {
        let shares = self.shares();
        let mut signals = Vec::with_capacity(shares.len());
        for (share, capacity) in shares.iter().zip(&self.capacities) {
            let rate = share * self.rate;
            let busy = rate / capacity;
            let value = match self.law {
                WeightLaw::Latency => 1.0 / (capacity * (1.0 - busy.min(FULL))),
                _ => busy,
            };
            // Roughly normal: the sum of twelve draws.
            let draws = (0..12).map(|_| (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64);
            let noise = self.noise * (draws.sum::<f64>() - 6.0);
            signals.push(Signal {
                value: value * (1.0 + noise).max(0.01),
                rps: rate,
                eps: 0.0,
            });
        }
        signals
    }

    fn step(&mut self) {
        let signals = self.signals();
        self.said.push_back(signals);
        if self.said.len() <= self.delay {
            return;
        }
        let Some(signals) = self.said.pop_front() else {
            return;
        };
        let heard: Vec<Observation> = (0..)
            .zip(signals)
            .map(|(serial, signal)| Observation {
                serial: Serial(serial),
                tier: 0,
                weight: 1,
                signal: Some(signal),
            })
            .collect();
        self.second += 1;
        for balancer in &mut self.balancers {
            balancer.step(Nanos::from_secs(self.second), &heard);
        }
    }

    /// The share of the first node, second by second.
    fn run(&mut self, seconds: usize) -> Vec<f64> {
        let mut shares = Vec::with_capacity(seconds);
        for _ in 0..seconds {
            self.step();
            shares.push(self.shares()[0]);
        }
        shares
    }

    /// Squared errors over the tier, as the law sees them.
    fn error(&mut self) -> f64 {
        let signals = self.signals();
        let logs: Vec<f64> = signals.iter().map(|signal| signal.value.ln()).collect();
        let mut sorted = logs.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        let squares = logs.iter().map(|log| (log - (low + high) / 2.0).powi(2));
        squares.sum()
    }
}

/// Each law at each load, size and delay, with the first node at half its speed once all is calm.
fn each(mut check: impl FnMut(&str, World)) {
    for law in LAWS {
        for load in LOADS {
            for nodes in SIZES {
                for delay in DELAYS {
                    let mut world = World::new(law, nodes, load, delay);
                    world.run(20);
                    world.capacities[0] = 50.0;
                    check(
                        &format!("{law:?} load {load} of {nodes}, delay {delay}"),
                        world,
                    );
                }
            }
        }
    }
}

impl World {
    /// Whether all can still be served when it is shared by capacity.
    fn has_room(&self) -> bool {
        self.rate < 0.97 * self.capacities.iter().sum::<f64>()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// (1) A node at half speed: near its end share in 40 s, and never far beyond it. Latencies settle where
/// they are alike, which is not where utilizations are, and slowly where nodes have little to do.
#[test]
fn the_step_response_is_quick_and_does_not_overshoot() {
    each(|case, mut world| {
        if !world.has_room() {
            return;
        }
        let before = world.shares()[0];
        let shares = world.run(400);
        let end = mean(&shares[380..]);
        if world.law != WeightLaw::Latency {
            let fair = 50.0 / world.capacities.iter().sum::<f64>();
            assert!(
                (end / fair - 1.0).abs() < 0.08,
                "{case}: ends at {end}, not {fair}"
            );
            let at_40 = shares[39];
            assert!(
                (at_40 / end - 1.0).abs() < 0.1,
                "{case}: {at_40} of {end} after 40 s"
            );
        }
        let lowest = shares.iter().copied().fold(f64::MAX, f64::min);
        let overshoot = (end - lowest) / (before - end).max(0.1 * end);
        assert!(overshoot < 0.1, "{case}: {lowest} below {end}");
    });
}

/// (1) Under latencies the step takes as long as these say, at most: 40 s where nodes are busy, and long where they
/// have so little to do that it hardly shows. A larger gain is no way out: see `latency.rs`.
#[test]
fn latencies_take_their_time() {
    for (load, within) in [
        (0.3, 1_300),
        (0.5, 450),
        (0.7, 130),
        (0.8, 60),
        (0.9, 40),
        (0.95, 40),
    ] {
        for (nodes, delay) in SIZES
            .into_iter()
            .flat_map(|nodes| DELAYS.map(move |delay| (nodes, delay)))
        {
            let mut world = World::new(WeightLaw::Latency, nodes, load, delay);
            world.run(20);
            world.capacities[0] = 50.0;
            if !world.has_room() {
                continue;
            }
            let shares = world.run(within * 2);
            let end = mean(&shares[within * 9 / 5..]);
            let far = |share: &f64| (share / end - 1.0).abs() >= 0.1;
            let last = shares.iter().rposition(far);
            assert!(
                last.is_some_and(|last| last < within),
                "load {load} of {nodes}, delay {delay}: {last:?}"
            );
        }
    }
}

/// (2) Once settled a share stands still: no lobe of a swing in its autocorrelation, no steps.
#[test]
fn nothing_swings_for_ever() {
    each(|case, mut world| {
        if !world.has_room() {
            return;
        }
        // Latencies of nodes that have little to do pull but weakly.
        let settled = if world.law == WeightLaw::Latency {
            1_200
        } else {
            300
        };
        world.run(settled);
        let shares = world.run(200);
        let middle = mean(&shares);
        let steps = shares
            .windows(2)
            .map(|pair| (pair[1] / pair[0] - 1.0).abs());
        let largest = steps.fold(0.0, f64::max);
        // A weight moves by whole grains, 1/256 of a configured unit.
        let grain = 1.0 / (256.0 * middle * world.capacities.len() as f64);
        assert!(largest < 0.01 + grain, "{case}: a step of {largest}");
        let off: Vec<f64> = shares.iter().map(|share| share / middle - 1.0).collect();
        let variance = mean(&off.iter().map(|off| off * off).collect::<Vec<f64>>());
        // Below the grain of weights there is nothing to see.
        if variance.sqrt() < 0.01 {
            return;
        }
        for lag in 1..60 {
            let products: Vec<f64> = off.windows(lag + 1).map(|w| w[0] * w[lag]).collect();
            let correlation = mean(&products) / variance;
            assert!(correlation > -0.3, "{case}: {correlation} at {lag}");
        }
    });
}

/// (3) Nobody starves, however slow it is said to be.
#[test]
fn no_share_falls_below_a_twentieth_of_a_fair_one() {
    each(|case, mut world| {
        world.capacities[0] = 0.01;
        let least = world.run(300).into_iter().fold(f64::MAX, f64::min);
        let floor = 0.05 / world.capacities.len() as f64;
        assert!(least >= floor, "{case}: {least} is below {floor}");
    });
}

/// (4) What happens to all alike changes no weight.
#[test]
fn a_fleet_that_slows_down_keeps_its_weights() {
    for law in LAWS {
        for nodes in SIZES {
            let mut world = World::new(law, nodes, 0.4, 1);
            world.run(20);
            world.capacities = vec![50.0; nodes];
            for share in world.run(100) {
                assert_eq!(share, 1.0 / nodes as f64, "{law:?} of {nodes}");
            }
        }
    }
}

/// (5) Several balancers on the same nodes come to the same end, as calmly as one.
#[test]
fn many_balancers_do_not_add_up() {
    for law in LAWS {
        for balancers in [2, 10] {
            for delay in [0, 3, 5] {
                let mut alone = World::new(law, 6, 0.7, delay);
                let mut many = World::new(law, 6, 0.7, delay).with_balancers(balancers);
                alone.capacities[0] = 50.0;
                many.capacities[0] = 50.0;
                for (one, all) in alone.run(200).into_iter().zip(many.run(200)) {
                    assert!(
                        (one / all - 1.0).abs() < 0.01,
                        "{law:?} {balancers} {delay}"
                    );
                }
            }
        }
    }
}

/// (5) And they need not act at the same time, nor have begun together.
#[test]
fn balancers_that_join_late_agree_in_the_end() {
    for law in [WeightLaw::Utilization, WeightLaw::Orca] {
        let mut world = World::new(law, 6, 0.7, 2);
        world.capacities[0] = 50.0;
        world.run(60);
        let fresh = World::new(law, 6, 0.7, 2).balancers.remove(0);
        world.balancers.push(fresh);
        let shares = world.run(200);
        let fair = 50.0 / 550.0;
        for share in &shares[100..] {
            assert!((share / fair - 1.0).abs() < 0.1, "{law:?}: {share}");
        }
    }
}

/// (6) Measurements that are off by a tenth move a share by less than 4 %.
#[test]
fn noise_is_damped() {
    for law in LAWS {
        for load in LOADS {
            for nodes in SIZES {
                let mut world = World::new(law, nodes, load, 1);
                world.noise = 0.1;
                world.run(100);
                let shares = world.run(2_000);
                let middle = mean(&shares);
                let squares: Vec<f64> = shares
                    .iter()
                    .map(|share| (share / middle - 1.0).powi(2))
                    .collect();
                let deviation = mean(&squares).sqrt();
                assert!(deviation < 0.04, "{law:?} {load} {nodes}: {deviation}");
            }
        }
    }
}

/// (7) The error of the whole tier shrinks from window to window until it is within the dead band.
#[test]
fn the_error_shrinks() {
    each(|case, mut world| {
        if !world.has_room() {
            return;
        }
        // Of the fourth root of a latency a twentieth is a fifth of itself.
        let dead_band = match world.law {
            WeightLaw::Latency => 0.2,
            _ => 0.05,
        };
        let mut last = f64::MAX;
        for window in 0..12 {
            let errors: Vec<f64> = (0..10)
                .map(|_| {
                    world.step();
                    world.error()
                })
                .collect();
            let error = mean(&errors);
            // Two dead bands: what is told lags behind what is known.
            let calm = error.sqrt() < 2.0 * dead_band * (world.capacities.len() as f64).sqrt();
            assert!(
                calm || error < last,
                "{case}: {error} after {last} in window {window}"
            );
            last = error;
        }
    });
}
