//! What a shadow says it would do is what the strategy does when it is live.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_config::{Environment, parse_scenario};
use evenkeel_core::strategy::registry;
use evenkeel_core::{
    Endpoint, Lease, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, Rng, Shadow,
    ShadowPicker, Snapshot, Witness,
};
use evenkeel_sim::{Options, Tally, compare};

/// Six endpoints without queues of their own, of which the last is five times as slow.
const MEDIANS: [f64; 6] = [10e6, 10e6, 10e6, 10e6, 10e6, 50e6];

/// The standard deviation of the logarithms of latencies.
const SIGMA: f64 = 0.3;

const REQUESTS: u64 = 60_000;

/// Requests a second.
const RATE: f64 = 1200.0;

/// The strategies that stand by, each as a name.
const SHADOWS: [&str; 2] = ["least_request", "peak_ewma"];

/// What the strategies come to when they are live, on that load.
fn live(strategies: &[&str]) -> Vec<Tally> {
    let text = format!(
        "[load]\nrequests = {REQUESTS}\nrate = {RATE}\n\
         [[backend]]\ncount = 5\nservice = \"lognormal(10ms, {SIGMA})\"\nconcurrency = 4000\n\
         [[backend]]\nservice = \"lognormal(50ms, {SIGMA})\"\nconcurrency = 4000\n\
         [cluster]\nstrategies = {strategies:?}\n"
    );
    let (scenario, report) = parse_scenario("test", &text, &Environment::empty());
    let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
    let options = Options {
        seed: 1,
        threads: 2,
    };
    compare(&scenario, &options, &|_| {}).results
}

/// A number above 0, up to 1.
fn unit(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

fn lognormal(median: f64, rng: &mut Rng) -> Nanos {
    let normal = (-2.0 * unit(rng).ln()).sqrt() * (std::f64::consts::TAU * unit(rng)).cos();
    Nanos((median * (SIGMA * normal).exp()) as u64)
}

/// A cluster under round robin, with shadows that see what it does.
struct Watched {
    live: Membership,
    snapshot: Snapshot,
    shadows: Vec<(Shadow, ShadowPicker)>,
    mirrored: Vec<Snapshot>,
    witness: Witness,
}

impl Watched {
    fn new() -> Self {
        let strategy = |name: &str| registry::build(name, &[]).expect("registered");
        let mut live = Membership::new("web", strategy("round_robin"));
        for at in 0..MEDIANS.len() {
            live.upsert(Endpoint::new(format!("b{at}"), "10.0.0.1:80"));
        }
        let shadow = |(at, name): (usize, &&str)| {
            let picker = ShadowPicker::new(PickerSeed {
                root: 7 + at as u64,
                picker: 0,
            });
            (Shadow::new("web", strategy(name)), picker)
        };
        let mut watched = Self {
            snapshot: live.snapshot(),
            live,
            shadows: SHADOWS.iter().enumerate().map(shadow).collect(),
            mirrored: Vec::new(),
            witness: Witness::default(),
        };
        watched.publish();
        watched
    }

    /// Another generation: what is in flight goes with it.
    fn publish(&mut self) {
        self.snapshot = self.live.snapshot();
        self.witness.follow(&self.snapshot);
        let shadows = self.shadows.iter_mut();
        self.mirrored = shadows
            .map(|(shadow, _)| shadow.follow(&self.snapshot))
            .collect();
    }

    /// Sends a second's requests and waits for all of them; counts who chose whom.
    fn second(&mut self, picker: &mut Picker, rng: &mut Rng, chosen: &mut [[u64; 6]], from: Nanos) {
        let mut ends: BinaryHeap<Reverse<(Nanos, usize)>> = BinaryHeap::new();
        let mut leases: Vec<Option<(Lease<'_>, Vec<Lease<'_>>)>> = Vec::new();
        let mut now = from;
        let end = from + Nanos::from_secs(1);
        while now < end || !ends.is_empty() {
            let due = if now < end { now } else { Nanos(u64::MAX) };
            while let Some(Reverse((at, request))) = ends.peek().copied()
                && at <= due
            {
                ends.pop();
                let (lease, others) = leases[request].take().expect("it ends once");
                let (index, took) = (lease.index(), lease.age(at));
                self.witness
                    .saw(index, Outcome::Success, took, lease.load());
                lease.finish(Outcome::Success, at);
                drop(others);
            }
            if now >= end {
                continue;
            }
            let ctx = PickContext::at(now);
            let lease = picker.pick(&self.snapshot, &ctx).expect("all are free");
            let index = lease.index();
            chosen[0][index] += 1;
            let mut others = Vec::new();
            for (at, (_, picker)) in self.shadows.iter_mut().enumerate() {
                let picked = picker.pick(&self.mirrored[at], &ctx, &self.witness);
                let (other, held) = picked.expect("all are free");
                chosen[at + 1][other] += 1;
                others.extend(held);
            }
            ends.push(Reverse((
                now + lognormal(MEDIANS[index], rng),
                leases.len(),
            )));
            leases.push(Some((lease, others)));
            now = now + Nanos((-unit(rng).ln() / RATE * 1e9) as u64);
        }
    }
}

/// How many requests went to each endpoint: live, and by each shadow.
fn watch() -> Vec<[u64; 6]> {
    let mut watched = Watched::new();
    let mut picker = Picker::new(PickerSeed { root: 3, picker: 0 });
    let mut rng = Rng::new(11);
    let mut chosen = vec![[0; 6]; SHADOWS.len() + 1];
    for second in 0..(REQUESTS as f64 / RATE) as u64 {
        let from = Nanos::from_secs(second);
        watched.second(&mut picker, &mut rng, &mut chosen, from);
        watched.publish();
    }
    chosen
}

fn shares(counts: &[u64]) -> Vec<f64> {
    let sum: u64 = counts.iter().sum();
    counts.iter().map(|n| *n as f64 / sum as f64).collect()
}

#[test]
fn a_shadow_distributes_as_the_strategy_does_live_and_tells_what_that_saves() {
    let results = live(&["round_robin", SHADOWS[0], SHADOWS[1]]);
    let watched = watch();
    let mean = |median: f64| median / 1e6 * (SIGMA * SIGMA / 2.0).exp();
    let base = shares(&watched[0]);
    assert!((base[5] - 1.0 / 6.0).abs() < 0.001, "{base:?}");
    for (at, name) in SHADOWS.iter().enumerate() {
        let tally = &results[at + 1];
        let requests: Vec<u64> = tally.endpoints.iter().map(|it| it.requests).collect();
        let (real, told) = (shares(&requests), shares(&watched[at + 1]));
        let off = told[5] / real[5] - 1.0;
        // What `ShadowReport::latency_difference` comes to, and what it came to.
        let moves = told.iter().zip(&base).zip(MEDIANS);
        let saves: f64 = moves.map(|((told, base), m)| (base - told) * mean(m)).sum();
        let saved = (results[0].counts.latency.mean() - tally.counts.latency.mean()) / 1e6;
        println!(
            "{name}: slow {real:?} told {told:?} off {off:.3}; saves {saved:.3} told {saves:.3}"
        );
        assert!(off.abs() < 0.15, "{name}: {told:?} is not {real:?}");
        assert!(
            saved > 0.0 && (saves / saved - 1.0).abs() < 0.15,
            "{name}: {saves} {saved}"
        );
    }
}
