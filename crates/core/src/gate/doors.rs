//! What there is to wait for: which endpoints have a slot, and who may use it.

use std::sync::Arc;

use super::capacity::{Levels, Upto};
use crate::candidate::Candidate;
use crate::clock::Nanos;
use crate::endpoint::{EndpointState, Serial};
use crate::pick::context::Attempts;
use crate::snapshot::Snapshot;
use crate::tier::labels::LabelSelector;

/// What a request asks for.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Ask, Attempts, Serial};
///
/// let mut attempts = Attempts::default();
/// attempts.push(Serial(7));
/// let elsewhere = Ask { attempts, ..Ask::default() };
/// assert!(elsewhere.labels.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Where it has been before.
    pub attempts: Attempts,
    /// The labels that its endpoint must have.
    pub labels: Option<Arc<LabelSelector>>,
    /// The view of them, as the snapshot that it was last looked for on has it; 0 is all endpoints.
    pub view: u16,
}

/// Which requests may use which endpoints: what a snapshot says of that.
///
/// # Examples
///
/// ```
/// # use std::{sync::Arc, task::{Context, Poll, Waker}};
/// # use evenkeel_core::{Ask, Doors, Endpoint, Membership, Nanos, PickContext, Picker, PickerSeed, Priority, QueuePolicy, WaitingRoom, strategy::registry};
/// let room = Arc::new(WaitingRoom::new(QueuePolicy { size: 8, timeout: Nanos::from_secs(1) }));
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// members.upsert(Endpoint::new("a", "10.0.0.1:80").with_capacity(1));
/// members.set_waiting_room(Some(Arc::clone(&room)));
/// let snapshot = members.snapshot();
/// room.open(Doors::of(&snapshot));
/// assert!(snapshot.has_waiting_room());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Doors {
    candidates: Box<[Candidate]>,
    /// Sorted.
    positions: Box<[(Serial, u32)]>,
    /// Whom each view lets in, in the order of the candidates; all endpoints first.
    views: Box<[Box<[bool]>]>,
    /// In the order of the candidates; empty where none is left alone below its cap.
    levels: Box<[Levels]>,
    selectors: Box<[LabelSelector]>,
    half_life: Nanos,
}

impl Doors {
    /// The doors of a snapshot. O(n log n) for each view.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let views = 0..=snapshot.views.len();
        let places = 0..snapshot.candidates().len() as u32;
        let lets_in = |view: usize| {
            places
                .clone()
                .map(|at| snapshot.admits(view as u16, at))
                .collect()
        };
        Self {
            candidates: snapshot.candidates().into(),
            positions: snapshot.positions.clone(),
            views: views.map(lets_in).collect(),
            levels: snapshot.levels.clone(),
            selectors: snapshot
                .views
                .iter()
                .map(|view| view.labels.clone())
                .collect(),
            half_life: snapshot.failure_half_life(),
        }
    }

    /// How many endpoints there are.
    pub(super) fn len(&self) -> usize {
        self.candidates.len()
    }

    /// The record of the endpoint at a place.
    pub(super) fn state(&self, at: usize) -> Arc<EndpointState> {
        self.candidates[at].shared_state()
    }

    /// The place of an endpoint.
    pub(super) fn find(&self, serial: Serial) -> Option<usize> {
        let at = self
            .positions
            .binary_search_by_key(&serial, |(serial, _)| *serial)
            .ok()?;
        Some(self.positions[at].1 as usize)
    }

    /// Whether the endpoint at a place may take what is asked for.
    pub(super) fn admits(&self, ask: &Ask, at: usize) -> bool {
        let view = self.views.get(usize::from(ask.view));
        let lets_in = view.is_some_and(|view| view[at]);
        lets_in && !ask.attempts.contains(self.candidates[at].serial())
    }

    /// The view of these labels, or one that lets nobody in.
    pub(super) fn view_of(&self, labels: &LabelSelector) -> u16 {
        let at = self.selectors.iter().position(|known| known == labels);
        at.and_then(|at| u16::try_from(at + 1).ok())
            .unwrap_or(u16::MAX)
    }

    /// How many slots the endpoint at a place has left beside one more request, when `held` of those in
    /// flight there are about to end; none if there is no slot for that one.
    pub(super) fn room(&self, at: usize, held: u32, now: Nanos) -> Option<u32> {
        let candidate = &self.candidates[at];
        let occupied = candidate.load(now, self.half_life).occupied(held);
        candidate.cap().checked_sub(occupied.saturating_add(1))
    }

    /// Takes a slot of the endpoint at a place.
    pub(super) fn acquire(&self, at: usize) -> bool {
        let candidate = &self.candidates[at];
        match self.levels.get(at) {
            Some(levels) => candidate
                .state()
                .in_flight()
                .acquire_within(*levels, Upto::Cap),
            None => candidate.acquire().is_none(),
        }
    }
}

#[cfg(all(test, loom))]
impl Doors {
    /// The doors of endpoints with one slot each, for all requests.
    pub(crate) fn of_slots(endpoints: &[Arc<EndpointState>]) -> Self {
        let candidate = |state: &Arc<EndpointState>| Candidate::new(Arc::clone(state), 256, 1);
        let position = |(at, state): (u32, &Arc<EndpointState>)| (state.serial(), at);
        Self {
            candidates: endpoints.iter().map(candidate).collect(),
            positions: (0..).zip(endpoints).map(position).collect(),
            views: Box::new([vec![true; endpoints.len()].into()]),
            half_life: Nanos::from_secs(1),
            ..Self::default()
        }
    }
}
