//! What is merely counted, as figures with names: carried from one process into the next.

use std::sync::atomic::AtomicU64;

use super::{ClusterCounters, EndpointCounters};
use crate::cluster::decision_times::DecisionCells;

/// Counters under the name that both processes know them by.
pub(crate) type Figures<'c> = Vec<(&'static str, Vec<&'c AtomicU64>)>;

impl EndpointCounters {
    /// All that only grows.
    pub(crate) fn figures(&self) -> Figures<'_> {
        vec![
            ("codes", self.codes.iter().collect()),
            ("durations", self.durations.figures()),
            (
                "attempts",
                vec![&self.failures, &self.successes, &self.turned_away],
            ),
            ("reports", vec![&self.reports, &self.bad_reports]),
        ]
    }
}

impl ClusterCounters {
    /// All that only grows, but for the answers of the gateway's own.
    pub(crate) fn figures(&self) -> Figures<'_> {
        let decisions = [&self.picked, &self.fallback, &self.queued, &self.none];
        let retries = [&self.retried, &self.retry_failed, &self.over_budget];
        vec![
            ("decisions", decisions.into()),
            ("sheds", self.sheds.iter().flatten().collect()),
            ("waits", self.waits.figures()),
            ("retries", retries.into()),
            ("decision_times", DecisionCells::figures(&self.times)),
        ]
    }
}
