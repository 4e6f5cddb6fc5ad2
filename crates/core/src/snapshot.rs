//! The immutable view of a cluster that decisions are made on.

use std::sync::Arc;

use crate::candidate::Candidate;
use crate::clock::Nanos;
use crate::endpoint::{Endpoint, Serial};
use crate::gate::{Levels, Upto, WaitingRoom, Watermarks};
use crate::health::panic::PanicThreshold;
use crate::load::{InFlight, Load, Total};
use crate::membership::{KeyPolicy, MissingKey};
use crate::pick::context::NoEndpoint;
use crate::pick::receipt::Refusal;
use crate::strategy::{Strategy, Table};
use crate::tier::labels::LabelSelector;
use crate::tier::subset::Subset;

/// Why an endpoint takes part in decisions, or does not.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Standing;
///
/// assert_eq!(Standing::named("draining"), Some(Standing::Draining));
/// assert!(!Standing::Draining.is_in_service());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// An operator took it out of service.
    Disabled,
    /// It takes no new requests: an operator drains it, or its weight is 0.
    Draining,
    /// It takes requests.
    Ready,
    /// It failed its checks.
    Unhealthy,
    /// It failed requests, and is out for a while.
    Ejected,
    /// It failed its checks so often that it is out for a while, and not counted for panic.
    Damped,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Disabled,
        Self::Draining,
        Self::Ready,
        Self::Unhealthy,
        Self::Ejected,
        Self::Damped,
    ];

    /// The standing of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }

    /// The word for it in logs of decisions; the API says "unhealthy" of damped ones.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Draining => "draining",
            Self::Ready => "ready",
            Self::Unhealthy => "unhealthy",
            Self::Ejected => "ejected",
            Self::Damped => "damped",
        }
    }

    /// Whether it would take requests if it were well.
    #[must_use]
    pub const fn is_in_service(self) -> bool {
        !matches!(self, Self::Disabled | Self::Draining)
    }
}

/// What outcomes are held against, the same for all endpoints of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// In what time the weight of a failure halves.
    pub(crate) failure_half_life: Nanos,
    /// In what time what is known of a latency fades by a factor of e.
    pub(crate) latency_decay: Nanos,
    /// Whether latencies are noted with the load at which they were seen.
    pub(crate) by_load: bool,
    /// As long as this a failure is taken to have lasted, at least.
    pub(crate) failure_latency: Nanos,
    /// The cluster's median latency, or a guess.
    pub(crate) typical_latency: Nanos,
    /// All requests in flight; counted only where an endpoint's share of them is bounded.
    pub(crate) in_flight: Option<Arc<Total>>,
    /// Where requests wait for slots that end, if they do.
    pub(crate) room: Option<Arc<WaitingRoom>>,
}

/// The endpoints among which one strategy table chooses: those of one tier, or of a zone of it.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// let group = &snapshot.groups()[0];
/// assert_eq!((group.tier(), group.eligible()), (0, &[0, 1][..]));
/// assert!(!group.is_in_panic());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Group {
    pub(crate) tier: u8,
    /// Tells apart groups of one tier from generation to generation.
    pub(crate) lane: u64,
    pub(crate) panic: bool,
    /// Of ten thousand first picks, how many are for this group and those before it.
    pub(crate) share_up_to: u32,
    pub(crate) eligible: Box<[u32]>,
    pub(crate) table: Box<dyn Table>,
}

impl Group {
    /// The tier, 0 first.
    #[must_use]
    pub fn tier(&self) -> u8 {
        self.tier
    }

    /// Whether so few endpoints of the tier are healthy that all of them are used.
    #[must_use]
    pub fn is_in_panic(&self) -> bool {
        self.panic
    }

    /// The endpoints that may be chosen, as places in the snapshot, in id order.
    #[must_use]
    pub fn eligible(&self) -> &[u32] {
        &self.eligible
    }

    /// What the strategy worked out beforehand for this group.
    #[inline]
    #[must_use]
    pub fn table(&self) -> &dyn Table {
        &*self.table
    }
}

/// The endpoints that certain requests may use: those with the labels that they ask for.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) labels: LabelSelector,
    pub(crate) groups: Box<[Group]>,
    pub(crate) unavailable: NoEndpoint,
    /// Any endpoint will do when none of these can serve.
    pub(crate) or_any: bool,
    /// How many groups all views before it have, the first one too.
    pub(crate) groups_before: usize,
}

