//! A cluster: its members, what is published of them, and who changes them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use evenkeel_core::health::{AttemptTotals, ClusterHealth, Happening, Observed, ProbeResult};
use evenkeel_core::{
    Admin, Doors, DuplicateId, Endpoint, Group, Membership, Nanos, Published, UnknownEndpoint,
};

use crate::balance::Balance;
use crate::checks;
use crate::clock;
use crate::connect::Connect;
use crate::counters::Counted;
use crate::local::Entrance;
use crate::lock::{Held, Lock};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::stats::{EndpointStats, Stats};
use crate::upkeep;
use crate::view::{Original, Version, View};

/// Endpoints with one strategy and its policies, and a service for each of them.
///
/// Copies are the same cluster. It ends, with the thread that looks after it, when the last copy and the
/// last [`Balance`] on it are gone.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::{Admin, Endpoint}};
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// cluster.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// cluster.set_admin("a", Admin::Draining)?;
/// assert_eq!(cluster.tries().next()?.endpoint().id(), "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Cluster<C: Connect> {
    pub(crate) inner: Arc<Inner<C>>,
}

/// See [`Cluster`].
pub(crate) struct Inner<C: Connect> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) published: Arc<Published<Version<C::Service>>>,
    connect: C,
    state: Lock<State<C::Service>>,
}

struct State<S> {
    membership: Membership,
    health: ClusterHealth,
    /// What attempts had come to when the last interval ended.
    before: BTreeMap<Arc<str>, AttemptTotals>,
    services: Services<S>,
}

impl<C: Connect> Entrance<C::Service> for Inner<C> {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn published(&self) -> Arc<Published<Version<C::Service>>> {
        Arc::clone(&self.published)
    }
}

impl<C: Connect> Clone for Cluster<C> {
    fn clone(&self) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner }
    }
}

impl<C: Connect> fmt::Debug for Cluster<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.inner.shared.settings.name)
            .finish_non_exhaustive()
    }
}

impl<C: Connect> Cluster<C> {
    /// A cluster of these endpoints. Those of the beginning do not warm up; it may begin with none.
    ///
    /// # Errors
    ///
    /// When an id is listed twice.
    pub fn new(
        settings: Settings,
        endpoints: impl IntoIterator<Item = Endpoint>,
        connect: C,
    ) -> Result<Self, DuplicateId> {
        let shared = Arc::new(Shared::new(settings));
        let settings = &shared.settings;
        let mut membership = settings.membership();
        if settings.queue.is_some() {
            membership.set_waiting_room(Some(Arc::clone(&shared.room)));
        }
        let endpoints: Vec<Endpoint> = endpoints.into_iter().collect();
        let joining = joining(&BTreeMap::new(), &endpoints, &connect);
        membership.replace(endpoints)?;
        let mut health = ClusterHealth::new(settings.health, shared.health_seed());
        let now = clock::now();
        // Nobody was there before, so nothing has changed for them.
        let _ = health.list(membership.listed(), true, now);
        health.apply(&mut membership, now);
        let mut state = State {
            membership,
            health,
            before: BTreeMap::new(),
            services: BTreeMap::new(),
        };
        let _ = state.join(joining);
        let (version, _) = state.version(&shared);
        shared.open(&version);
        let inner = Arc::new(Inner {
            published: Arc::new(Published::new(Arc::new(version))),
            state: Lock::new(state),
            connect,
            shared,
        });
        let owner = Arc::downgrade(&inner);
        inner.shared.set_owner(owner);
        upkeep::start(&inner);
        checks::start(&inner);
        Ok(Self { inner })
    }

    /// A service that balances calls over the cluster, by rules for what calls and answers mean.
    #[must_use]
    pub fn balance<R>(&self, rules: R) -> Balance<C, R> {
        Balance::new(Arc::clone(&self.inner), rules)
    }

    /// Makes this list the whole membership. Records of endpoints that stay are kept, those that join warm
    /// up, calls in flight at those that leave finish.
    ///
    /// # Errors
    ///
    /// When an id is listed twice; then nothing changes.
    pub fn set_endpoints(
        &self,
        list: impl IntoIterator<Item = Endpoint>,
    ) -> Result<(), DuplicateId> {
        let list: Vec<Endpoint> = list.into_iter().collect();
        self.inner
            .admit(list, |members, list| members.replace(list))
    }

