//! A snapshot as data: what it takes to build the same one again, elsewhere and later.

use std::sync::Arc;

use crate::clock::Nanos;
use crate::endpoint::{Admin, Endpoint};
use crate::gate::{QueuePolicy, WaitingRoom, Watermarks};
use crate::health::Condition;
use crate::health::panic::PanicThreshold;
use crate::membership::{DuplicateId, FULL_WEIGHT, KeyPolicy, Membership};
use crate::snapshot::{Snapshot, Standing};
use crate::strategy::Strategy;
use crate::tier::labels::LabelSelector;
use crate::tier::subset::Subset;

/// All that decisions on a snapshot follow from, beside what changes from moment to moment.
///
/// [`Snapshot::record`] writes it, [`SnapshotRecord::rebuild`] reads it: tables, schedules and tiers
/// come out the same, so receipts of its generation can be derived again.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// let again = snapshot.record().rebuild()?;
/// assert_eq!(again.endpoints(), snapshot.endpoints());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SnapshotRecord {
    /// The name of the cluster.
    pub cluster: Arc<str>,
    /// The number of the version, from 1.
    pub generation: u64,
    /// The strategy and its parameters.
    pub strategy: Arc<dyn Strategy>,
    /// The endpoints, in id order.
    pub endpoints: Vec<RecordedEndpoint>,
    /// Below which share of healthy endpoints all are used.
    pub panic: PanicThreshold,
    /// How keys are handled.
    pub keys: KeyPolicy,
    /// From which share of its cap on an endpoint is left alone while others are less busy.
    pub watermarks: Option<Watermarks>,
    /// Whether requests wait when all endpoints are full.
    pub queue: bool,
    /// Where the caller is.
    pub zone: Option<Arc<str>>,
    /// How many endpoints of each tier the caller uses.
    pub subset: Option<Subset>,
    /// What requests may ask for, from view 1 on.
    pub views: Vec<LabelSelector>,
    /// The median latency of the endpoints, if it was known.
    pub median: Option<Nanos>,
}

/// An endpoint in a [`SnapshotRecord`].
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::Standing;
///
/// let record = snapshot.record();
/// assert_eq!(record.endpoints[0].endpoint.id(), "a");
/// assert_eq!(record.endpoints[0].standing, Standing::Ready);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEndpoint {
    /// As configured.
    pub endpoint: Endpoint,
    /// What its weight is scaled by, in 1/256.
    pub factor: u16,
    /// Whether it takes part.
    pub standing: Standing,
}

impl Snapshot {
    /// The snapshot as data. O(n).
    #[must_use]
    pub fn record(&self) -> SnapshotRecord {
        let endpoints = self.endpoints.iter().enumerate();
        let endpoint = |(at, endpoint): (usize, &Arc<Endpoint>)| RecordedEndpoint {
            endpoint: self.with_cap(at, endpoint),
            factor: self.origin.factors[at],
            standing: self.standings[at],
        };
        SnapshotRecord {
            cluster: Arc::clone(&self.cluster),
            generation: self.generation,
            strategy: Arc::clone(&self.strategy),
            endpoints: endpoints.map(endpoint).collect(),
            panic: self.origin.panic,
            keys: self.origin.keys,
            watermarks: self.origin.watermarks,
            queue: self.has_waiting_room(),
            zone: self.origin.zone.clone(),
            subset: self.origin.subset.clone(),
            views: self.views.iter().map(|view| view.labels.clone()).collect(),
            median: self.origin.median,
        }
    }

    /// The endpoint at a place with the cap that was learned of it, if one was.
    fn with_cap(&self, index: usize, endpoint: &Endpoint) -> Endpoint {
        match (endpoint.capacity(), self.capacity(index)) {
            (None, Some(learned)) => endpoint.clone().with_capacity(learned),
            _ => endpoint.clone(),
        }
    }

    /// What the configured weight of the endpoint at a place is scaled by, in 1/256.
    ///
    /// # Panics
    ///
    /// When there is no such place.
    #[must_use]
    pub fn factor(&self, index: usize) -> u16 {
        self.origin.factors[index]
    }
}

impl SnapshotRecord {
    /// A snapshot that decides as the recorded one did, with endpoints of its own that nobody is at.
    /// O(n log n) and the cost of the strategy's table.
    ///
    /// # Errors
    ///
    /// When an endpoint is listed twice.
    pub fn rebuild(&self) -> Result<Snapshot, DuplicateId> {
        let mut ids: Vec<&str> = self.endpoints.iter().map(|it| it.endpoint.id()).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(DuplicateId(pair[0].into()));
        }
        let strategy = Arc::clone(&self.strategy);
        let mut members = Membership::new(Arc::clone(&self.cluster), strategy);
        let nobody = QueuePolicy::default();
        members.set_waiting_room(self.queue.then(|| Arc::new(WaitingRoom::new(nobody))));
        members.mirror(self);
        Ok(members.snapshot())
    }
}

impl Membership {
    /// Becomes what is recorded, under its own strategy and with its own records of endpoints.
    pub(crate) fn mirror(&mut self, of: &SnapshotRecord) {
        self.set_panic(of.panic);
        self.set_key_policy(of.keys);
        self.set_watermarks(of.watermarks);
        self.set_zone(of.zone.clone());
        self.set_subset(of.subset.clone());
        self.set_views(of.views.clone());
        let list = of
            .endpoints
            .iter()
            .map(|recorded| recorded.endpoint.clone());
        // Ids of a snapshot are unique, and those of a record have been looked at.
        let _ = self.replace(list.collect());
        for recorded in &of.endpoints {
            let id = recorded.endpoint.shared_id();
            // It is there since the line above.
            let _ = self.set_factor(&id, recorded.factor);
            let (admin, condition) = match recorded.standing {
                Standing::Disabled => (Admin::Disabled, Condition::Usable),
                Standing::Draining => (Admin::Draining, Condition::Usable),
                Standing::Ready => (Admin::Enabled, Condition::Usable),
                Standing::Unhealthy => (Admin::Enabled, Condition::Unhealthy),
                Standing::Ejected => (Admin::Enabled, Condition::Ejected),
                Standing::Damped => (Admin::Enabled, Condition::Damped),
            };
            self.set_condition(&id, condition, FULL_WEIGHT);
            let _ = self.set_admin(&id, admin);
        }
        self.generation = of.generation.saturating_sub(1);
        self.recorded_median = of.median;
    }
}