/// One generation of a cluster, whole and immutable; built by [`crate::Membership::snapshot`].
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// assert_eq!(snapshot.cluster(), "web");
/// assert_eq!(snapshot.endpoint(0).id(), "a");
/// assert_eq!(snapshot.strategy().descriptor().name, "least_request");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) cluster: Arc<str>,
    pub(crate) generation: u64,
    /// Tells apart all snapshots of the process, those of other clusters too.
    pub(crate) serial: u64,
    pub(crate) strategy: Arc<dyn Strategy>,
    pub(crate) endpoints: Box<[Arc<Endpoint>]>,
    pub(crate) standings: Box<[Standing]>,
    pub(crate) candidates: Box<[Candidate]>,
    /// In the order of the candidates; empty where no endpoint is left alone below its cap.
    pub(crate) levels: Box<[Levels]>,
    /// Taking a slot is more than to count: there are levels, or somebody may wait.
    pub(crate) is_gated: bool,
    pub(crate) positions: Box<[(Serial, u32)]>,
    pub(crate) groups: Box<[Group]>,
    pub(crate) unavailable: NoEndpoint,
    /// From view 1 on.
    pub(crate) views: Box<[View]>,
    pub(crate) terms: Terms,
    pub(crate) missing_key: MissingKey,
    pub(crate) origin: Origin,
}

/// What else a snapshot was assembled from: for its record.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) panic: PanicThreshold,
    pub(crate) keys: KeyPolicy,
    pub(crate) watermarks: Option<Watermarks>,
    pub(crate) zone: Option<Arc<str>>,
    pub(crate) subset: Option<Subset>,
    /// Of each endpoint, in 1/256 of its configured weight.
    pub(crate) factors: Box<[u16]>,
    pub(crate) median: Option<Nanos>,
}

impl Snapshot {
    /// The name of the cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The name of the cluster as a shared string.
    #[must_use]
    pub fn shared_cluster(&self) -> Arc<str> {
        Arc::clone(&self.cluster)
    }

    /// Counts the versions of the cluster, from 1.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Another number for each snapshot of the process, those of other clusters too.
    #[inline]
    #[must_use]
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// The strategy and its parameters.
    #[must_use]
    pub fn strategy(&self) -> &Arc<dyn Strategy> {
        &self.strategy
    }

    /// The endpoints in id order, those that may not be chosen too.
    #[must_use]
    pub fn endpoints(&self) -> &[Arc<Endpoint>] {
        &self.endpoints
    }

    /// The endpoint at a place in this snapshot.
    ///
    /// # Panics
    ///
    /// When there is no such place: it must come from a lease or receipt of this snapshot.
    #[inline]
    #[must_use]
    pub fn endpoint(&self, index: usize) -> &Endpoint {
        &self.endpoints[index]
    }

    /// Whether the endpoint at a place takes part in decisions.
    ///
    /// # Panics
    ///
    /// When there is no such place.
    #[must_use]
    pub fn standing(&self, index: usize) -> Standing {
        self.standings[index]
    }

    /// What decisions read of each endpoint, in id order.
    #[inline]
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The levels of the endpoint at a place, where endpoints are left alone below their caps.
    #[inline]
    #[must_use]
    pub fn levels(&self, index: usize) -> Option<Levels> {
        self.levels.get(index).copied()
    }

    /// Whether requests wait when all endpoints are full.
    #[must_use]
    pub fn has_waiting_room(&self) -> bool {
        self.terms.room.is_some()
    }

    /// The most requests in flight at the endpoint at a place, if there is a limit and it takes part.
    ///
    /// # Panics
    ///
    /// When there is no such place.
    #[must_use]
    pub fn capacity(&self, index: usize) -> Option<u32> {
        let cap = self.candidates[index].cap();
        (cap > 0 && cap < InFlight::UNLIMITED).then_some(cap)
    }

    /// Whether the endpoint at a place is left alone while others are less busy, or has no slot at all.
    ///
    /// # Panics
    ///
    /// When there is no such place.
    #[must_use]
    pub fn is_saturated(&self, index: usize) -> bool {
        let candidate = &self.candidates[index];
        let in_flight = candidate.state().in_flight();
        let held = |levels| in_flight.is_held(levels);
        let full = in_flight.count() >= candidate.cap();
        candidate.is_open() && (full || self.levels(index).is_some_and(held))
    }

    /// Takes a slot of the endpoint at a place, or says why not.
    #[inline]
    pub(crate) fn acquire(&self, index: u32, upto: Upto, now: Nanos) -> Option<Refusal> {
        let candidate = &self.candidates[index as usize];
        if self.is_gated {
            return self.acquire_gated(index, upto, now);
        }
        candidate.acquire()
    }

