//! What workers counted of a cluster, summed by whoever asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counters::{ClusterCounters, EndpointCounters, Sheds, Totals};
use super::decision_times::DecisionTimes;
use super::durations::Histogram;
use super::record::Cluster;
use super::shadow::ShadowReport;

/// The counters that workers registered.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) endpoints: BTreeMap<Arc<str>, Vec<Arc<EndpointCounters>>>,
    pub(super) workers: Vec<Arc<ClusterCounters>>,
}

impl Cluster {
    /// A worker's counters for an endpoint.
    pub(crate) fn count_endpoint(&self, id: &Arc<str>) -> Arc<EndpointCounters> {
        let counters = Arc::<EndpointCounters>::default();
        self.counters()
            .endpoints
            .entry(Arc::clone(id))
            .or_default()
            .push(Arc::clone(&counters));
        counters
    }

    /// A worker's counters for the cluster.
    pub(crate) fn count_worker(&self) -> Arc<ClusterCounters> {
        let counters = Arc::new(ClusterCounters::new(&self.budget.policy()));
        self.counters().workers.push(Arc::clone(&counters));
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
            let workers = counters.endpoints.get(id)?;
            let totals = EndpointCounters::sum(workers.iter().map(AsRef::as_ref));
            let count = totals.durations.count();
            (count > 0).then(|| totals.durations.sum().0 as f64 / 1e9 / count as f64)
        })
    }

    /// What was counted of the answers that the gateway made itself.
    #[must_use]
    pub fn own_totals(&self) -> Totals {
        EndpointCounters::sum(self.counters().workers.iter().map(|worker| &worker.own))
    }

    /// Decisions by outcome: picked, fallback, queued, none.
    #[must_use]
    pub fn decisions(&self) -> [u64; 4] {
        let mut sum = [0; 4];
        for worker in &self.counters().workers {
            for (sum, count) in sum.iter_mut().zip(worker.decisions()) {
                *sum += count;
            }
        }
        sum
    }

    /// How long the decisions took that were timed.
    #[must_use]
    pub fn decision_times(&self) -> DecisionTimes {
        DecisionTimes::sum(self.counters().workers.iter().map(|worker| &worker.times))
    }

    /// Retries by outcome: success, failure, over budget.
    #[must_use]
    pub fn retries(&self) -> [u64; 3] {
        let mut sum = [0; 3];
        for worker in &self.counters().workers {
            for (sum, count) in sum.iter_mut().zip(worker.retries()) {
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
        for worker in &self.counters().workers {
            worker.add_waits(&mut waits);
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
        for worker in &self.counters().workers {
            worker.add_sheds(&mut sum);
        }
        sum
    }
}
