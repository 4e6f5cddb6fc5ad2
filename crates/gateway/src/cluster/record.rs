//! The control side of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use evenkeel_config as config;
use evenkeel_core::health::{Cause, Health};
use evenkeel_core::strategy::Strategy;
use evenkeel_core::{
    Admin, Doors, DuplicateId, Endpoint, HealthBody, Levels, Membership, Nanos, Published,
    QueuePolicy, RetryBudget, RetryPolicy, Samples, Serial, Signal, SignalSum, Standing,
    WaitingRoom, unpoisoned,
};

use super::counters::{ClusterCounters, EndpointCounters, Histogram, Sheds, Totals};
use super::decision_times::DecisionTimes;
use super::discovered::Discovered;
use super::health::HealthState;
use super::learning::Learning;
use super::overlay::Overrides;
use super::shadow::{ShadowReport, Shadows};
use super::site::Site;
use super::target::Target;
use super::view::{Policies, View};
use crate::affinity::Tags;
use crate::clock::time_of_day;
use crate::key::KeyReader;
use crate::report::{self, Weighing};
use crate::tls::ClientTls;

/// A cluster: its members, what is published of them, and what has been counted.
#[derive(Debug)]
pub struct Cluster {
    name: Arc<str>,
    pub(super) site: Arc<Site>,
    state: Mutex<State>,
    /// An endpoint has failed so often in a row that somebody should look.
    pub(super) accused: AtomicBool,
    published: Arc<Published<View>>,
    /// Where requests wait when all endpoints are full.
    room: Arc<WaitingRoom>,
    budget: RetryBudget,
    counters: Mutex<Counters>,
    /// What is known of where endpoints come from beside the configuration; taken before the state.
    discovered: Mutex<Option<Discovered>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) config: config::Cluster,
    /// Endpoints beside those of the configuration.
    discovered: Vec<Endpoint>,
    overrides: Overrides,
    pub(super) membership: Membership,
    pub(super) health: HealthState,
    policies: Policies,
    targets: BTreeMap<Arc<str>, Arc<Target>>,
    since: BTreeMap<Arc<str>, (Standing, Health, SystemTime)>,
    /// Weights that follow what endpoints say.
    weighing: Option<Weighing>,
    /// Strategies that are evaluated beside the live one.
    shadows: Option<Shadows>,
    /// Caps that are learned.
    learning: Learning,
}

/// The counters that workers registered.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) endpoints: BTreeMap<Arc<str>, Vec<Arc<EndpointCounters>>>,
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
    /// How it is, as far as checks and its requests tell.
    pub health: Health,
    /// Why, and what will end it, in words; empty when there is nothing to say.
    pub reason: String,
    /// When that ends by itself, if it does.
    pub until: Option<SystemTime>,
    /// The share of its weight that it has while it warms up, in 1/256.
    pub warmth: Option<u16>,
    /// Since when it stands so.
    pub since: SystemTime,
    /// How often it became what, in the order of [`Health::ALL`].
    pub transitions: [u64; Health::ALL.len()],
    /// How often it was ejected, in the order of [`Cause::OF_EJECTIONS`].
    pub ejections: [u64; Cause::OF_EJECTIONS.len()],
    /// Requests in flight.
    pub in_flight: u32,
    /// The most that there may be.
    pub capacity: Option<u32>,
    /// It is left alone while others are less busy, or takes no request at all for the moment.
    pub saturated: bool,
    /// From where on it is left alone, and up to where; none: only at its capacity.
    pub levels: Option<Levels>,
    /// What was counted of it.
    pub totals: Totals,
}

