//! What the control side holds of a cluster, and the version that follows from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use evenkeel_config as config;
use evenkeel_core::health::Health;
use evenkeel_core::{Admin, Ascending, DuplicateId, Endpoint, Membership, Serial, Standing};

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
    pub(super) targets: BTreeMap<Arc<str>, Arc<Target>>,
    pub(super) since: BTreeMap<Arc<str>, (Standing, Health, SystemTime)>,
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
    let mut old = Ascending::new(std::mem::take(&mut state.targets));
    let mut old_since = Ascending::new(std::mem::take(&mut state.since));
    let (mut targets, mut since) = (Vec::new(), Vec::new());
    let now = time_of_day();
    for (index, endpoint) in snapshot.endpoints().iter().enumerate() {
        let id = endpoint.shared_id();
        let target = match old.take(&id) {
            Some(same) if same.is_of(endpoint) => same,
            _ => Arc::new(Target::new(endpoint)),
        };
        let standing = snapshot.standing(index);
        let health = state.health.of(&id);
        let stands = match old_since.take(&id) {
            Some(same @ (before, was, _)) if (before, was) == (standing, health) => same,
            _ => (standing, health, now),
        };
        targets.push((Arc::clone(&id), target));
        since.push((id, stands));
    }
    state.targets = targets.into_iter().collect();
    state.since = since.into_iter().collect();
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
