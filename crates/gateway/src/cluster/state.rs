//! What the control side holds of a cluster, and the version that follows from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use evenkeel_config as config;
use evenkeel_core::health::Health;
use evenkeel_core::{DuplicateId, Endpoint, Membership, Serial, Standing};

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
    let old = std::mem::take(&mut state.targets);
    let old_since = std::mem::take(&mut state.since);
    let (targets, since) = (&mut state.targets, &mut state.since);
    let now = time_of_day();
    for (index, endpoint) in snapshot.endpoints().iter().enumerate() {
        let id = endpoint.shared_id();
        let target = match old.get(&id) {
            Some(same) if same.is_of(endpoint) => Arc::clone(same),
            _ => Arc::new(Target::new(endpoint)),
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