impl Cluster {
    /// A cluster as configured, at the start of the process or later.
    ///
    /// # Errors
    ///
    /// When an endpoint id is listed twice.
    pub(crate) fn new(
        config: config::Cluster,
        site: &Arc<Site>,
        tls: Option<Arc<ClientTls>>,
        is_start: bool,
    ) -> Result<Self, DuplicateId> {
        let mut membership = Membership::new(Arc::clone(&config.name), config.strategy.build());
        site.settle(&mut membership, &config);
        membership.replace(config.endpoints.clone())?;
        let discovery = config.discovery.clone();
        let discovered = discovery.map(|from| Discovered::new(from, site.clock.now()));
        let room = Arc::new(WaitingRoom::new(NO_QUEUE));
        set_queue(&room, &mut membership, &config);
        let mut state = State {
            health: HealthState::new(&config, site, &mut membership, is_start),
            policies: Policies::new(&config, tls),
            targets: BTreeMap::new(),
            since: BTreeMap::new(),
            weighing: Weighing::configured(None, config.dynamic_weights),
            learning: Learning::default(),
            overrides: Overrides::default(),
            discovered: Vec::new(),
            shadows: Shadows::new(&config.name, &config.shadow, &config.strategy.build()),
            membership,
            config,
        };
        let view = view(&mut state);
        room.open(Doors::of(&view.snapshot));
        Ok(Self {
            room,
            budget: RetryBudget::new(state.config.retry.budget),
            name: Arc::clone(&state.config.name),
            site: Arc::clone(site),
            accused: AtomicBool::new(false),
            published: Arc::new(Published::new(Arc::new(view))),
            state: Mutex::new(state),
            counters: Mutex::default(),
            discovered: Mutex::new(discovered),
        })
    }

    /// The name in configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name as a shared string.
    #[must_use]
    pub fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
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

    /// A checksum of the tables that keys are looked up in, over all tiers; none under a strategy that
    /// does not choose by key, and without endpoints. Gateways with the same one send every key to the same
    /// endpoint as long as all of them are well.
    #[must_use]
    pub fn table_checksum(&self) -> Option<u64> {
        let view = self.published.load();
        let sums = view.snapshot.groups().iter();
        let sums = sums.filter_map(|group| Some((group.tier(), group.table().checksum()?)));
        sums.map(|(tier, sum)| sum.rotate_left(u32::from(tier)))
            .reduce(|all, sum| all ^ sum)
    }

    /// How its requests are carried out.
    #[must_use]
    pub fn policies(&self) -> Policies {
        self.state().policies.clone()
    }

    /// What operators changed of it.
    #[must_use]
    pub fn overrides(&self) -> Overrides {
        self.state().overrides.clone()
    }

    /// Adds an endpoint; none when there is one of that id.
    pub(crate) fn add(&self, endpoint: Endpoint) -> Option<()> {
        self.change(|state| {
            if state.membership.get(endpoint.id()).is_some() {
                return None;
            }
            state.overrides.add(endpoint.clone());
            state.membership.upsert(state.config.adopt(endpoint));
            Some(())
        })
    }

    /// Removes an endpoint; none when there is none of that id.
    pub(crate) fn remove(&self, id: &str) -> Option<()> {
        self.change(|state| {
            state.membership.remove(id).ok()?;
            let mut listed = state.config.endpoints.iter().chain(&state.discovered);
            let is_listed = listed.any(|known| known.id() == id);
            state.overrides.remove(id, is_listed);
            Some(())
        })
    }

    /// Changes an endpoint; none when there is none of that id.
    pub(crate) fn update(&self, id: &str, weight: Option<u16>, admin: Option<Admin>) -> Option<()> {
        self.change(|state| {
            state.membership.get(id)?;
            if let Some(weight) = weight {
                state.membership.set_weight(id, weight).ok()?;
            }
            if let Some(admin) = admin {
                state.membership.set_admin(id, admin).ok()?;
            }
            state.overrides.update(id, weight, admin);
            Some(())
        })
    }

    /// Publishes another version when the median latency of the endpoints has moved by a quarter.
    pub(crate) fn follow_median(&self) {
        let known = self.published.load().snapshot.typical_latency();
        let _ = self.change(|state| {
            let now = state.membership.median_latency()?;
            let moved = now.0 > known.0 / 4 * 5 || now.0 < known.0 / 5 * 4;
            moved.then_some(())
        });
    }

    /// Works out weights that follow what endpoints say, if it is time to, and publishes another version
    /// if they have changed.
    pub(crate) fn weigh(&self, now: Nanos) {
        let is_due = |weighing: &mut Weighing| weighing.is_due(now);
        if !self.state().weighing.as_mut().is_some_and(is_due) {
            return;
        }
        let heard = self.heard();
        let _ = self.change(|state| {
            let weighing = state.weighing.as_mut()?;
            weighing.weigh(&state.membership, now, heard).then_some(())
        });
    }

