//! The control side of a cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use evenkeel_config as config;
use evenkeel_core::strategy::Strategy;
use evenkeel_core::{
    Admin, Endpoint, Membership, Nanos, Published, RetryBudget, RetryPolicy, Standing,
};

use super::counters::{ClusterCounters, EndpointCounters, Totals};
use super::target::Target;
use super::view::{Policies, View};
use crate::affinity::Tags;

/// A cluster: its members, what is published of them, and what has been counted.
#[derive(Debug)]
pub struct Cluster {
    config: config::Cluster,
    state: Mutex<State>,
    published: Arc<Published<View>>,
    budget: RetryBudget,
    budget_policy: RetryPolicy,
    counters: Mutex<Counters>,
}

#[derive(Debug)]
struct State {
    membership: Membership,
    policies: Policies,
    targets: BTreeMap<Arc<str>, Arc<Target>>,
    since: BTreeMap<Arc<str>, (Standing, SystemTime)>,
}

/// The counters that workers registered.
#[derive(Debug, Default)]
struct Counters {
    endpoints: BTreeMap<Arc<str>, Vec<Arc<EndpointCounters>>>,
    workers: Vec<Arc<ClusterCounters>>,
}

/// What is to be told of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointReport {
    /// The endpoint as configured.
    pub endpoint: Arc<Endpoint>,
    /// What an operator wants of it.
    pub admin: Admin,
    /// Whether it takes part in decisions.
    pub standing: Standing,
    /// The weight in force, in 1/256 of a configured unit.
    pub effective_weight: u32,
    /// Since when it stands so.
    pub since: SystemTime,
    /// Requests in flight.
    pub in_flight: u32,
    /// What was counted of it.
    pub totals: Totals,
}

impl Cluster {
    pub(crate) fn new(
        mut membership: Membership,
        config: config::Cluster,
        policies: Policies,
    ) -> Self {
        let mut targets = BTreeMap::new();
        let mut since = BTreeMap::new();
        let view = view(&mut membership, policies.clone(), &mut targets, &mut since);
        Self {
            budget: RetryBudget::new(RetryPolicy::default()),
            budget_policy: RetryPolicy::default(),
            config,
            published: Arc::new(Published::new(Arc::new(view))),
            state: Mutex::new(State {
                membership,
                policies,
                targets,
                since,
            }),
            counters: Mutex::default(),
        }
    }

