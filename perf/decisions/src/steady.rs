//! One or two threads that pick all the time, each on a core of its own.

use crate::Effort;
use crate::clock::Laps;
use crate::contender::{BATCH, Case, Contender, Entry};
use crate::report::{Row, median};
use anyhow::Result;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// An entry with its contenders, and what its rounds gave.
struct Running<'a> {
    entry: &'a Entry,
    contenders: Vec<Box<dyn Contender>>,
    rounds: Vec<Cost>,
}

/// Nanoseconds for one pick and for giving one back.
#[derive(Clone, Copy, Default)]
struct Cost {
    pick: f64,
    release: f64,
}

/// Measures every entry in a case, the entries taking turns.
///
/// # Errors
///
/// When a contender cannot be built.
pub(crate) fn measure(entries: &[Entry], case: Case, effort: Effort) -> Result<Vec<Row>> {
    let mut running = Vec::new();
    for entry in entries.iter().filter(|entry| (entry.applies)(case)) {
        let contenders = (entry.build)(case)?;
        running.push(Running {
            entry,
            contenders,
            rounds: Vec::new(),
        });
    }
    for round in 0..=effort.rounds {
        for system in &mut running {
            let cost = measure_round(&mut system.contenders, effort.time);
            // The first round warms caches and branch predictors, and is not counted.
            if round > 0 {
                system.rounds.push(cost);
            }
        }
    }
    Ok(running
        .iter()
        .flat_map(|system| rows(system, case))
        .collect())
}

fn rows(system: &Running<'_>, case: Case) -> Vec<Row> {
    let median_of = |part: fn(&Cost) -> f64| median(system.rounds.iter().map(part).collect());
    let row = |strategy: &str, ns| Row::new(system.entry.system, strategy, case, ns);
    let mut rows = vec![row(&system.entry.strategy, median_of(|cost| cost.pick))];
    if system.entry.lease_row {
        rows.push(row("lease", median_of(|cost| cost.release)));
    }
    rows
}

/// One round: all threads start together; the cost is the mean over all of them.
fn measure_round(contenders: &mut [Box<dyn Contender>], time: Duration) -> Cost {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let start = Barrier::new(contenders.len());
    let costs: Vec<Cost> = thread::scope(|scope| {
        let threads: Vec<_> = contenders
            .iter_mut()
            .enumerate()
            .map(|(i, contender)| {
                let (start, core) = (&start, cores.get(i % cores.len().max(1)).copied());
                scope.spawn(move || {
                    core.map(core_affinity::set_for_current);
                    start.wait();
                    pick_for(contender.as_mut(), time)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or_default())
            .collect()
    });
    let count = costs.len() as f64;
    Cost {
        pick: costs.iter().map(|cost| cost.pick).sum::<f64>() / count,
        release: costs.iter().map(|cost| cost.release).sum::<f64>() / count,
    }
}

/// Picks batch after batch for about `time`.
fn pick_for(contender: &mut dyn Contender, time: Duration) -> Cost {
    let (mut picking, mut releasing, mut batches) = (0, 0, 0_u64);
    let mut laps = Laps::start();
    while u128::from(picking + releasing) < time.as_nanos() {
        contender.pick(BATCH);
        picking += laps.lap();
        contender.release();
        releasing += laps.lap();
        batches += 1;
    }
    let picks = batches as f64 * BATCH as f64;
    Cost {
        pick: picking as f64 / picks,
        release: releasing as f64 / picks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sleeper;

    impl Contender for Sleeper {
        fn pick(&mut self, picks: usize) {
            thread::sleep(Duration::from_micros(picks as u64));
        }

        fn release(&mut self) {}
    }

    #[test]
    fn a_pick_of_a_microsecond_costs_at_least_that() {
        let mut contenders: Vec<Box<dyn Contender>> = vec![Box::new(Sleeper), Box::new(Sleeper)];
        let cost = measure_round(&mut contenders, Duration::from_millis(2));
        assert!(
            cost.pick >= 1_000.0 && cost.release < cost.pick,
            "{} ns",
            cost.pick
        );
    }
}
