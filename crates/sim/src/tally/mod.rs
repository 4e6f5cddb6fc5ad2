//! What a run counted.

mod histogram;

use evenkeel_core::Nanos;

pub use histogram::Histogram;

/// What became of requests.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// How many there were.
    pub requests: u64,
    /// Answered as they should be.
    pub well: u64,
    /// Answered by an error of a backend, or not in time.
    pub failed: u64,
    /// Turned away by the balancer: nobody could take them.
    pub shed: u64,
    /// How long those took that were answered well or not in time.
    pub latency: Histogram,
}

impl Counts {
    /// The share of requests that failed.
    #[must_use]
    pub fn failure_rate(&self) -> f64 {
        share(self.failed, self.requests)
    }

    /// The share of requests that were turned away.
    #[must_use]
    pub fn shed_rate(&self) -> f64 {
        share(self.shed, self.requests)
    }
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// A part of the run with its own rate.
#[derive(Clone, Debug)]
pub struct StageCounts {
    /// The rate that was asked for, in requests a second.
    pub rate: f64,
    /// What became of its requests.
    pub counts: Counts,
    /// How many tries of its requests each backend got.
    pub per_server: Vec<u64>,
}

/// What one backend did.
#[derive(Clone, Debug)]
pub struct EndpointCounts {
    /// Its id.
    pub id: String,
    /// The tries that were sent to it.
    pub requests: u64,
    /// Those that failed.
    pub failures: u64,
    /// Its busy share of its slots or cores; none where they have no number.
    pub utilization: Option<f64>,
    /// The most requests in it at once.
    pub max_in_flight: u32,
    /// The mean of that, over time.
    pub mean_in_flight: f64,
    /// Its configured weight.
    pub weight: u16,
}

/// The state at a moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub at: Nanos,
    /// The requests in each backend.
    pub present: Vec<u32>,
    /// The effective weights that the first balancer knows, in 1/256; 0: not in its list, or not to be
    /// chosen.
    pub weights: Vec<u32>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When.
    pub at: Nanos,
    /// What, in words.
    pub what: String,
}

/// All that one run came to.
#[derive(Clone, Debug)]
pub struct Tally {
    /// What it is called.
    pub label: String,
    /// The name of its strategy.
    pub strategy: String,
    /// The time that it took, and how much of it counts.
    pub span: Nanos,
    /// Likewise.
    pub counted: Nanos,
    /// How long traffic came in the time that counts.
    pub traffic: Nanos,
    /// What became of requests.
    pub counts: Counts,
    /// For each stage, if there are several.
    pub stages: Vec<StageCounts>,
    /// Second and later tries.
    pub retries: u64,
    /// Tries that there was no budget for.
    pub over_budget: u64,
    /// Requests that waited for a slot, or for nothing.
    pub waits: u64,
    /// How long those waited that got one.
    pub waited: Histogram,
    /// What each backend did.
    pub endpoints: Vec<EndpointCounts>,
    /// Queue lengths at the moments of samples: how often a backend had so many requests.
    pub lengths: Vec<u64>,
    /// The state over time, for pictures.
    pub samples: Vec<Sample>,
    /// Faults and transitions.
    pub happenings: Vec<Happening>,
    /// Requests in the system as arrivals found it, on average.
    pub seen: f64,
    /// And as it was over time.
    pub mean_present: f64,
    /// Events that were simulated.
    pub events: u64,
    /// What must never happen, and did.
    pub violations: Vec<String>,
}