    /// Adds an endpoint, or changes the one of that id, and says whether it is new.
    pub fn upsert(&self, endpoint: Endpoint) -> bool {
        let Ok(added) = self.inner.admit([endpoint], |members, [endpoint]| {
            Ok::<_, Infallible>(members.upsert(endpoint))
        });
        added
    }

    /// Removes an endpoint; calls in flight there finish.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub fn remove(&self, id: &str) -> Result<(), UnknownEndpoint> {
        self.inner.change(|members| members.remove(id))
    }

    /// Sets what an operator wants of an endpoint: [`Admin::Draining`] takes no new calls, and those in
    /// flight finish.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub fn set_admin(&self, id: &str, admin: Admin) -> Result<(), UnknownEndpoint> {
        self.inner.change(|members| members.set_admin(id, admin))
    }

    /// Sets a weight; 0 means no new calls.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub fn set_weight(&self, id: &str, weight: u16) -> Result<(), UnknownEndpoint> {
        self.inner.change(|members| members.set_weight(id, weight))
    }

    /// Replaces the strategy; calls in flight finish under the old one.
    pub fn set_strategy(&self, strategy: Arc<dyn evenkeel_core::strategy::Strategy>) {
        let Ok(()) = self.inner.change(|members| {
            members.set_strategy(strategy);
            Ok::<_, Infallible>(())
        });
    }

    /// The cluster in figures. O(endpoints x threads); not for the path of a call.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }
}

impl<C: Connect> Inner<C> {
    /// Changes the membership and publishes what it has become. Nobody joins and no address changes: see
    /// [`Inner::admit`].
    fn change<T, E>(&self, change: impl FnOnce(&mut Membership) -> Result<T, E>) -> Result<T, E> {
        let mut state = self.state();
        let changed = change(&mut state.membership)?;
        self.commit(state, Vec::new());
        Ok(changed)
    }

    /// Changes the membership by endpoints that are listed. They are connected to first: where that panics, or
    /// the change is refused, everything stays as it was.
    fn admit<L: AsRef<[Endpoint]>, T, E>(
        &self,
        list: L,
        change: impl FnOnce(&mut Membership, L) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.state();
        let joining = joining(&state.services, list.as_ref(), &self.connect);
        match change(&mut state.membership, list) {
            Ok(changed) => {
                let retired = state.join(joining);
                self.commit(state, retired);
                Ok(changed)
            }
            Err(refused) => {
                drop(state);
                for (_, (_, service)) in &joining {
                    service.with(|service| self.connect.retire(service));
                }
                Err(refused)
            }
        }
    }

    /// Publishes a membership that has changed, and retires services that gave way to others.
    fn commit(&self, mut state: Held<'_, State<C::Service>>, retired: Retired<C::Service>) {
        let now = clock::now();
        let State {
            membership, health, ..
        } = &mut *state;
        let happenings = health.list(membership.listed(), false, now);
        health.apply(membership, now);
        // Somebody may warm up now.
        self.shared.ring();
        self.shared.change_list();
        self.publish(state, happenings, retired);
    }

    /// Lets the health machine take in something, and publishes what follows from it.
    fn observe(&self, step: impl FnOnce(&mut State<C::Service>, Nanos) -> Vec<Happening>) {
        self.observe_at(clock::now(), step);
    }

    fn observe_at(
        &self,
        now: Nanos,
        step: impl FnOnce(&mut State<C::Service>, Nanos) -> Vec<Happening>,
    ) {
        let mut state = self.state();
        let happenings = step(&mut state, now);
        let State {
            membership, health, ..
        } = &mut *state;
        let changed = health.apply(membership, now);
        let seen = |it: &Happening| matches!(it, Happening::Endpoint(_));
        if changed || happenings.iter().any(seen) {
            self.publish(state, happenings, Vec::new());
        } else {
            drop(state);
            self.tell(&happenings);
        }
    }

    /// Publishes the state as it is, and tells what has happened once nobody holds it any more.
    fn publish(
        &self,
        mut state: Held<'_, State<C::Service>>,
        happenings: Vec<Happening>,
        mut retired: Retired<C::Service>,
    ) {
        let (version, left) = state.version(&self.shared);
        retired.extend(left);
        self.shared.open(&version);
        self.published.publish(Arc::new(version));
        let State {
            membership, before, ..
        } = &mut *state;
        before.retain(|id, _| membership.get(id).is_some());
        self.shared.tidy(|id| membership.get(id).is_some());
        drop(state);
        for service in &retired {
            service.with(|service| self.connect.retire(service));
        }
        self.tell(&happenings);
    }

