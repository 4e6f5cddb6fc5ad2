//! What workers counted of a cluster, summed by whoever asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counters::{ClusterCounters, EndpointCounters, Sheds, Totals};
use super::decision_times::DecisionTimes;
use super::durations::Histogram;
use super::record::Cluster;
use super::shadow::ShadowReport;

/// The counters that workers registered, and what was counted before there were any.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) endpoints: BTreeMap<Arc<str>, Sets<EndpointCounters>>,
    pub(super) cluster: Sets<ClusterCounters>,
}

/// Counters of one thing: a set a worker, and one for all that processes before this one counted, however often
/// they tell of it.
#[derive(Debug)]
pub(super) struct Sets<T> {
    pub(super) workers: Vec<Arc<T>>,
    pub(super) before: Option<Box<T>>,
}

impl<T> Default for Sets<T> {
    fn default() -> Self {
        Self {
            workers: Vec::new(),
            before: None,
        }
    }
}

impl<T> Sets<T> {
    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let workers = self.workers.iter().map(AsRef::as_ref);
        workers.chain(self.before.as_deref())
    }
}

impl Cluster {
    /// A worker's counters for an endpoint.
    pub(crate) fn count_endpoint(&self, id: &Arc<str>) -> Arc<EndpointCounters> {
        let counters = Arc::<EndpointCounters>::default();
        self.counters()
            .endpoints
            .entry(Arc::clone(id))
            .or_default()
            .workers
            .push(Arc::clone(&counters));
        counters
    }

    /// A worker's counters for the cluster.
    pub(crate) fn count_worker(&self) -> Arc<ClusterCounters> {
        let counters = Arc::new(ClusterCounters::new(&self.budget.policy()));
        self.counters().cluster.workers.push(Arc::clone(&counters));
        counters
    }

    /// How the choices of the shadows differ from the live ones, since they were configured.
    #[must_use]
    pub fn shadows(&self) -> Vec<ShadowReport> {
        let view = self.published().load();
        let Some(shadows) = &view.shadows else {
            return Vec::new();
        };
        let counters = self.counters();
        shadows.board.reports(|id| {
            let sets = counters.endpoints.get(id)?;
            let totals = EndpointCounters::sum(sets.iter());
            let count = totals.durations.count();
            (count > 0).then(|| totals.durations.sum().0 as f64 / 1e9 / count as f64)
        })
    }

    /// What was counted of the answers that the gateway made itself.
    #[must_use]
    pub fn own_totals(&self) -> Totals {
        EndpointCounters::sum(self.counters().cluster.iter().map(|set| &set.own))
    }

    /// Decisions by outcome: picked, fallback, queued, none.
    #[must_use]
    pub fn decisions(&self) -> [u64; 4] {
        let mut sum = [0; 4];
        for set in self.counters().cluster.iter() {
            for (sum, count) in sum.iter_mut().zip(set.decisions()) {
                *sum += count;
            }
        }
        sum
    }

    /// How long the decisions took that were timed.
    #[must_use]
    pub fn decision_times(&self) -> DecisionTimes {
        DecisionTimes::sum(self.counters().cluster.iter().map(|set| &set.times))
    }

    /// Retries by outcome: success, failure, over budget.
    #[must_use]
    pub fn retries(&self) -> [u64; 3] {
        let mut sum = [0; 3];
        for set in self.counters().cluster.iter() {
            for (sum, count) in sum.iter_mut().zip(set.retries()) {
                *sum += count;
            }
        }
        sum
    }

    /// How many requests wait.
    #[must_use]
    pub fn queue_length(&self) -> u64 {
        self.room.len()
    }

    /// How long those waited that got a slot.
    #[must_use]
    pub fn queue_waits(&self) -> Histogram {
        let mut waits = Histogram::default();
        for set in self.counters().cluster.iter() {
            set.add_waits(&mut waits);
        }
        waits
    }

    /// Requests that were turned away, by priority and reason, in the order of [`Priority::ALL`] and
    /// [`ShedReason::ALL`].
    ///
    /// [`Priority::ALL`]: evenkeel_core::Priority::ALL
    /// [`ShedReason::ALL`]: evenkeel_core::ShedReason::ALL
    #[must_use]
    pub fn sheds(&self) -> Sheds {
        let mut sum = Sheds::default();
        for set in self.counters().cluster.iter() {
            set.add_sheds(&mut sum);
        }
        sum
    }
}
