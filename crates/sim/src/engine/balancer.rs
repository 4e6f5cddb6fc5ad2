//! A balancer: the gateway's own membership, snapshot, picker and budget, on virtual time.

use std::sync::Arc;

use evenkeel_config::{Cluster, Load, SubsetRules};
use evenkeel_core::hash::Hasher;
use evenkeel_core::{
    Attempts, CallerPlace, Doors, Endpoint, LearnedLimit, LoadReport, Membership, Nanos,
    NoEndpoint, OwnedLease, PickContext, Picker, PickerSeed, RequestWindow, RetryBudget, Serial,
    Slot, Snapshot, Standing, Subset, WaitingRoom,
};

use super::learning::Learning;
use super::minding::Minding;
use super::probes;
use super::server::ServerSpec;
use super::weights::Weighing;

/// How often medians are looked at, as in the gateway.
pub(super) const MEDIAN_INTERVAL: Nanos = Nanos::from_secs(5);

/// A balancer and what it knows.
#[derive(Debug)]
pub(super) struct Balancer {
    /// Whose endpoints it has.
    pub(super) group: u32,
    pub(super) membership: Membership,
    pub(super) snapshot: Arc<Snapshot>,
    /// The number of the backend at each place of the snapshot.
    pub(super) servers: Vec<u32>,
    picker: Picker,
    budget: RetryBudget,
    window: RequestWindow,
    hasher: Option<Hasher>,
    /// How many endpoints may be chosen.
    pub(super) eligible: usize,
    /// Its weights, where they follow what endpoints say.
    pub(super) weighing: Option<Weighing>,
    /// What it knows of their health.
    pub(super) minding: Minding,
    /// What it has learned of how much they take at once, where that is learned.
    pub(super) learning: Option<Learning>,
    /// Where requests wait when all of them are full.
    pub(super) room: Option<Arc<WaitingRoom>>,
    /// How many endpoints it asks for their load at each request, and what is left of that.
    pub(super) asks: f64,
    owed: f64,
}

impl Balancer {
    pub(super) fn new(number: u32, group: u32, cluster: &Cluster, load: &Load, seed: u64) -> Self {
        let strategy = probes::strategy(load, cluster);
        let asks = strategy.probing().map_or(0.0, |probing| probing.rate);
        let hasher = strategy.hasher();
        let mut membership = Membership::new("sim", strategy);
        membership.set_panic(cluster.panic);
        membership.set_key_policy(cluster.keys.policy);
        membership.set_watermarks(cluster.capacity.map(|capacity| capacity.watermarks));
        let learning = Learning::new(cluster);
        membership.set_first_cap(learning.as_ref().map(|_| LearnedLimit::INITIAL));
        let queue = cluster.capacity.and_then(|capacity| capacity.queue);
        let room = queue.map(|policy| Arc::new(WaitingRoom::new(policy)));
        membership.set_waiting_room(room.clone());
        membership.set_zone(load.zone.as_deref().map(Into::into));
        let instance: Arc<str> = format!("balancer-{number}").into();
        let place = CallerPlace::new(number, load.clients);
        let subset =
            |rules: SubsetRules| Subset::new(rules.size as usize, instance).by(rules.method, place);
        membership.set_subset(cluster.subset.map(subset));
        let snapshot = Arc::new(membership.snapshot());
        let root = seed ^ (u64::from(number) << 32);
        Self {
            group,
            membership,
            snapshot,
            servers: Vec::new(),
            picker: Picker::new(PickerSeed {
                root,
                picker: number,
            }),
            budget: RetryBudget::new(cluster.retry.budget),
            window: RequestWindow::new(&cluster.retry.budget),
            hasher,
            eligible: 0,
            minding: Minding::new(cluster, root),
            learning,
            room,
            asks,
            owed: 0.0,
            weighing: cluster.dynamic_weights.as_ref().map(Weighing::new),
        }
    }

    /// Takes a backend into the list.
    pub(super) fn add(&mut self, number: u32, spec: &ServerSpec, cluster: &Cluster) {
        // The address says which backend it is: the core does not look at it.
        let mut endpoint = Endpoint::new(spec.id.as_str(), number.to_string())
            .with_weight(spec.weight)
            .with_tier(spec.tier);
        if let Some(zone) = &spec.zone {
            endpoint = endpoint.with_zone(zone.as_str());
        }
        if let Some(capacity) = spec.capacity {
            endpoint = endpoint.with_capacity(capacity);
        }
        self.membership.upsert(cluster.adopt(endpoint));
    }

