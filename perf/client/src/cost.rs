//! What a balancer costs a call: `ready`, `call`, the answer, its end. The services do nothing.
//!
//! tower's `Balance` cannot be shared, so each thread has its own, which is its best case: behind the `Buffer` that
//! sharing takes there would be a task hop. Ours is one cluster for all threads.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::Result;
use evenkeel_client::core::Endpoint;
use evenkeel_client::{Cluster, Plain, Settings};
use nix::time::{ClockId, clock_gettime};
use tower::Service;
use tower::balance::p2c::Balance;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, PeakEwma, PendingRequests};

const CALLS: usize = 100_000;

/// A service that is always ready and answers at once.
#[derive(Clone, Copy)]
struct Idle;

impl Service<u64> for Idle {
    type Response = u64;
    type Error = Infallible;
    type Future = Ready<Result<u64, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: u64) -> Self::Future {
        ready(Ok(call))
    }
}

/// What a call took, in nanoseconds: on the clock, and of its thread's time on a core, which other load disturbs less.
#[derive(Clone, Copy, Default)]
struct Took {
    clock: f64,
    core: f64,
}

/// Makes calls and says what one took.
type Run = Box<dyn FnMut() -> Took + Send>;

/// How long this thread has been on a core, in nanoseconds.
fn on_core() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every thread has one");
    time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64
}

fn drive<S>(mut service: S) -> Run
where
    S: Service<u64, Response = u64> + Send + 'static,
{
    Box::new(move || {
        let mut context = Context::from_waker(Waker::noop());
        let (begun, core) = (Instant::now(), on_core());
        for call in 0..CALLS as u64 {
            assert!(matches!(
                service.poll_ready(&mut context),
                Poll::Ready(Ok(()))
            ));
            let mut answer = pin!(service.call(call));
            match answer.as_mut().poll(&mut context) {
                Poll::Ready(Ok(answer)) => black_box(answer),
                _ => panic!("an idle service has its answer at once"),
            };
        }
        Took {
            clock: begun.elapsed().as_nanos() as f64 / CALLS as f64,
            core: (on_core() - core) / CALLS as f64,
        }
    })
}

fn cluster(strategy: &str, endpoints: usize) -> Cluster<fn(&Endpoint) -> Idle> {
    let list = (0..endpoints).map(|at| Endpoint::new(format!("e{at}"), "10.0.0.1:80"));
    let settings = Settings::new("bench")
        .strategy(strategy, &[])
        .expect("registered");
    Cluster::new(settings, list, (|_| Idle) as fn(&Endpoint) -> Idle).expect("unique")
}

fn evenkeel(strategy: &str, endpoints: usize, threads: usize) -> Vec<Run> {
    let cluster = cluster(strategy, endpoints);
    (0..threads)
        .map(|_| drive(cluster.balance(Plain)))
        .collect()
}

/// A cluster for each thread: beside one for all it shows what sharing endpoints costs.
fn evenkeel_apart(strategy: &str, endpoints: usize, threads: usize) -> Vec<Run> {
    (0..threads)
        .map(|_| drive(cluster(strategy, endpoints).balance(Plain)))
        .collect()
}

fn tower_pending(endpoints: usize, threads: usize) -> Vec<Run> {
    let service = || PendingRequests::new(Idle, CompleteOnResponse::default());
    let balance = || {
        Balance::new(ServiceList::new(
            (0..endpoints).map(|_| service()).collect::<Vec<_>>(),
        ))
    };
    (0..threads).map(|_| drive(balance())).collect()
}

fn tower_ewma(endpoints: usize, threads: usize) -> Vec<Run> {
    let rtt = Duration::from_millis(30);
    let service = || PeakEwma::new(Idle, rtt, 10e9, CompleteOnResponse::default());
    let balance = || {
        Balance::new(ServiceList::new(
            (0..endpoints).map(|_| service()).collect::<Vec<_>>(),
        ))
    };
    (0..threads).map(|_| drive(balance())).collect()
}

/// The mean of what each thread measured, all at once.
fn round(runs: &mut [Run]) -> Took {
    let barrier = Barrier::new(runs.len());
    let all: Vec<Took> = std::thread::scope(|scope| {
        let barrier = &barrier;
        let start = |run| {
            scope.spawn(move || {
                let run: &mut Run = run;
                barrier.wait();
                run()
            })
        };
        let threads: Vec<_> = runs.iter_mut().map(start).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    let mean = |of: fn(&Took) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    Took {
        clock: mean(|took| took.clock),
        core: mean(|took| took.core),
    }
}

/// The median and the least of what rounds came to.
fn middle_and_best(times: &[Took], of: fn(&Took) -> f64) -> (f64, f64) {
    let mut times: Vec<f64> = times.iter().map(of).collect();
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

/// Measures and prints a table: of those whose names contain `only`, if that is given.
pub(crate) fn run(rounds: usize, only: Option<&str>) -> Result<()> {
    println!(
        "{:<34} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "system", "endpoints", "threads", "ns", "best ns", "core ns", "best"
    );
    for endpoints in [6, 50] {
        for threads in [1, 2] {
            let mut contenders = vec![
                ("no balancer", (0..threads).map(|_| drive(Idle)).collect()),
                (
                    "tower p2c, pending requests",
                    tower_pending(endpoints, threads),
                ),
                ("tower p2c, peak ewma", tower_ewma(endpoints, threads)),
                (
                    "evenkeel-client least_request",
                    evenkeel("least_request", endpoints, threads),
                ),
                (
                    "evenkeel-client apart",
                    evenkeel_apart("least_request", endpoints, threads),
                ),
                (
                    "evenkeel-client peak_ewma",
                    evenkeel("peak_ewma", endpoints, threads),
                ),
                (
                    "evenkeel-client round_robin",
                    evenkeel("round_robin", endpoints, threads),
                ),
            ];
            contenders.retain(|(name, _)| only.is_none_or(|only| name.contains(only)));
            let mut times = vec![Vec::new(); contenders.len()];
            for at in 0..=rounds {
                for ((_, runs), times) in contenders.iter_mut().zip(&mut times) {
                    let took = round(runs);
                    // The first one warms up.
                    if at > 0 {
                        times.push(took);
                    }
                }
            }
            for ((name, _), times) in contenders.iter().zip(&times) {
                let (clock, best) = middle_and_best(times, |took| took.clock);
                let (core, least) = middle_and_best(times, |took| took.core);
                println!(
                    "{name:<34} {endpoints:>9} {threads:>7} {clock:>9.1} {best:>9.1} {core:>9.1} {least:>9.1}"
                );
            }
        }
    }
    Ok(())
}
