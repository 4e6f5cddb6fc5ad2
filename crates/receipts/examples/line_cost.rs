//! Times what a receipt costs: taking it down, and writing its line. Run it with `--release`, on a quiet
//! machine, or under callgrind.
//!
//! For each strategy it prints the medians over rounds, in nanoseconds, with six endpoints and with fifty:
//! a decision without a receipt, with one, and the line of it, and how long that line is.

use std::hint::black_box;
use std::time::Duration;

use evenkeel_core::strategy::Params;
use evenkeel_core::strategy::registry::{Descriptor, STRATEGIES};
use evenkeel_core::{
    Endpoint, LoadReport, Membership, Nanos, Outcome as Ending, PickContext, Picker, PickerSeed,
    Receipt, Rng, Snapshot,
};
use evenkeel_receipts::{DecisionLine, Outcome};

const ROUNDS: usize = 21;
const ROUND: u32 = 2_000;

fn main() {
    let only = std::env::args().nth(1);
    println!("strategy endpoints  plain  traced    line  bytes");
    for strategy in STRATEGIES {
        if only.as_ref().is_some_and(|only| only != strategy.name) {
            continue;
        }
        for count in [6, 50] {
            let mut bench = Bench::new(strategy, count);
            let plain = median(|| bench.plain());
            let traced = median(|| bench.traced());
            let line = median(|| bench.line());
            let bytes = bench.out.len();
            println!(
                "{:<22}{count:>4}{plain:>8.0}{traced:>8.0}{line:>8.0}{bytes:>7}",
                strategy.name
            );
        }
    }
}

/// A cluster whose endpoints have answered a while.
struct Bench {
    snapshot: Snapshot,
    picker: Picker,
    rng: Rng,
    now: Nanos,
    receipt: Receipt,
    out: Vec<u8>,
}

impl Bench {
    fn new(strategy: &Descriptor, count: u16) -> Self {
        let params = Params::check(strategy.name, strategy.params, &[]).expect("its defaults");
        let mut members = Membership::new("web", (strategy.build)(&params));
        for at in 0..count {
            let address = format!("10.0.0.{at}:8080");
            members.upsert(Endpoint::new(address.clone(), address));
        }
        let mut bench = Self {
            snapshot: members.snapshot(),
            picker: Picker::new(PickerSeed { root: 1, picker: 1 }),
            rng: Rng::new(7),
            now: Nanos::from_secs(1),
            receipt: Receipt::default(),
            out: Vec::new(),
        };
        for _ in 0..2_000 {
            bench.hear();
            bench.plain();
        }
        bench
    }

    fn ctx(&mut self) -> PickContext {
        self.now = self.now + Nanos(50_000);
        let mut ctx = PickContext::at(self.now);
        ctx.key = Some(self.rng.next_u64());
        ctx
    }

    /// What an endpoint says of itself, as probes would ask.
    fn hear(&mut self) {
        let candidates = self.snapshot.candidates();
        let index = self.rng.next_u64() as usize % candidates.len();
        let said = LoadReport {
            in_flight: (self.rng.next_u64() % 9) as u32,
            latency: Some(Nanos(9_000_000 + self.rng.next_u64() % 9_999_999)),
        };
        let serial = candidates[index].serial();
        self.picker.report(&self.snapshot, serial, said, self.now);
    }

    fn plain(&mut self) {
        let ctx = self.ctx();
        if let Ok(lease) = self.picker.pick(&self.snapshot, &ctx) {
            let took = Nanos(10_000_000 + self.rng.next_u64() % 5_000_000);
            lease.finish(Ending::Success, self.now + took);
        }
    }

    fn traced(&mut self) {
        let ctx = self.ctx();
        let (snapshot, receipt) = (&self.snapshot, &mut self.receipt);
        if let Ok(lease) = self.picker.pick_traced(snapshot, &ctx, receipt) {
            let took = Nanos(10_000_000 + self.rng.next_u64() % 5_000_000);
            lease.finish(Ending::Success, self.now + took);
        }
        self.hear();
    }

    fn line(&mut self) {
        self.out.clear();
        let line = DecisionLine {
            time: "2026-11-30T07:00:00.000Z",
            request_id: Some("4bf92f3577b34da6a3ce929d0e0e4736"),
            snapshot: &self.snapshot,
            receipt: black_box(&self.receipt),
            decision_ns: Some(212),
            outcome: Some(Outcome {
                status: Some(200),
                latency_us: 12_345,
                error: None,
            }),
        };
        line.write(&mut self.out);
    }
}

/// Nanoseconds for one, the median over rounds.
fn median(mut once: impl FnMut()) -> f64 {
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = now();
            (0..ROUND).for_each(|_| once());
            began.elapsed()
        })
        .collect();
    rounds.sort_unstable();
    rounds[ROUNDS / 2].as_nanos() as f64 / f64::from(ROUND)
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