    /// Builds the next generation of what it knows.
    pub(super) fn publish(&mut self) {
        self.snapshot = Arc::new(self.membership.snapshot());
        let number = |endpoint: &Arc<Endpoint>| endpoint.address().parse().unwrap_or(u32::MAX);
        self.servers = self.snapshot.endpoints().iter().map(number).collect();
        let groups = self.snapshot.groups().iter();
        self.eligible = groups.map(|group| group.eligible().len()).sum();
        if let Some(room) = &self.room {
            room.open(Doors::of(&self.snapshot));
        }
    }

    /// Publishes another generation when the median latency has moved by a quarter, as the gateway does.
    pub(super) fn follow_median(&mut self) {
        let known = self.snapshot.typical_latency();
        let Some(now) = self.membership.median_latency() else {
            return;
        };
        if now.0 > known.0 / 4 * 5 || now.0 < known.0 / 5 * 4 {
            self.publish();
        }
    }

    /// The hash of a key, where it decides.
    #[inline]
    pub(super) fn hash(&self, key: u64) -> Option<u64> {
        let hasher = self.hasher.as_ref()?;
        Some(hasher.hash(&key.to_le_bytes()))
    }

    #[inline]
    pub(super) fn count(&self, now: Nanos) {
        self.window.count(now);
    }

    #[inline]
    pub(super) fn pick(&mut self, ctx: &PickContext) -> Result<OwnedLease, NoEndpoint> {
        let lease = self.picker.pick(&self.snapshot, ctx)?;
        Ok(lease.keep(&self.snapshot))
    }

    /// How many endpoints it asks now that a request has come.
    #[inline]
    pub(super) fn questions(&mut self) -> u32 {
        let owed = self.owed + self.asks;
        self.owed = owed.fract();
        owed as u32
    }

    /// Makes a lease of a slot that was waited for.
    pub(super) fn bind(&mut self, ctx: &PickContext, slot: Slot) -> Result<OwnedLease, Slot> {
        let lease = self.picker.bind(&self.snapshot, ctx, slot, None)?;
        Ok(lease.keep(&self.snapshot))
    }

    /// Hands out slots that became free without a request's end: what a failure weighed has faded.
    pub(super) fn serve_queue(&self, now: Nanos) {
        if let Some(room) = self.room.as_ref().filter(|room| !room.is_empty()) {
            room.serve(now);
        }
    }

    /// How many of these may be chosen at the moment.
    pub(super) fn count_open(&self, tried: &Attempts) -> usize {
        let is_open = |serial: &Serial| {
            let at = self.snapshot.position(*serial);
            at.is_some_and(|at| self.snapshot.candidates()[at as usize].is_open())
        };
        tried.iter().filter(is_open).count()
    }

    /// Hears what the endpoint at a place says of its load.
    pub(super) fn hear_load(&mut self, at: usize, report: LoadReport, now: Nanos) {
        let serial = self.snapshot.candidates()[at].serial();
        self.picker.report(&self.snapshot, serial, report, now);
    }

    pub(super) fn spend_retry(&self, now: Nanos) -> bool {
        self.budget.spend(now, [&self.window])
    }

    pub(super) fn give_back_retry(&self, now: Nanos) {
        self.budget.give_back(now);
    }

    /// What is wrong with a choice, if anything is.
    #[inline]
    pub(super) fn fault_of(&self, lease: &OwnedLease) -> Option<String> {
        let snapshot = lease.snapshot();
        let endpoint = snapshot.endpoint(lease.index());
        let standing = snapshot.standing(lease.index());
        let may = match standing {
            Standing::Ready => true,
            Standing::Unhealthy | Standing::Ejected | Standing::Damped => {
                lease.fallback().is_some()
            }
            _ => false,
        };
        if !may {
            return Some(format!(
                "{} was chosen while {}",
                endpoint.id(),
                standing.as_str()
            ));
        }
        let cap = endpoint.capacity()?;
        let in_flight = lease.state().in_flight().count();
        (in_flight > cap).then(|| {
            format!(
                "{} has {in_flight} in flight, its cap is {cap}",
                endpoint.id()
            )
        })
    }

    /// The requests that its endpoints are taken to have.
    pub(super) fn in_flight(&self) -> u64 {
        let candidates = self.snapshot.candidates().iter();
        candidates
            .map(|candidate| u64::from(candidate.state().in_flight().count()))
            .sum()
    }
}
