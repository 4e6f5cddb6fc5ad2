//! Who this gateway is and where it stands, as far as clusters care, and whom they tell what.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use evenkeel_config as config;
use evenkeel_core::{CallerPlace, LearnedLimit, Membership, Subset, unpoisoned};
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::event::Events;

/// Where Linux keeps the host's name.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Who this gateway is and where it stands.
#[derive(Debug)]
pub(crate) struct Site {
    zone: Option<Arc<str>>,
    instance: Arc<str>,
    /// Where this gateway stands among those of its fleet; none while that is not known.
    place: Mutex<Option<CallerPlace>>,
    pub(super) clock: Clock,
    pub(super) seed: u64,
    pub(super) events: Arc<Events>,
    /// Rung when there is something for whoever watches over endpoints.
    pub(super) bell: Arc<Notify>,
    /// Rung when operators have changed something.
    operated: Notify,
    /// Rung when the health of an endpoint has changed.
    judged: Notify,
    /// The latest generation of each cluster that there ever was, by name: one that comes again counts on, since
    /// receipts of its requests may still be on their way.
    generations: Mutex<BTreeMap<Arc<str>, Arc<AtomicU64>>>,
}

impl Site {
    pub(crate) fn new(runtime: &config::Runtime, clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            events: Arc::default(),
            bell: Arc::default(),
            operated: Notify::new(),
            judged: Notify::new(),
            generations: Mutex::default(),
            place: Mutex::default(),
            zone: runtime.zone.as_deref().map(Into::into),
            instance: runtime.instance.clone().unwrap_or_else(host_name).into(),
        }
    }

    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Who this gateway is.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// What rings when operators have changed something.
    pub(crate) fn operated(&self) -> &Notify {
        &self.operated
    }

    /// What rings when the health of an endpoint has changed.
    pub(crate) fn judged(&self) -> &Notify {
        &self.judged
    }

    /// Counts the generations of all clusters of that name.
    pub(super) fn generations(&self, cluster: &Arc<str>) -> Arc<AtomicU64> {
        let mut all = unpoisoned(self.generations.lock());
        Arc::clone(all.entry(Arc::clone(cluster)).or_default())
    }

    /// What rings when there is something for whoever watches over endpoints.
    pub(crate) fn bell(&self) -> &Notify {
        &self.bell
    }

    /// Sets what a configuration says of decisions beside strategy and endpoints: at the start, and at
    /// each reload.
    pub(crate) fn settle(&self, membership: &mut Membership, config: &config::Cluster) {
        membership.set_panic(config.panic);
        membership.set_key_policy(config.keys.policy);
        let learns = |capacity: &config::Capacity| capacity.peak == config::Peak::Learned;
        let first = config.capacity.as_ref().filter(|capacity| learns(capacity));
        membership.set_first_cap(first.map(|_| LearnedLimit::INITIAL));
        membership.set_watermarks(config.capacity.map(|capacity| capacity.watermarks));
        membership.set_zone(self.zone.clone());
        membership.set_views(config.views.clone());
        membership.set_subset(config.subset.map(|rules| self.subset(rules)));
    }

    fn subset(&self, rules: config::SubsetRules) -> Subset {
        let subset = Subset::new(rules.size as usize, Arc::clone(&self.instance));
        subset.by(rules.method, *unpoisoned(self.place.lock()))
    }

    /// Takes its place among the gateways of its fleet, which are in the order of their names; says whether it is
    /// another one than before.
    pub(crate) fn take_place<'m>(
        &self,
        members: impl ExactSizeIterator<Item = &'m Arc<str>>,
    ) -> bool {
        let of = members.len() as u32;
        let mut members = members;
        let index = members.position(|name| *name == self.instance);
        let place = index.and_then(|index| CallerPlace::new(index as u32, of));
        let mut known = unpoisoned(self.place.lock());
        let is_new = *known != place;
        *known = place;
        is_new
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
    match name.trim() {
        "" => "evenkeel".to_owned(),
        name => name.to_owned(),
    }
}
