//! A cluster as calls see it.

use std::any::Any;
use std::sync::Arc;

use evenkeel_core::hash::Hasher;
use evenkeel_core::{Endpoint, Nanos, Outcome, Published, RequestWindow, RetryRules, Snapshot};

use crate::counters::{EndpointCounters, ThreadCounters};
use crate::lock::Lock;
use crate::settings::Settings;
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

    /// How keys are hashed, if endpoints are chosen by keys.
    pub(crate) fn hasher(&self) -> Option<Hasher> {
        self.snapshot.strategy().hasher()
    }
}

/// The service of an endpoint, of which each thread makes a clone for itself: it need not be shareable between threads.
#[derive(Debug)]
pub(crate) struct Original<S>(Lock<S>);

impl<S: Clone> Original<S> {
    pub(crate) fn new(service: S) -> Self {
        Self(Lock::new(service))
    }

    /// Does something with it that is not to be done by two threads at once.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&S) -> T) -> T {
        work(
            &self
                .0
                .hold("a service called its own cluster while it was cloned"),
        )
    }

    fn cloned(&self) -> S {
        self.with(S::clone)
    }
}

/// A version with the services of its endpoints, in the order of the snapshot.
#[derive(Debug)]
pub(crate) struct Version<S> {
    pub(crate) view: Arc<View>,
    services: Box<[Arc<Original<S>>]>,
}

impl<S: Clone> Version<S> {
    pub(crate) fn new(view: Arc<View>, services: Box<[Arc<Original<S>>]>) -> Self {
        Self { view, services }
    }

    pub(crate) fn services(&self) -> Vec<S> {
        self.services.iter().map(|one| one.cloned()).collect()
    }

    /// The service of one endpoint, by its place.
    pub(crate) fn service(&self, index: usize) -> S {
        self.services[index].cloned()
    }
}

/// A version as one thread holds it. Leases hold it too, so that threads that call at the same time count no
/// common share up and down: it begins a cache line of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct LocalView {
    pub(crate) view: Arc<View>,
    /// Of this thread, in the order of the snapshot.
    pub(crate) endpoints: Box<[Arc<EndpointCounters>]>,
    pub(crate) counters: Arc<ThreadCounters>,
    /// The cluster's `Published<Version<S>>`, for calls that go on in another thread.
    pub(crate) published: Arc<dyn Any + Send + Sync>,
}

impl AsRef<Snapshot> for LocalView {
    fn as_ref(&self) -> &Snapshot {
        &self.view.snapshot
    }
}

impl LocalView {
    /// What a thread begins with.
    pub(crate) fn new<S: Send + 'static>(
        version: &Version<S>,
        counters: Arc<ThreadCounters>,
        published: Arc<Published<Version<S>>>,
    ) -> Self {
        Self::with_known(version, counters, published, |_| None)
    }

    /// The same thread's with another version; it goes on counting where it counted.
    pub(crate) fn renewed<S>(&self, version: &Version<S>) -> Self {
        let known = |id: &str| {
            let listed = self.view.snapshot.endpoints();
            let at = listed.binary_search_by(|endpoint| endpoint.id().cmp(id));
            Some(Arc::clone(&self.endpoints[at.ok()?]))
        };
        let (counters, published) = (Arc::clone(&self.counters), Arc::clone(&self.published));
        Self::with_known(version, counters, published, known)
    }

    fn with_known<S>(
        version: &Version<S>,
        counters: Arc<ThreadCounters>,
        published: Arc<dyn Any + Send + Sync>,
        known: impl Fn(&str) -> Option<Arc<EndpointCounters>>,
    ) -> Self {
        let view = Arc::clone(&version.view);
        let endpoints = view.snapshot.endpoints().iter();
        let endpoints = endpoints.map(|endpoint| {
            known(endpoint.id())
                .unwrap_or_else(|| view.shared.count_endpoint(&endpoint.shared_id()))
        });
        Self {
            endpoints: endpoints.collect(),
            view,
            counters,
            published,
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.view.shared.settings
    }

    pub(crate) fn endpoint(&self, index: usize) -> &Endpoint {
        self.view.snapshot.endpoint(index)
    }

    /// Counts how a call ended at the endpoint of a place.
    #[inline]
    pub(crate) fn count(&self, index: usize, outcome: Outcome, took: Nanos) {
        let outlier = &self.settings().health.outlier;
        let is_timed = outlier.is_some_and(|outlier| outlier.latency_factor.is_some());
        self.endpoints[index].count(outcome, took, is_timed);
    }

    pub(crate) fn window(&self) -> &RequestWindow {
        &self.counters.window
    }
}
