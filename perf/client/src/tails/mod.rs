//! Latencies and errors under trouble: six endpoints in the process, 300 calls a second that come whether others have
//! ended or not, the same for all balancers, one balancer after the other.

mod backends;
mod contenders;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;

use backends::{Backends, Trouble};
use contenders::{Contender, contenders};

/// How often somebody calls.
const PACE: Duration = Duration::from_micros(3_333);

/// Measures and prints a table for each kind of trouble.
pub(crate) fn run(secs: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    println!(
        "{:<16} {:<32} {:>8} {:>8} {:>9} {:>8} {:>8}",
        "trouble", "balancer", "p50 ms", "p99 ms", "p99.9 ms", "errors", "at sick"
    );
    for trouble in Trouble::ALL {
        for contender in contenders() {
            let backends = Backends::new(trouble, Duration::from_secs(secs));
            runtime.block_on(measure(trouble, contender, backends, secs))?;
        }
    }
    Ok(())
}

async fn measure(
    trouble: Trouble,
    contender: Contender,
    backends: Arc<Backends>,
    secs: u64,
) -> Result<()> {
    let name = contender.name;
    let mut caller = (contender.build)(&backends).await?;
    let mut pace = tokio::time::interval(PACE);
    let mut calls = tokio::task::JoinSet::new();
    let begun = Instant::now();
    backends.begin();
    while begun.elapsed() < Duration::from_secs(secs) {
        pace.tick().await;
        let asked = Instant::now();
        let answer = caller();
        calls.spawn(async move {
            // A caller gives up after 5 s, as most do.
            let answer = tokio::time::timeout(Duration::from_secs(5), answer).await;
            (asked.elapsed(), matches!(answer, Ok(true)))
        });
    }
    let all = calls.join_all().await;
    let errors = all.iter().filter(|(_, good)| !good).count();
    let mut times: Vec<Duration> = all
        .iter()
        .filter(|(_, good)| *good)
        .map(|(took, _)| *took)
        .collect();
    times.sort_unstable();
    let ms = |share: f64| {
        let at = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times
            .get(at)
            .map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
    };
    let share = |count: u64| 100.0 * count as f64 / all.len() as f64;
    println!(
        "{:<16} {name:<32} {:>8.1} {:>8.1} {:>9.1} {:>7.2}% {:>7.2}%",
        trouble.name(),
        ms(0.5),
        ms(0.99),
        ms(0.999),
        share(errors as u64),
        share(backends.at_sick()),
    );
    Ok(())
}
