//! Far more threads than cores, each timing every single pick.
//!
//! A pick that the scheduler interrupts waits for its thread's next turn; that is part of what a
//! thread waits, for all systems alike. A lock would show here: its holder can be interrupted too.

use crate::clock::Laps;
use crate::contender::{Case, Contender, Entry};
use crate::report::{Row, median};
use anyhow::{Context, Result};
use std::sync::Barrier;
use std::thread;

/// Picks of each thread, after as many for warming up.
const PICKS: usize = 500;
/// Thousands of stacks must fit; nothing here recurses.
const STACK_BYTES: usize = 256 * 1024;

/// Mean and 99th percentile of one round, in nanoseconds.
#[derive(Clone, Copy)]
struct Wait {
    mean: f64,
    p99: f64,
}

/// Measures every entry in a case, the entries taking turns.
///
/// # Errors
///
/// When a contender cannot be built or a thread cannot be started.
pub(crate) fn measure(entries: &[Entry], case: Case, rounds: usize) -> Result<Vec<Row>> {
    let entries: Vec<_> = entries
        .iter()
        .filter(|entry| (entry.applies)(case))
        .collect();
    let mut waits = vec![Vec::new(); entries.len()];
    for _ in 0..rounds {
        for (entry, waits) in entries.iter().zip(&mut waits) {
            waits.push(measure_round((entry.build)(case)?)?);
        }
    }
    let row = |(entry, waits): (&&Entry, &Vec<Wait>)| {
        let mean = median(waits.iter().map(|wait| wait.mean).collect());
        let p99 = median(waits.iter().map(|wait| wait.p99).collect());
        Row {
            p99_ns: Some(p99),
            ..Row::new(entry.system, &entry.strategy, case, mean)
        }
    };
    Ok(entries.iter().zip(&waits).map(row).collect())
}

fn measure_round(mut contenders: Vec<Box<dyn Contender>>) -> Result<Wait> {
    let start = Barrier::new(contenders.len());
    let mut waits = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(contenders.len());
        for contender in &mut contenders {
            let start = &start;
            let work = move || {
                pick_one_by_one(contender.as_mut());
                start.wait();
                pick_one_by_one(contender.as_mut())
            };
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            threads.push(
                builder
                    .spawn_scoped(scope, work)
                    .context("a thread of the crowd")?,
            );
        }
        let waits = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap_or_default());
        anyhow::Ok(waits.collect::<Vec<u64>>())
    })?;
    let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
    let at = waits.len() * 99 / 100;
    let (_, p99, _) = waits.select_nth_unstable(at);
    Ok(Wait {
        mean,
        p99: *p99 as f64,
    })
}

fn pick_one_by_one(contender: &mut dyn Contender) -> Vec<u64> {
    let mut waits = Vec::with_capacity(PICKS);
    for _ in 0..PICKS {
        let mut laps = Laps::start();
        contender.pick(1);
        waits.push(laps.lap());
        contender.release();
    }
    waits
}
