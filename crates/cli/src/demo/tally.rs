//! What the client saw, by who signed the answer.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use evenkeel_core::unpoisoned;
use hdrhistogram::Histogram;

/// Whatever takes longer counts as this: the gateway gives up after a minute.
const LONGEST_US: u64 = 100_000_000;

/// What the client saw so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: Mutex<Counts>,
}

/// Counts at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// By backend; answers that none signed are under the empty name.
    pub(super) backends: BTreeMap<String, Row>,
    /// Arrivals for which there was no room, since too many were waiting.
    pub(super) unsent: u64,
}

/// What came from one backend.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// All answers.
    pub(super) requests: u64,
    /// Those that were no use: 500 and above, or cut off.
    pub(super) errors: u64,
    latencies: Histogram<u64>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            requests: 0,
            errors: 0,
            latencies: Histogram::new_with_max(LONGEST_US, 3)
                .expect("the bound is at least two, and three digits are among the one to five"),
        }
    }
}

impl Row {
    fn count(&mut self, latency: Duration, ok: bool) {
        self.requests += 1;
        self.errors += u64::from(!ok);
        self.latencies.saturating_record(latency.as_micros() as u64);
    }

    /// Adds another row.
    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        let merged = self.latencies.add(&other.latencies);
        debug_assert!(merged.is_ok(), "histograms of one range hold each other");
    }

    /// A latency in milliseconds: `share` of the requests took no longer.
    pub(super) fn quantile_ms(&self, share: f64) -> f64 {
        self.latencies.value_at_quantile(share) as f64 / 1000.0
    }
}

impl Tally {
    /// Counts an answer that took this long, or its lack.
    pub(super) fn count(&self, backend: &str, latency: Duration, ok: bool) {
        let mut counts = unpoisoned(self.counts.lock());
        if let Some(row) = counts.backends.get_mut(backend) {
            row.count(latency, ok);
        } else {
            let mut row = Row::default();
            row.count(latency, ok);
            counts.backends.insert(backend.to_owned(), row);
        }
    }

    /// Counts an arrival that was not sent.
    pub(super) fn count_unsent(&self) {
        let mut counts = unpoisoned(self.counts.lock());
        counts.unsent += 1;
    }

    /// The counts now.
    pub(super) fn counts(&self) -> Counts {
        unpoisoned(self.counts.lock()).clone()
    }
}

impl Counts {
    /// All rows together.
    pub(super) fn total(&self) -> Row {
        let mut total = Row::default();
        for row in self.backends.values() {
            total.merge(row);
        }
        total
    }
}
