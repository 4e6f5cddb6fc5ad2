//! Runs the variants of a scenario, each on the same requests.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use evenkeel_config::Scenario;
use evenkeel_core::unpoisoned;

use crate::chance::Sampler;
use crate::engine::{Chooser, Engine, Order};
use crate::tally::Tally;

/// How a comparison is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// All chance follows from it.
    pub seed: u64,
    /// How many runs go on at once; results do not depend on it.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            threads: thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// What the variants of a scenario came to on the same requests.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The seed that all chance followed from.
    pub seed: u64,
    /// The variants, in the order of the scenario.
    pub results: Vec<Tally>,
    /// What to hold them against: a balancer that knows everything, and the first variant with another
    /// seed. Empty where the scenario wants none.
    pub references: Vec<Tally>,
}

impl Comparison {
    /// What must never happen, and did, in any of the runs.
    pub fn violations(&self) -> impl Iterator<Item = String> + '_ {
        let all = self.results.iter().chain(&self.references);
        all.flat_map(|tally| {
            let label = &tally.label;
            let lines = tally.violations.iter();
            lines.map(move |what| format!("{label}: {what}"))
        })
    }
}

/// What the run of a balancer that knows everything is called.
pub const CLAIRVOYANT: &str = "clairvoyant";

/// Runs every variant. `progress` hears how much of all of it is done, from 0 to 1.
///
/// Takes as long as some 2 million requests a second and thread allow; memory follows what is under way
/// at once, not how much there has been.
#[must_use]
pub fn compare(
    scenario: &Scenario,
    options: &Options,
    progress: &(dyn Fn(f64) + Sync),
) -> Comparison {
    compare_fitted(scenario, &[], options, progress)
}

/// What is known of a backend from elsewhere than the scenario.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) id: String,
    pub(crate) service: Sampler,
}

/// Runs every variant with backends, in the order of the scenario, of which more is known.
pub(crate) fn compare_fitted(
    scenario: &Scenario,
    fitted: &[Fitted],
    options: &Options,
    progress: &(dyn Fn(f64) + Sync),
) -> Comparison {
    let orders = orders(scenario, fitted, options.seed);
    let done: Vec<Mutex<(f64, Option<Tally>)>> = orders.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let tell = || {
        let all = done.iter().map(|slot| unpoisoned(slot.lock()).0);
        progress(all.sum::<f64>() / done.len() as f64);
    };
    let work = || {
        while let Some(order) = orders.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = orders.iter().position(|other| std::ptr::eq(other, order));
            let slot = &done[at.unwrap_or(0)];
            let tally = Engine::new(order.clone()).run(&|share| {
                unpoisoned(slot.lock()).0 = share.min(1.0);
                tell();
            });
            *unpoisoned(slot.lock()) = (1.0, Some(tally));
            tell();
        }
    };
    let threads = options.threads.clamp(1, orders.len());
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let all = done.into_iter();
    let mut results: Vec<Tally> = all
        .filter_map(|slot| unpoisoned(slot.into_inner()).1)
        .collect();
    let references = results.split_off(scenario.variants.len());
    Comparison {
        seed: options.seed,
        results,
        references,
    }
}

fn orders<'s>(scenario: &'s Scenario, fitted: &'s [Fitted], seed: u64) -> Vec<Order<'s>> {
    let variants = scenario.variants.iter();
    let order = |variant| Order {
        scenario,
        fitted,
        variant,
        label: variant.label.clone(),
        chooser: Chooser::Core,
        seed,
    };
    let mut orders: Vec<Order<'s>> = variants.map(order).collect();
    if scenario.references {
        let first = orders[0].clone();
        orders.push(Order {
            label: CLAIRVOYANT.to_owned(),
            chooser: Chooser::Clairvoyant,
            ..first.clone()
        });
        let other = seed.wrapping_add(1);
        orders.push(Order {
            label: format!("{}, seed {other}", first.label),
            seed: other,
            ..first
        });
    }
    orders
}