    /// Learns how much endpoints take at once, if it is to be learned, and publishes another version when
    /// that has moved.
    pub(crate) fn follow_limits(&self, now: Nanos) {
        if !self.published.load().policies.learns_caps {
            return;
        }
        let counters = self.counters();
        let endpoints = counters.endpoints.iter();
        let samples = |(id, workers): (&Arc<str>, &Vec<Arc<EndpointCounters>>)| {
            let workers = workers.iter().map(AsRef::as_ref);
            (Arc::clone(id), EndpointCounters::take_samples(workers))
        };
        let heard: Vec<(Arc<str>, Samples)> = endpoints.map(samples).collect();
        drop(counters);
        let _ = self.change(|state| {
            let State {
                learning,
                membership,
                ..
            } = state;
            learning.learn(membership, heard, now).then_some(())
        });
    }

    /// Takes in what an endpoint says of its load in the body of its answer to a check, where weights
    /// follow that.
    pub(crate) fn hear_body(&self, id: &str, body: &[u8]) {
        if !self.published.load().policies.listens.to_bodies {
            return;
        }
        let counters = self.counters();
        // Any of them will do: they are added up.
        let of_one = counters
            .endpoints
            .get(id)
            .and_then(|workers| workers.first());
        let Some(counters) = of_one else {
            return;
        };
        match HealthBody::parse(body) {
            Ok(said) => {
                counters.report_read();
                if let Some(value) = said.utilization {
                    // Of each request so many failed.
                    let (rps, eps) = (1.0, said.error_rate.unwrap_or(0.0));
                    let mut heard = SignalSum::default();
                    heard.add(Signal { value, rps, eps });
                    counters.pour(heard);
                }
            }
            Err(bad) => {
                counters.report_refused();
                tracing::debug!(
                    endpoint = id,
                    "the body of a check is no load report: {bad}"
                );
            }
        }
    }

    /// What workers have heard of each endpoint's load since the last time.
    fn heard(&self) -> BTreeMap<Arc<str>, Signal> {
        let counters = self.counters();
        let endpoints = counters.endpoints.iter();
        endpoints
            .filter_map(|(id, workers)| {
                let heard = EndpointCounters::take_heard(workers.iter().map(AsRef::as_ref))?;
                Some((Arc::clone(id), heard))
            })
            .collect()
    }

    pub(crate) fn set_strategy(&self, strategy: Arc<dyn Strategy>) {
        let _ = self.change(|state| {
            state.overrides.set_strategy(Arc::clone(&strategy));
            state.membership.set_strategy(strategy);
            Some(())
        });
    }

    /// Takes over another configuration below what operators changed, or forgets what they did.
    /// `names` says where host names that are new lead.
    ///
    /// # Errors
    ///
    /// When an endpoint id is listed twice; then nothing changes.
    pub(crate) fn configure(
        &self,
        config: config::Cluster,
        forget: bool,
        names: &BTreeMap<Arc<str>, SocketAddr>,
        tls: Option<Arc<ClientTls>>,
    ) -> Result<(), DuplicateId> {
        let mut duplicate = None;
        let mut discovered = self.discovered();
        let now = self.site.clock.now();
        let _ = self.change(|state| {
            let overrides = match forget {
                true => Overrides::default(),
                false => state.overrides.clone(),
            };
            // Those of a source stay until another one is heard.
            let listed = match config.discovery {
                Some(_) => std::mem::take(&mut state.discovered),
                None => Vec::new(),
            };
            if let Err(error) = state.list(&config, listed, &overrides, names) {
                duplicate = Some(error);
                return None;
            }
            *discovered = Discovered::follow(discovered.take(), config.discovery.as_ref(), now);
            let configured = config.strategy.build();
            let strategy = overrides.strategy().map_or(configured, Arc::clone);
            state.membership.set_strategy(strategy);
            self.site.settle(&mut state.membership, &config);
            state.weighing = Weighing::configured(state.weighing.take(), config.dynamic_weights);
            set_queue(&self.room, &mut state.membership, &config);
            let same = state.shadows.as_ref();
            if !same.is_some_and(|shadows| shadows.are(&config.shadow)) {
                let live = config.strategy.build();
                state.shadows = Shadows::new(&config.name, &config.shadow, &live);
            }
            state.policies = Policies::new(&config, tls);
            self.set_budget(config.retry.budget);
            state.health.set_policy(&config, self.site.clock.now());
            (state.config, state.overrides) = (config, overrides);
            Some(())
        });
        duplicate.map_or(Ok(()), Err)
    }

