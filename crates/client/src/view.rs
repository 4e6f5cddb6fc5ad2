//! A cluster as calls see it.

use std::sync::{Arc, Mutex};

use evenkeel_core::{Endpoint, Nanos, Outcome, RequestWindow, RetryRules, Snapshot, unpoisoned};

use crate::counters::{EndpointCounters, ThreadCounters};
use crate::shared::Shared;

/// One published version of a cluster.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) snapshot: Snapshot,
    /// How many endpoints may be chosen.
    pub(crate) eligible: usize,
    pub(crate) shared: Arc<Shared>,
}

impl View {
    pub(crate) fn retry(&self) -> &RetryRules {
        &self.shared.settings.retry
    }
}

/// A version with the services of its endpoints, in the order of the snapshot.
#[derive(Debug)]
pub(crate) struct Version<S> {
    pub(crate) view: Arc<View>,
    /// To be cloned by each thread for itself: a service need not be shareable between threads.
    services: Mutex<Box<[S]>>,
}

impl<S: Clone> Version<S> {
    pub(crate) fn new(view: Arc<View>, services: Box<[S]>) -> Self {
        let services = Mutex::new(services);
        Self { view, services }
    }

    pub(crate) fn services(&self) -> Vec<S> {
        unpoisoned(self.services.lock()).to_vec()
    }
}

/// A version as one thread holds it. Leases hold it too, so that threads that call at the same time count no
/// common share up and down.
#[derive(Debug)]
pub(crate) struct LocalView {
    pub(crate) view: Arc<View>,
    /// Of this thread, in the order of the snapshot.
    pub(crate) endpoints: Box<[Arc<EndpointCounters>]>,
    pub(crate) counters: Arc<ThreadCounters>,
}

impl AsRef<Snapshot> for LocalView {
    fn as_ref(&self) -> &Snapshot {
        &self.view.snapshot
    }
}

impl LocalView {
    pub(crate) fn endpoint(&self, index: usize) -> &Endpoint {
        self.view.snapshot.endpoint(index)
    }

    /// Counts how a call ended at the endpoint of a place.
    pub(crate) fn count(&self, index: usize, outcome: Outcome, took: Nanos) {
        let outlier = &self.view.shared.settings.health.outlier;
        let is_timed = outlier.is_some_and(|outlier| outlier.latency_factor.is_some());
        self.endpoints[index].count(outcome, took, is_timed);
    }

    pub(crate) fn window(&self) -> &RequestWindow {
        &self.counters.window
    }
}