    /// The name in configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// The name as a shared string.
    #[must_use]
    pub fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.config.name)
    }

    /// The strategy and its parameters.
    #[must_use]
    pub fn strategy(&self) -> Arc<dyn Strategy> {
        Arc::clone(self.published.load().snapshot.strategy())
    }

    /// Counts the published versions, from 1.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.published.load().snapshot.generation()
    }

    /// Whether so few endpoints are healthy that a tier uses all of them.
    #[must_use]
    pub fn is_in_panic(&self) -> bool {
        let view = self.published.load();
        view.snapshot
            .groups()
            .iter()
            .any(evenkeel_core::Group::is_in_panic)
    }

    /// The endpoint with what the configuration sets for all endpoints of this cluster.
    pub(crate) fn adopt(&self, endpoint: Endpoint) -> Endpoint {
        self.config.adopt(endpoint)
    }

    /// Changes the membership and publishes it, if `change` says `Ok`.
    ///
    /// Decisions that begin after this returned are made on the new version; see
    /// [`crate::Control::settle`] for those under way.
    pub(crate) fn change<T, E>(
        &self,
        change: impl FnOnce(&mut Membership) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.state();
        let changed = change(&mut state.membership)?;
        let State {
            membership,
            policies,
            targets,
            since,
        } = &mut *state;
        let view = view(membership, policies.clone(), targets, since);
        self.published.publish(Arc::new(view));
        self.forget_departed(&state);
        Ok(changed)
    }

    /// Reports every endpoint, in id order.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointReport> {
        let state = self.state();
        let view = self.published.load();
        let counters = self.counters();
        (0..view.snapshot.endpoints().len())
            .map(|index| report(&state, &view, &counters, index))
            .collect()
    }

    /// Reports the endpoint of that id.
    #[must_use]
    pub fn endpoint(&self, id: &str) -> Option<EndpointReport> {
        let state = self.state();
        let view = self.published.load();
        let index = view
            .snapshot
            .endpoints()
            .binary_search_by(|endpoint| endpoint.id().cmp(id))
            .ok()?;
        Some(report(&state, &view, &self.counters(), index))
    }

    /// What was counted of the answers that the gateway made itself.
    #[must_use]
    pub fn own_totals(&self) -> Totals {
        EndpointCounters::sum(self.counters().workers.iter().map(|worker| &worker.own))
    }

    /// Decisions by outcome: picked, fallback, none.
    #[must_use]
    pub fn decisions(&self) -> [u64; 3] {
        let mut sum = [0; 3];
        for worker in &self.counters().workers {
            for (sum, count) in sum.iter_mut().zip(worker.decisions()) {
                *sum += count;
            }
        }
        sum
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

    /// Takes a retry from the budget; a lock, on a path that is not that of most requests.
    pub(crate) fn spend_retry(&self, now: Nanos) -> bool {
        let counters = self.counters();
        let windows = counters.workers.iter().map(|worker| &worker.requests);
        self.budget.spend(now, windows)
    }

    pub(crate) fn published(&self) -> &Arc<Published<View>> {
        &self.published
    }

    /// The targets whose names have to be resolved.
    pub(crate) fn targets(&self) -> Vec<Arc<Target>> {
        self.state().targets.values().cloned().collect()
    }

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
        let counters = Arc::new(ClusterCounters::new(&self.budget_policy));
        self.counters().workers.push(Arc::clone(&counters));
        counters
    }

    /// Drops the series of endpoints that are gone and that no worker holds any more.
    fn forget_departed(&self, state: &State) {
        self.counters().endpoints.retain(|id, workers| {
            state.targets.contains_key(id)
                || workers.iter().any(|worker| Arc::strong_count(worker) > 1)
        });
    }

    // Nothing panics while it holds these locks, so a poisoned one is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(state: &State, view: &View, counters: &Counters, index: usize) -> EndpointReport {
    let endpoint = Arc::clone(&view.snapshot.endpoints()[index]);
    let candidate = &view.snapshot.candidates()[index];
    let workers = counters
        .endpoints
        .get(endpoint.id())
        .map_or(&[][..], Vec::as_slice);
    let standing = view.snapshot.standing(index);
    EndpointReport {
        admin: state
            .membership
            .get(endpoint.id())
            .map_or(Admin::Enabled, |(_, admin)| admin),
        standing,
        effective_weight: if standing == Standing::Ready {
            candidate.weight()
        } else {
            0
        },
        since: state
            .since
            .get(endpoint.id())
            .map_or(SystemTime::UNIX_EPOCH, |(_, since)| *since),
        in_flight: candidate.state().in_flight().count(),
        totals: EndpointCounters::sum(workers.iter().map(AsRef::as_ref)),
        endpoint,
    }
}

/// The next version: targets of endpoints that keep their address stay.
fn view(
    membership: &mut Membership,
    policies: Policies,
    targets: &mut BTreeMap<Arc<str>, Arc<Target>>,
    since: &mut BTreeMap<Arc<str>, (Standing, SystemTime)>,
) -> View {
    let snapshot = membership.snapshot();
    let old = std::mem::take(targets);
    let old_since = std::mem::take(since);
    let now = wall_clock();
    for (index, endpoint) in snapshot.endpoints().iter().enumerate() {
        let id = endpoint.shared_id();
        let target = Target::new(endpoint);
        let target = match old.get(&id) {
            Some(same) if same.host == target.host => Arc::clone(same),
            _ => Arc::new(target),
        };
        let standing = snapshot.standing(index);
        let stands = match old_since.get(&id) {
            Some((before, since)) if *before == standing => (standing, *since),
            _ => (standing, now),
        };
        targets.insert(Arc::clone(&id), target);
        since.insert(id, stands);
    }
    let sticky = policies.sticky.as_ref();
    View {
        targets: targets.values().cloned().collect(),
        tags: sticky.map(|sticky| Tags::new(sticky, &snapshot)),
        snapshot,
        policies,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "people read this time; nothing is decided by it"
)]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}