    fn tell(&self, happenings: &[Happening]) {
        let settings = &self.shared.settings;
        for observer in &settings.observers {
            for happening in happenings {
                observer.happened(&settings.name, happening);
            }
        }
    }

    /// Looks at how many failures in a row each endpoint has.
    pub(crate) fn judge_runs(&self) {
        let runs: Vec<_> = self.published.load().view.snapshot.failure_runs().collect();
        self.observe(|state, now| {
            let runs = runs.iter().map(|(id, run)| (&**id, *run));
            state.health.runs(runs, now)
        });
    }

    /// Looks at what attempts have come to since this was asked last.
    pub(crate) fn judge_interval(&self) {
        let runs: Vec<_> = self.published.load().view.snapshot.failure_runs().collect();
        let totals: Vec<_> = runs
            .iter()
            .map(|(id, _)| self.shared.attempts(id))
            .collect();
        self.observe(|state, now| {
            let mut observed = Vec::with_capacity(runs.len());
            for ((id, run), total) in runs.iter().zip(totals) {
                let before = state.before.get(id);
                let since = before.map_or_else(|| total.clone(), |before| total.since(before));
                let seen = Observed {
                    successes: since.successes,
                    failures: since.failures,
                    run: *run,
                    latency: since.median(),
                };
                observed.push((&**id, seen));
                state.before.insert(Arc::clone(id), total);
            }
            state.health.interval(observed.into_iter(), now)
        });
    }

    /// Time has passed: ejections end, endpoints warm up.
    pub(crate) fn tick(&self) {
        self.observe(|state, now| state.health.tick(now));
    }

    /// When [`Inner::tick`] has something to do.
    pub(crate) fn next_tick(&self, now: Nanos) -> Option<Nanos> {
        self.state().health.next_tick(now)
    }

    /// Publishes another version when the median latency of the endpoints has moved by a quarter.
    pub(crate) fn follow_median(&self) {
        let known = self.published.load().view.snapshot.typical_latency();
        let state = self.state();
        let Some(now) = state.membership.median_latency() else {
            return;
        };
        if now.0 > known.0 / 4 * 5 || now.0 < known.0 / 5 * 4 {
            self.publish(state, Vec::new(), Vec::new());
        }
    }

    /// Whoever is to be checked.
    pub(crate) fn checked(&self) -> Vec<Arc<Endpoint>> {
        let state = self.state();
        let endpoints = state.membership.endpoints();
        let enabled = endpoints.filter(|(_, admin)| *admin != Admin::Disabled);
        enabled.map(|(endpoint, _)| Arc::clone(endpoint)).collect()
    }

    /// How often an endpoint is to be checked at the moment; none when it is not there.
    pub(crate) fn pace(&self, id: &str, now: Nanos) -> Option<Nanos> {
        self.state().health.pace(id, now)
    }

    /// Takes in what checks found then.
    pub(crate) fn probed(&self, found: &[(Arc<str>, ProbeResult)], now: Nanos) {
        self.observe_at(now, |state, now| {
            let probed = |(id, result)| state.health.probed(id, result, now);
            found
                .iter()
                .map(|(id, result)| (&**id, result))
                .flat_map(probed)
                .collect()
        });
        // Somebody may warm up now, or be held out for a while.
        self.shared.ring();
    }

