//! A cluster in figures.

use std::sync::Arc;

use evenkeel_core::health::Health;
use evenkeel_core::{Endpoint, Nanos, Standing};

/// Up to where each bucket of a latency histogram reaches, that bound included.
pub const LATENCY_BOUNDS: [Nanos; 14] = [
    Nanos::from_millis(1),
    Nanos::from_millis(2),
    Nanos::from_millis(5),
    Nanos::from_millis(10),
    Nanos::from_millis(20),
    Nanos::from_millis(50),
    Nanos::from_millis(100),
    Nanos::from_millis(200),
    Nanos::from_millis(500),
    Nanos::from_secs(1),
    Nanos::from_secs(2),
    Nanos::from_secs(5),
    Nanos::from_secs(10),
    Nanos::from_secs(30),
];

/// How long calls took.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::{Endpoint, Outcome}};
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// cluster.tries().next()?.finish(Outcome::Success);
/// let latency = &cluster.stats().endpoints[0].calls.latency;
/// assert_eq!(latency.count(), 1);
/// assert_eq!(latency.buckets.iter().sum::<u64>(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Calls in each bucket of [`LATENCY_BOUNDS`], and those beyond.
    pub buckets: [u64; LATENCY_BOUNDS.len() + 1],
    /// All of them together.
    pub sum: Nanos,
}

impl Histogram {
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, count) in self.buckets.iter_mut().zip(other.buckets) {
            *sum += count;
        }
        self.sum = self.sum + other.sum;
    }

    /// How many calls there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// What calls to an endpoint came to, each try for itself.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::{Endpoint, Outcome}};
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// cluster.tries().next()?.finish(Outcome::Success);
/// drop(cluster.tries().next()?);
/// let calls = &cluster.stats().endpoints[0].calls;
/// assert_eq!((calls.successes, calls.failures, calls.cancelled), (1, 0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointCalls {
    /// It answered.
    pub successes: u64,
    /// It failed.
    pub failures: u64,
    /// It answered that this was too much for it.
    pub too_much: u64,
    /// The caller changed its mind.
    pub cancelled: u64,
    /// How long they took up to the head of the answer; those that were cancelled are no part of it.
    pub latency: Histogram,
}

/// An endpoint in figures.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::{Endpoint, Standing}};
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// let one = &cluster.stats().endpoints[0];
/// assert_eq!((one.endpoint.id(), one.standing), ("a", Standing::Ready));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointStats {
    /// The endpoint.
    pub endpoint: Arc<Endpoint>,
    /// Whether it takes part in decisions.
    pub standing: Standing,
    /// How it is.
    pub health: Health,
    /// Why, in words; empty when there is nothing to say.
    pub reason: String,
    /// The weight in force, in 1/256.
    pub effective_weight: u32,
    /// Calls in flight.
    pub in_flight: u32,
    /// The most that there may be.
    pub capacity: Option<u32>,
    /// What calls came to.
    pub calls: EndpointCalls,
}

/// A cluster in figures: see [`Cluster::stats`](crate::Cluster::stats).
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::Endpoint};
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// let stats = cluster.stats();
/// assert_eq!((&*stats.cluster, stats.strategy, stats.generation), ("web", "least_request", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// The name of the cluster.
    pub cluster: Arc<str>,
    /// The strategy in force.
    pub strategy: &'static str,
    /// The number of its version, from 1.
    pub generation: u64,
    /// Its endpoints, in id order.
    pub endpoints: Vec<EndpointStats>,
    /// Decisions that took what the strategy proposed.
    pub picked: u64,
    /// Decisions that took another one.
    pub fallback: u64,
    /// Decisions that gave a slot that was waited for.
    pub queued: u64,
    /// Decisions that found nobody.
    pub nobody: u64,
    /// Tries after the first one.
    pub retries: u64,
    /// Tries that were not made since the budget was spent.
    pub over_budget: u64,
    /// Tries beside a slow first one.
    pub hedges: u64,
    /// Calls that the queue turned away.
    pub shed: u64,
    /// Calls that wait at the moment.
    pub waiting: u64,
    /// Whether so few endpoints are healthy that all of a tier are used.
    pub panic: bool,
}
