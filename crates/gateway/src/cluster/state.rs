//! What the control side holds of a cluster, and the version that follows from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use evenkeel_config as config;
use evenkeel_core::health::Health;
use evenkeel_core::{
    Admin, Ascending, DuplicateId, Endpoint, Membership, Serial, Snapshot, Standing, follow_list,
};

use super::health::HealthState;
use super::learning::Learning;
use super::overlay::Overrides;
use super::shadow::Shadows;
use super::target::Target;
use super::view::{Policies, View};
use crate::affinity::Tags;
use crate::clock::time_of_day;
use crate::key::KeyReader;
use crate::report::Weighing;

/// What an endpoint is, and since when.
type Stands = (Standing, Health, SystemTime);

#[derive(Debug)]
pub(super) struct State {
    pub(super) config: config::Cluster,
    /// Endpoints beside those of the configuration.
    pub(super) discovered: Vec<Endpoint>,
    pub(super) overrides: Overrides,
    pub(super) membership: Membership,
    /// Counts the generations of all clusters of this name.
    pub(super) generations: Arc<AtomicU64>,
    pub(super) health: HealthState,
    pub(super) policies: Policies,
    /// Versions that workers may still hold: the last one to let go frees ten thousand entries, and none of them is to
    /// be kept from its requests by that.
    pub(super) retired: Vec<Arc<View>>,
    pub(super) targets: BTreeMap<Arc<str>, Arc<Target>>,
    pub(super) since: BTreeMap<Arc<str>, Stands>,
    /// Weights that follow what endpoints say.
    pub(super) weighing: Option<Weighing>,
    /// Strategies that are evaluated beside the live one.
    pub(super) shadows: Option<Shadows>,
    /// Caps that are learned.
    pub(super) learning: Learning,
}

impl State {
    /// Has the cluster be made of what is configured, what was discovered, and what operators changed.
    pub(super) fn list(
        &mut self,
        config: &config::Cluster,
        discovered: Vec<Endpoint>,
        overrides: &Overrides,
        names: &BTreeMap<Arc<str>, SocketAddr>,
    ) -> Result<(), DuplicateId> {
        let wanted = overrides.apply(config, &discovered);
        self.discovered = discovered;
        self.membership.replace(wanted)?;
        let endpoints = self.membership.endpoints();
        let others: Vec<(Arc<str>, Admin)> = endpoints
            .map(|(endpoint, admin)| (endpoint, admin, overrides.admin(endpoint.id())))
            .filter(|(_, admin, wanted)| admin != wanted)
            .map(|(endpoint, _, wanted)| (endpoint.shared_id(), wanted))
            .collect();
        for (id, wanted) in others {
            // It was there a line ago.
            let _ = self.membership.set_admin(&id, wanted);
        }
        if names.is_empty() {
            return Ok(());
        }
        for (endpoint, _) in self.membership.endpoints() {
            if let Some(address) = names.get(endpoint.address()) {
                let target = Target::new(endpoint);
                target.resolve(*address);
                let id = endpoint.shared_id();
                self.targets.insert(id, Arc::new(target));
            }
        }
        Ok(())
    }

    /// Frees the versions that no worker holds any more.
    pub(super) fn free_retired(&mut self) {
        self.retired.retain(|view| Arc::strong_count(view) > 1);
    }

    /// Forgets what was said by endpoints that have another address since.
    pub(super) fn forget_moved(&mut self) {
        let Some(weighing) = &mut self.weighing else {
            return;
        };
        let targets = &self.targets;
        let moved = |endpoint: &Endpoint| {
            let known = targets.get(endpoint.id());
            known.is_some_and(|known| !known.is_of(endpoint))
        };
        let records = self.membership.records();
        let moved: Vec<Serial> = records
            .filter(|(endpoint, _)| moved(endpoint))
            .map(|(_, serial)| serial)
            .collect();
        moved.into_iter().for_each(|serial| weighing.forget(serial));
    }

    /// Has where endpoints are, and since when they are what they are, follow a snapshot.
    fn follow_snapshot(&mut self, snapshot: &Snapshot) {
        let endpoints = snapshot.endpoints();
        let stays = |_: &Arc<str>, target: &mut Arc<Target>, endpoint: &Arc<Endpoint>| {
            if !target.is_of(endpoint) {
                *target = Arc::new(Target::new(endpoint));
            }
        };
        let (new, _) = follow_list(&mut self.targets, endpoints, |one| one.id(), stays);
        for endpoint in new {
            let target = Arc::new(Target::new(endpoint));
            self.targets.insert(endpoint.shared_id(), target);
        }
        let now = time_of_day();
        let mut healths = Ascending::new(self.health.healths());
        let stands = endpoints.iter().enumerate().map(|(index, endpoint)| {
            let health = healths.take(endpoint.id()).unwrap_or(Health::Healthy);
            (endpoint, (snapshot.standing(index), health, now))
        });
        let stays = |_: &Arc<str>, known: &mut Stands, (_, stands): (_, Stands)| {
            if (known.0, known.1) != (stands.0, stands.1) {
                *known = stands;
            }
        };
        let (new, _) = follow_list(&mut self.since, stands, |(one, _)| one.id(), stays);
        for (endpoint, stands) in new {
            self.since.insert(endpoint.shared_id(), stands);
        }
    }
}

/// The next version: targets of endpoints that keep their address stay.
pub(super) fn view(state: &mut State) -> View {
    let before = state.generations.fetch_add(1, Ordering::Relaxed);
    state.membership.continue_from(before);
    let snapshot = state.membership.snapshot();
    // A process before this one may have counted further.
    let latest = snapshot.generation();
    state.generations.fetch_max(latest, Ordering::Relaxed);
    let policies = state.policies.clone();
    state.follow_snapshot(&snapshot);
    let sticky = policies.sticky.as_ref();
    let view = View {
        shadows: None,
        asides: OnceLock::new(),
        to_reports: policies.listens.to_reports || snapshot.strategy().takes_reports(),
        keys: KeyReader::new(&**snapshot.strategy(), &policies.key_sources),
        targets: state.targets.values().cloned().collect(),
        tags: sticky.map(|sticky| Tags::new(sticky, &snapshot)),
        snapshot,
        policies,
    };
    view.with_shadows(state.shadows.as_mut())
}