    /// Takes over another list of endpoints beside those of the configuration, below what operators changed.
    /// `names` says where host names that are new lead.
    pub(super) fn relist(&self, list: Vec<Endpoint>, names: &BTreeMap<Arc<str>, SocketAddr>) {
        let _ = self.change(|state| {
            let (config, overrides) = (state.config.clone(), state.overrides.clone());
            let listed = state.list(&config, list, &overrides, names);
            debug_assert!(listed.is_ok(), "of each id there is one: {listed:?}");
            Some(())
        });
    }

    /// The list beside those of the configuration that is in force.
    pub(super) fn listed(&self) -> Vec<Endpoint> {
        self.state().discovered.clone()
    }

    /// The addresses of all endpoints.
    pub(crate) fn endpoint_addresses(&self) -> BTreeSet<Arc<str>> {
        let state = self.state();
        let endpoints = state.membership.endpoints();
        endpoints
            .map(|(endpoint, _)| endpoint.address().into())
            .collect()
    }

    /// The ids of the configuration.
    pub(super) fn configured_ids(&self) -> BTreeSet<Arc<str>> {
        let state = self.state();
        let endpoints = state.config.endpoints.iter();
        endpoints.map(Endpoint::shared_id).collect()
    }

    /// Changes the state and publishes it, if `change` gives something.
    ///
    /// Decisions that begin after this returned are made on the new version; see
    /// [`crate::Control::settle`] for those under way.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        let changed = change(&mut state)?;
        state.forget_moved();
        let happenings = state.follow_list(self.site.clock.now());
        let State {
            membership,
            weighing,
            ..
        } = &mut *state;
        report::settle(membership, weighing.as_ref());
        self.publish(&mut state);
        self.tell(&mut state, happenings);
        // Somebody else may have to be checked now.
        self.site.bell.notify_one();
        Some(changed)
    }

    /// Publishes the state as it is.
    pub(super) fn publish(&self, state: &mut State) {
        let view = Arc::new(view(state));
        self.published.publish(Arc::clone(&view));
        if view.snapshot.has_waiting_room() {
            self.room.open(Doors::of(&view.snapshot));
        }
        self.forget_departed(state);
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

    /// How the choices of the shadows differ from the live ones, since they were configured.
    #[must_use]
    pub fn shadows(&self) -> Vec<ShadowReport> {
        let view = self.published.load();
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

    /// Takes a retry from the budget; a lock, on a path that is not that of most requests.
    pub(crate) fn spend_retry(&self, now: Nanos) -> bool {
        let counters = self.counters();
        let windows = counters.workers.iter().map(|worker| &worker.requests);
        self.budget.spend(now, windows)
    }

    fn set_budget(&self, policy: RetryPolicy) {
        let counters = self.counters();
        let windows = counters.workers.iter().map(|worker| &worker.requests);
        self.budget.change(policy, windows);
    }

    /// Gives back a retry that was not made.
    pub(crate) fn give_back_retry(&self, now: Nanos) {
        self.budget.give_back(now);
    }

    /// Where requests wait when all endpoints are full.
    pub(crate) fn room(&self) -> &Arc<WaitingRoom> {
        &self.room
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
        let counters = Arc::new(ClusterCounters::new(&self.budget.policy()));
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
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        unpoisoned(self.state.lock())
    }

    pub(super) fn counters(&self) -> MutexGuard<'_, Counters> {
        unpoisoned(self.counters.lock())
    }

    pub(super) fn discovered(&self) -> MutexGuard<'_, Option<Discovered>> {
        unpoisoned(self.discovered.lock())
    }
}

