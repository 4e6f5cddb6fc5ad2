//! The control side of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use evenkeel_config as config;
use evenkeel_core::strategy::Strategy;
use evenkeel_core::{
    Admin, Ascending, Doors, DuplicateId, Endpoint, Membership, Nanos, Published, QueuePolicy,
    RetryBudget, RetryPolicy, SubsetMethod, WaitingRoom, unpoisoned,
};

use super::discovered::Discovered;
use super::health::HealthState;
use super::last_failure::LastFailure;
use super::learning::Learning;
use super::overlay::Overrides;
use super::shadow::Shadows;
use super::site::Site;
use super::state::{State, view};
use super::target::Target;
use super::totals::Counters;
use super::view::{Policies, View};
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
    /// What the last failure was of each that has.
    pub(super) failures: Mutex<BTreeMap<Arc<str>, LastFailure>>,
    published: Arc<Published<View>>,
    /// Where requests wait when all endpoints are full.
    pub(super) room: Arc<WaitingRoom>,
    pub(super) budget: RetryBudget,
    counters: Mutex<Counters>,
    /// What is known of where endpoints come from beside the configuration; taken before the state.
    discovered: Mutex<Option<Discovered>>,
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
            retired: Vec::new(),
            targets: BTreeMap::new(),
            since: BTreeMap::new(),
            weighing: Weighing::configured(None, config.dynamic_weights),
            learning: Learning::default(),
            overrides: Overrides::default(),
            discovered: Vec::new(),
            shadows: Shadows::new(&config.name, &config.shadow, &config.strategy.build()),
            generations: site.generations(&config.name),
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
            failures: Mutex::default(),
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

    /// Changes what operators changed, as another gateway of the fleet has it.
    pub(crate) fn amend(&self, change: impl FnOnce(&mut Overrides)) {
        let _ = self.change(|state| {
            let (config, mut overrides) = (state.config.clone(), state.overrides.clone());
            change(&mut overrides);
            let discovered = std::mem::take(&mut state.discovered);
            let listed = state.list(&config, discovered, &overrides, &BTreeMap::new());
            debug_assert!(listed.is_ok(), "of each id there is one: {listed:?}");
            let strategy = overrides.strategy();
            let strategy = strategy.map_or_else(|| config.strategy.build(), Arc::clone);
            state.membership.set_strategy(strategy);
            state.overrides = overrides;
            Some(())
        });
    }

    /// Goes by another place among the gateways of the fleet, where its subset depends on it.
    pub(crate) fn follow_place(&self) {
        let _ = self.change(|state| {
            let rules = state.config.subset?;
            let by_place = rules.method != SubsetMethod::Rendezvous;
            by_place.then(|| self.site.settle(&mut state.membership, &state.config))
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
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> Option<T>) -> Option<T> {
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
        state.retired.push(self.published.load());
        self.published.publish(Arc::clone(&view));
        state.free_retired();
        if view.snapshot.has_waiting_room() {
            self.room.open(Doors::of(&view.snapshot));
        }
        self.forget_departed(state);
    }

    /// Takes a retry from the budget; a lock, on a path that is not that of most requests.
    pub(crate) fn spend_retry(&self, now: Nanos) -> bool {
        let counters = self.counters();
        let windows = counters.cluster.workers.iter();
        let windows = windows.map(|worker| &worker.requests);
        self.budget.spend(now, windows)
    }

    fn set_budget(&self, policy: RetryPolicy) {
        let counters = self.counters();
        let windows = counters.cluster.workers.iter();
        let windows = windows.map(|worker| &worker.requests);
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

    pub(crate) fn published(&self) -> &Arc<Published<View>> {
        &self.published
    }

    /// The targets whose names have to be resolved.
    pub(crate) fn targets(&self) -> Vec<Arc<Target>> {
        self.state().targets.values().cloned().collect()
    }

    /// Drops the series of endpoints that are gone and that no worker holds any more.
    fn forget_departed(&self, state: &State) {
        let mut there = Ascending::new(&state.targets);
        self.counters().endpoints.retain(|id, sets| {
            let mut workers = sets.workers.iter();
            there.take(id).is_some() || workers.any(|worker| Arc::strong_count(worker) > 1)
        });
    }

    /// Frees the versions that no worker holds any more.
    pub(crate) fn free_retired(&self) {
        self.state().free_retired();
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