    #[inline(never)]
    fn acquire_gated(&self, index: u32, upto: Upto, now: Nanos) -> Option<Refusal> {
        let candidate = &self.candidates[index as usize];
        let levels = self.levels(index as usize);
        if self.has_just_failed(index, now) {
            return Some(levels.map_or(Refusal::Full, |_| Refusal::of(upto)));
        }
        match levels {
            None => candidate.acquire(),
            Some(levels) => candidate.acquire_within(levels, upto),
        }
    }

    /// Whether failures occupy all slots of an endpoint whose requests could wait for another one.
    fn has_just_failed(&self, index: u32, now: Nanos) -> bool {
        if self.terms.room.is_none() {
            return false;
        }
        let candidate = &self.candidates[index as usize];
        let load = candidate.load(now, self.failure_half_life());
        candidate.is_open() && load.penalty > 0 && load.occupied(0) >= candidate.cap()
    }

    /// Whether the endpoint at a place refuses another request, as far as the load that was read goes.
    pub(crate) fn is_full(&self, index: u32, load: Load, upto: Upto) -> bool {
        let most = match (upto, self.levels(index as usize)) {
            (Upto::Stop, Some(levels)) => levels.stop,
            _ => self.candidates[index as usize].cap(),
        };
        let queues = self.terms.room.is_some();
        load.in_flight >= most || queues && load.occupied(0) >= most
    }

    /// The requests that the endpoint at a place has ended, if it has no slot.
    pub(crate) fn ended_if_full(&self, index: u32, now: Nanos) -> Option<u32> {
        let candidate = &self.candidates[index as usize];
        if self.is_gated && self.has_just_failed(index, now) {
            return candidate.state().in_flight().ended_if_full(0);
        }
        candidate.ended_if_full()
    }

    /// What [`Snapshot::acquire`] would say now.
    pub(crate) fn would_refuse(&self, index: u32, upto: Upto, now: Nanos) -> Option<Refusal> {
        let levels = self.levels(index as usize);
        if self.has_just_failed(index, now) {
            return Some(levels.map_or(Refusal::Full, |_| Refusal::of(upto)));
        }
        self.candidates[index as usize].would_refuse(levels, upto)
    }

    /// The groups among which a decision begins, tier 0 first; those without an endpoint to choose
    /// are left out.
    #[inline]
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Why nothing can be chosen when there are no groups.
    #[must_use]
    pub fn unavailable(&self) -> NoEndpoint {
        self.unavailable
    }

    /// The place of each endpoint, in the order of their serials.
    #[must_use]
    pub fn positions(&self) -> &[(Serial, u32)] {
        &self.positions
    }

    /// The place of an endpoint, by binary search.
    #[must_use]
    pub fn position(&self, serial: Serial) -> Option<u32> {
        let at = self
            .positions
            .binary_search_by_key(&serial, |(serial, _)| *serial)
            .ok()?;
        Some(self.positions[at].1)
    }

    /// In what time the weight of a failure halves: ten median latencies, 20 ms at least and 2 s at most.
    #[inline]
    #[must_use]
    pub fn failure_half_life(&self) -> Nanos {
        self.terms.failure_half_life
    }

    /// The cluster's median latency when the snapshot was built; a guess until one is known.
    #[must_use]
    pub fn typical_latency(&self) -> Nanos {
        self.terms.typical_latency
    }

    /// The number of the view of these labels, for [`crate::PickContext::view`]; none if the cluster was
    /// not told of them. O(views).
    #[must_use]
    pub fn view_of(&self, labels: &LabelSelector) -> Option<u16> {
        let at = self.views.iter().position(|view| view.labels == *labels)?;
        u16::try_from(at + 1).ok()
    }

    /// The groups of a view other than the first, and all groups before them.
    pub(crate) fn view(&self, view: u16) -> Option<&View> {
        self.views.get(usize::from(view).checked_sub(1)?)
    }

    /// Whether a request of that view may use the endpoint at a place, as far as the snapshot goes.
    pub(crate) fn admits(&self, view: u16, index: u32) -> bool {
        let has = |groups: &[Group]| {
            let mut groups = groups.iter();
            groups.any(|group| group.eligible.binary_search(&index).is_ok())
        };
        match self.view(view) {
            Some(labelled) => has(&labelled.groups) || labelled.or_any && has(&self.groups),
            None => view == 0 && has(&self.groups),
        }
    }

    /// The groups of all views, those of the first one first.
    pub(crate) fn all_groups(&self) -> impl Iterator<Item = &Group> {
        let views = self.views.iter().flat_map(|view| view.groups.iter());
        self.groups.iter().chain(views)
    }
}
