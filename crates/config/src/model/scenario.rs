//! Scenarios of the simulator.

use std::time::Duration;

use super::cluster::Cluster;
use super::strategy_choice::StrategyChoice;
use crate::value::law::Law;
use crate::value::traffic::{Arrivals, Keys};

/// A scenario: traffic, backends, what befalls them, and the clusters that are compared on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it shows; may be empty.
    pub about: String,
    /// What is expected of it; may be empty.
    pub expected: String,
    /// Whether every comparison has a clairvoyant and another seed beside it.
    pub references: bool,
    /// The traffic.
    pub load: Load,
    /// Those that serve it; never empty.
    pub backends: Vec<Backend>,
    /// What befalls them, in the order of the file.
    pub faults: Vec<Fault>,
    /// The cluster without a strategy of its own: what other strategies are tried with.
    pub base: Cluster,
    /// What is compared; never empty, labels are unique.
    pub variants: Vec<Variant>,
}

/// One of the clusters that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What it is called in results.
    pub label: String,
    /// Strategy and policies.
    pub cluster: Cluster,
}

/// How much there is of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So much time.
    Lasting(Duration),
    /// So many requests.
    Requests(u64),
}

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// From users that wait for one answer before they ask again.
    Closed {
        /// How many there are.
        users: u32,
        /// How long they wait between an answer and the next request.
        think: Law,
    },
    /// From the world, whatever becomes of them.
    Open {
        /// How they arrive.
        arrivals: Arrivals,
        /// How many a second, and for how long; the last stage lasts to the end. Never empty.
        stages: Vec<Stage>,
    },
}

/// A time with a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// Requests a second.
    pub rate: f64,
    /// How long.
    pub lasting: Duration,
}

/// The traffic of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// How much there is of it.
    pub amount: Amount,
    /// So much at the beginning is not counted.
    pub warmup: Duration,
    /// Where it comes from.
    pub source: Source,
    /// How many balancers share it, each with its own view.
    pub clients: u32,
    /// The strategy of these, where only the calls between backends are compared.
    pub strategy: Option<StrategyChoice>,
    /// Where they stand.
    pub zone: Option<String>,
    /// What the keys of requests are.
    pub keys: Option<Keys>,
    /// The group of backends it goes to; none: the first.
    pub entry: Option<String>,
    /// How long a balancer takes to hear of a change of the list.
    pub discovery_delay: Law,
    /// How many backends a balancer asks for their load at each request, for prequal.
    pub probes: u32,
    /// How long it takes until such an answer is there.
    pub probe_delay: Law,
    /// How often the state is looked at for pictures and queue lengths; none: some 240 times.
    pub sample: Option<Duration>,
}

/// In what order a backend serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// In the order of arrival.
    #[default]
    Fifo,
    /// All at once, each with its share.
    Ps,
}

/// A factor that is drawn for each backend, once for each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Its mean.
    pub mean: f64,
    /// Its deviation.
    pub deviation: f64,
    /// It is at least this.
    pub min: f64,
}

/// Backends of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    /// The group they belong to.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// How long a request takes.
    pub service: Law,
    /// How many requests are served at once (fifo), or how many cores share them (ps); none: any
    /// number.
    pub concurrency: Option<f64>,
    /// Multiplies `concurrency`.
    pub spread: Option<Spread>,
    /// In what order.
    pub discipline: Discipline,
    /// How many may wait; none: any number.
    pub queue: Option<u32>,
    /// The weight of their endpoints.
    pub weight: u16,
    /// Their zone.
    pub zone: Option<String>,
    /// Their tier.
    pub tier: u8,
    /// How many requests their balancer gives one of them at most; the cluster's when absent.
    pub capacity: Option<u32>,
    /// The groups that a request is passed to, one after the other, before it is answered.
    pub calls: Vec<String>,
    /// The keys they keep, and what one they do not keep costs beside.
    pub cache: Option<Cache>,
    /// Whether they join later, by a fault.
    pub absent: bool,
}

/// Keys that a backend keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cache {
    /// How many.
    pub size: u32,
    /// What one that it does not keep takes beside.
    pub miss: Law,
}

/// What befalls backends.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When, from the beginning.
    pub at: Duration,
    /// For how long; none: to the end.
    pub lasting: Option<Duration>,
    /// How often again, from one beginning to the next.
    pub every: Option<Duration>,
    /// Whom, counted over all tables of backends from 0.
    pub backends: Vec<u32>,
    /// Which balancers notice, for a partition; none: all.
    pub clients: Option<Vec<u32>>,
    /// What.
    pub kind: FaultKind,
}

/// What befalls a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// It refuses connections; what it was doing is lost.
    Down,
    /// This share of its answers is an error of that status, after this time.
    Errors {
        /// The share.
        share: f64,
        /// The status.
        status: u16,
        /// How long such an answer takes.
        after: Duration,
    },
    /// It joins the list.
    Join,
    /// It leaves the list, and finishes what it has.
    Leave,
    /// It cannot be reached, and does not answer.
    Partition,
    /// It stands still.
    Pause,
    /// Everything is well again.
    Recover,
    /// It takes so many times as long.
    Slow(f64),
}