    fn stats(&self) -> Stats {
        let state = self.state();
        let view = Arc::clone(&self.published.load().view);
        let snapshot = &view.snapshot;
        let counts = self.shared.counts();
        let count = |what: Counted| counts[what as usize];
        let endpoint = |index: usize| {
            let endpoint = Arc::clone(&snapshot.endpoints()[index]);
            let candidate = &snapshot.candidates()[index];
            let verdict = state.health.verdict(endpoint.id());
            EndpointStats {
                standing: snapshot.standing(index),
                health: verdict.map_or(evenkeel_core::health::Health::Healthy, |it| it.health),
                reason: verdict.map_or_else(String::new, |it| it.reason.clone()),
                effective_weight: candidate.weight(),
                in_flight: candidate.state().in_flight().count(),
                capacity: snapshot.capacity(index),
                calls: self.shared.calls(endpoint.id()),
                endpoint,
            }
        };
        Stats {
            cluster: Arc::clone(&self.shared.settings.name),
            strategy: snapshot.strategy().descriptor().name,
            generation: snapshot.generation(),
            endpoints: (0..snapshot.endpoints().len()).map(endpoint).collect(),
            picked: count(Counted::Picked),
            fallback: count(Counted::Fallback),
            queued: count(Counted::Queued),
            nobody: count(Counted::None),
            retries: count(Counted::Retry),
            over_budget: count(Counted::OverBudget),
            hedges: count(Counted::Hedge),
            shed: count(Counted::Shed),
            waiting: self.shared.room.len(),
            panic: snapshot.groups().iter().any(Group::is_in_panic),
        }
    }

    // Code of others that may panic under this lock leaves it whole: a `Connect` comes before anything is changed,
    // and what strategies are asked for is taken in when they have returned.
    fn state(&self) -> Held<'_, State<C::Service>> {
        self.state
            .hold("a strategy or a `Connect` called its own cluster while that asked it")
    }
}

impl<C: Connect> Drop for Inner<C> {
    fn drop(&mut self) {
        self.shared.end();
        for (_, service) in self.state.get_mut().services.values() {
            service.with(|service| self.connect.retire(service));
        }
    }
}

impl Shared {
    /// Opens the doors of a version to those who wait.
    fn open<S>(&self, version: &Version<S>) {
        let snapshot = &version.view.snapshot;
        if snapshot.has_waiting_room() {
            self.room.open(Doors::of(snapshot));
        }
    }
}

/// Services with the addresses that they lead to, by ids.
type Services<S> = BTreeMap<Arc<str>, (Arc<str>, Arc<Original<S>>)>;

/// Services, their addresses and ids, of those that join or have another address.
type Joining<S> = Vec<(Arc<str>, (Arc<str>, Arc<Original<S>>))>;

/// Services of those who have left, or have another address now.
type Retired<S> = Vec<Arc<Original<S>>>;

/// The services of those in a list that are new, or have another address than before.
fn joining<C: Connect>(
    known: &Services<C::Service>,
    list: &[Endpoint],
    connect: &C,
) -> Joining<C::Service> {
    let is_new = |endpoint: &&Endpoint| {
        let address = known.get(endpoint.id()).map(|(address, _)| &**address);
        address != Some(endpoint.address())
    };
    let joins = |endpoint: &Endpoint| {
        let address = endpoint.address().into();
        let service = Arc::new(Original::new(connect.connect(endpoint)));
        (endpoint.shared_id(), (address, service))
    };
    list.iter().filter(is_new).map(joins).collect()
}

impl<S: Clone> State<S> {
    /// Takes in services, and gives back those whose places they take.
    fn join(&mut self, joining: Joining<S>) -> Retired<S> {
        let replaced = joining
            .into_iter()
            .filter_map(|(id, service)| self.services.insert(id, service));
        replaced.map(|(_, service)| service).collect()
    }

    /// The next version; and the services of those who have left.
    fn version(&mut self, shared: &Arc<Shared>) -> (Version<S>, Retired<S>) {
        let snapshot = self.membership.snapshot();
        shared.set_keyed(snapshot.strategy().hasher().is_some());
        let service = |endpoint: &Arc<Endpoint>| {
            let known = self.services.get(endpoint.id());
            let (_, service) = known.expect("who joins is connected to before");
            Arc::clone(service)
        };
        let services: Vec<_> = snapshot.endpoints().iter().map(service).collect();
        let mut left = Vec::new();
        if self.services.len() > services.len() {
            let (stay, gone): (Services<S>, Services<S>) = std::mem::take(&mut self.services)
                .into_iter()
                .partition(|(id, _)| self.membership.get(id).is_some());
            self.services = stay;
            left.extend(gone.into_values().map(|(_, service)| service));
        }
        let groups = snapshot.groups().iter();
        let view = Arc::new(View {
            eligible: groups.map(|group| group.eligible().len()).sum(),
            snapshot,
            shared: Arc::clone(shared),
        });
        (Version::new(view, services.into()), left)
    }
}