impl State {
    /// Has the cluster be made of what is configured, what was discovered, and what operators changed.
    fn list(
        &mut self,
        config: &config::Cluster,
        discovered: Vec<Endpoint>,
        overrides: &Overrides,
        names: &BTreeMap<Arc<str>, SocketAddr>,
    ) -> Result<(), DuplicateId> {
        let wanted = overrides.apply(config, &discovered);
        self.discovered = discovered;
        self.membership.replace(wanted)?;
        let endpoints: Vec<Arc<Endpoint>> = self
            .membership
            .endpoints()
            .map(|(endpoint, _)| Arc::clone(endpoint))
            .collect();
        for endpoint in endpoints {
            let id = endpoint.shared_id();
            // It was there a line ago.
            let _ = self.membership.set_admin(&id, overrides.admin(&id));
            if let Some(address) = names.get(endpoint.address()) {
                let target = Target::new(&endpoint);
                target.resolve(*address);
                self.targets.insert(id, Arc::new(target));
            }
        }
        Ok(())
    }

    /// Forgets what was said by endpoints that have another address since.
    fn forget_moved(&mut self) {
        let Some(weighing) = &mut self.weighing else {
            return;
        };
        let targets = &self.targets;
        let moved = |endpoint: &Endpoint| {
            let known = targets.get(endpoint.id());
            known.is_some_and(|known| known.host != Target::new(endpoint).host)
        };
        let records = self.membership.records();
        let moved: Vec<Serial> = records
            .filter(|(endpoint, _)| moved(endpoint))
            .map(|(_, serial)| serial)
            .collect();
        moved.into_iter().for_each(|serial| weighing.forget(serial));
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
    let told = state.health.tell(endpoint.id());
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
            .map_or(SystemTime::UNIX_EPOCH, |(.., since)| *since),
        health: told.health,
        reason: told.reason,
        until: told.until,
        warmth: told.warmth,
        transitions: told.transitions,
        ejections: told.ejections,
        in_flight: candidate.state().in_flight().count(),
        capacity: view.snapshot.capacity(index),
        saturated: view.snapshot.is_saturated(index),
        levels: view.snapshot.levels(index),
        totals: EndpointCounters::sum(workers.iter().map(AsRef::as_ref)),
        endpoint,
    }
}

/// Nobody waits.
const NO_QUEUE: QueuePolicy = QueuePolicy {
    size: 0,
    timeout: Nanos(0),
};

/// Goes by the queue of a configuration. A queue that is not there any more is served to its end.
fn set_queue(room: &Arc<WaitingRoom>, membership: &mut Membership, config: &config::Cluster) {
    let queue = config.capacity.and_then(|capacity| capacity.queue);
    room.set_policy(queue.unwrap_or(NO_QUEUE));
    if queue.is_some() {
        membership.set_waiting_room(Some(Arc::clone(room)));
    }
}

/// The next version: targets of endpoints that keep their address stay.
fn view(state: &mut State) -> View {
    let snapshot = state.membership.snapshot();
    let policies = state.policies.clone();
    let old = std::mem::take(&mut state.targets);
    let old_since = std::mem::take(&mut state.since);
    let (targets, since) = (&mut state.targets, &mut state.since);
    let now = time_of_day();
    for (index, endpoint) in snapshot.endpoints().iter().enumerate() {
        let id = endpoint.shared_id();
        let target = Target::new(endpoint);
        let target = match old.get(&id) {
            Some(same) if same.host == target.host => Arc::clone(same),
            _ => Arc::new(target),
        };
        let standing = snapshot.standing(index);
        let health = state.health.of(&id);
        let stands = match old_since.get(&id) {
            Some((before, was, since)) if (*before, *was) == (standing, health) => {
                (standing, health, *since)
            }
            _ => (standing, health, now),
        };
        targets.insert(Arc::clone(&id), target);
        since.insert(id, stands);
    }
    let sticky = policies.sticky.as_ref();
    let view = View {
        shadows: None,
        to_reports: policies.listens.to_reports || snapshot.strategy().takes_reports(),
        keys: KeyReader::new(&**snapshot.strategy(), &policies.key_sources),
        targets: targets.values().cloned().collect(),
        tags: sticky.map(|sticky| Tags::new(sticky, &snapshot)),
        snapshot,
        policies,
    };
    view.with_shadows(state.shadows.as_mut())
}
