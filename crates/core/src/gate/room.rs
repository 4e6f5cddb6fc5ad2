//! Where requests wait for a slot, and how one is handed over.
//!
//! A request that finds all endpoints full enters, and then looks for a slot once more: one that was
//! released before it was seen waiting is found by that look. A release reads one number. As long as
//! nobody waits that is all; else the slot goes to the first who may use it, and is never given back for
//! newcomers to grab. So there is no moment at which a slot is free and somebody who may use it waits for
//! ever: between entering and the second look on one side, and releasing and reading on the other, one
//! of the two sees the other (both have a fence between; see the models).
//!
//! Failures count as slots that are still taken, where they outweigh what is in flight: else an endpoint
//! that fails at once would be through with the whole line in a moment.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::doors::{Ask, Doors};
use super::queue::{Line, Place, QueuePolicy, Refused};
use super::shed::{Priority, ShedReason};
use crate::clock::Nanos;
use crate::endpoint::{EndpointState, Serial};
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::{Guard, Mutex, lock};

/// The requests of a cluster that wait for a slot, over all workers.
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
/// # let (mut picker, ctx) = (Picker::new(PickerSeed { root: 7, picker: 0 }), PickContext::at(Nanos(0)));
/// let first = picker.pick(&snapshot, &ctx)?;
/// let waiting = room.enter(Ask::default(), Priority::Default, Nanos::from_secs(1), ctx.now);
/// let mut waiting = waiting.expect("room for it");
/// drop(first);
/// let Poll::Ready(Ok(slot)) = waiting.poll(&mut Context::from_waker(Waker::noop())) else {
///     panic!("its slot is free")
/// };
/// let second = picker.bind(&snapshot, &ctx, slot, None).expect("it is still there");
/// assert_eq!(second.index(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WaitingRoom {
    /// How many wait: all that a release reads as long as nobody does.
    waiting: AtomicU64,
    inside: Mutex<Inside>,
}

#[derive(Debug)]
struct Inside {
    line: Line<Waiter>,
    policy: QueuePolicy,
    /// What there is to wait for.
    doors: Doors,
    /// The latest time that anybody told.
    now: Nanos,
}

#[derive(Debug)]
struct Waiter {
    ask: Ask,
    call: Arc<Mutex<Call>>,
}

/// What a request that waits is told.
#[derive(Debug)]
enum Call {
    Granted(Arc<EndpointState>),
    NotYet(Option<Waker>),
    /// A more important one has its place, or it has taken what it was told.
    Over,
}

impl WaitingRoom {
    /// A room that nobody waits in, and nothing to wait for yet.
    #[must_use]
    pub fn new(policy: QueuePolicy) -> Self {
        Self {
            waiting: AtomicU64::new(0),
            inside: Mutex::new(Inside {
                line: Line::default(),
                policy,
                doors: Doors::default(),
                now: Nanos(0),
            }),
        }
    }

    /// How many wait.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether nobody waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Goes by another policy from now on; who waits already stays.
    pub fn set_policy(&self, policy: QueuePolicy) {
        self.lock().policy = policy;
    }

    /// Goes by the doors of a newer snapshot, and hands out what is free there.
    pub fn open(&self, doors: Doors) {
        let mut inside = self.lock();
        for waiter in inside.line.iter_mut() {
            let labels = waiter.ask.labels.as_ref();
            waiter.ask.view = labels.map_or(0, |labels| doors.view_of(labels));
        }
        inside.doors = doors;
        self.serve_all(&mut inside);
    }

    /// Hands out what is free: what failures weighed has faded since.
    pub fn serve(&self, now: Nanos) {
        let mut inside = self.lock();
        inside.now = inside.now.max(now);
        self.serve_all(&mut inside);
    }

    /// Waits for a slot until `deadline`. Look for one once more after this: it may have been released
    /// before anybody saw that somebody waits.
    ///
    /// # Errors
    ///
    /// When the line is full of what matters as much, or so long that it would be too late.
    pub fn enter(
        self: &Arc<Self>,
        ask: Ask,
        priority: Priority,
        deadline: Nanos,
        now: Nanos,
    ) -> Result<Waiting, Refused> {
        let call = Arc::new(Mutex::new(Call::NotYet(None)));
        let waiter = Waiter {
            ask,
            call: Arc::clone(&call),
        };
        let place = {
            let mut inside = self.lock();
            inside.now = inside.now.max(now);
            let policy = inside.policy;
            let (place, gives_way) = inside.line.enter(waiter, priority, policy, deadline, now)?;
            if let Some(waiter) = gives_way {
                tell(&waiter.call, Call::Over);
            }
            self.count(&inside);
            place
        };
        fence(Ordering::SeqCst);
        Ok(Waiting {
            room: Arc::clone(self),
            place,
            call,
        })
    }

    /// Ends a request at an endpoint: its slot goes to the first who may use it, or is free.
    #[inline]
    pub(crate) fn release(&self, state: &EndpointState) {
        if !self.is_empty() && self.hand_over(state) {
            return;
        }
        state.in_flight().release();
        fence(Ordering::SeqCst);
        if !self.is_empty() {
            self.serve_endpoint(state);
        }
    }

    /// Hands a slot over that is still counted; unless the endpoint has more requests than it may.
    #[cold]
    fn hand_over(&self, state: &EndpointState) -> bool {
        let mut inside = self.lock();
        let Some(at) = inside.doors.find(state.serial()) else {
            return false;
        };
        let first = inside
            .doors
            .room(at, 1, inside.now)
            .and_then(|_| inside.first_for(at));
        let Some(place) = first else {
            return false;
        };
        self.grant(&mut inside, place, at);
        true
    }

    /// Hands out the slots of an endpoint that are free.
    #[cold]
    fn serve_endpoint(&self, state: &EndpointState) {
        let mut inside = self.lock();
        let Some(at) = inside.doors.find(state.serial()) else {
            return;
        };
        while inside.doors.room(at, 0, inside.now).is_some() {
            let Some(place) = inside.first_for(at) else {
                return;
            };
            if !inside.doors.acquire(at) {
                return;
            }
            self.grant(&mut inside, place, at);
        }
    }

    /// Hands out all slots that are free and that somebody may use, the one with the most room first.
    fn serve_all(&self, inside: &mut Inside) {
        while !inside.line.is_empty() {
            let now = inside.now;
            let places = 0..inside.doors.len();
            let rooms = places.filter_map(|at| {
                let room = inside.doors.room(at, 0, now)?;
                inside.first_for(at).map(|place| (room, at, place))
            });
            let Some((_, at, place)) = rooms.max_by_key(|(room, at, _)| (*room, usize::MAX - at))
            else {
                return;
            };
            // Whoever was quicker ends a request some time.
            if !inside.doors.acquire(at) {
                return;
            }
            self.grant(inside, place, at);
        }
    }

    /// Tells the one at a place that it has a slot.
    fn grant(&self, inside: &mut Inside, place: Place, at: usize) {
        let state = inside.doors.state(at);
        let waiter = inside.line.serve(place);
        self.count(inside);
        debug_assert!(waiter.is_some(), "the place was found under the same lock");
        if let Some(waiter) = waiter {
            tell(&waiter.call, Call::Granted(state));
        }
    }

    fn count(&self, inside: &Inside) {
        self.waiting
            .store(inside.line.len() as u64, Ordering::Relaxed);
    }

    fn lock(&self) -> Guard<'_, Inside> {
        lock(&self.inside)
    }
}

impl Inside {
    /// The first who may use the endpoint at a place.
    fn first_for(&self, at: usize) -> Option<Place> {
        self.line.first(|waiter| self.doors.admits(&waiter.ask, at))
    }
}

fn tell(call: &Mutex<Call>, what: Call) {
    let before = std::mem::replace(&mut *lock(call), what);
    if let Call::NotYet(Some(waker)) = before {
        waker.wake();
    }
}

/// A request that waits. Dropped, it leaves its place at once, and what it was given goes to the next.
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
/// # let (mut picker, ctx) = (Picker::new(PickerSeed { root: 7, picker: 0 }), PickContext::at(Nanos(0)));
/// let first = picker.pick(&snapshot, &ctx)?;
/// let waiting = room.enter(Ask::default(), Priority::Default, Nanos::from_secs(1), ctx.now);
/// let mut waiting = waiting.expect("room for it");
/// drop(first);
/// let Poll::Ready(Ok(slot)) = waiting.poll(&mut Context::from_waker(Waker::noop())) else {
///     panic!("its slot is free")
/// };
/// let second = picker.bind(&snapshot, &ctx, slot, None).expect("it is still there");
/// assert_eq!(second.index(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Waiting {
    room: Arc<WaitingRoom>,
    place: Place,
    call: Arc<Mutex<Call>>,
}

impl Waiting {
    /// Ready with a slot, or with the reason why there will be none.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Slot, ShedReason>> {
        let mut call = lock(&self.call);
        match std::mem::replace(&mut *call, Call::Over) {
            Call::Granted(state) => Poll::Ready(Ok(Slot {
                room: Arc::clone(&self.room),
                state: Some(state),
            })),
            Call::NotYet(_) => {
                *call = Call::NotYet(Some(cx.waker().clone()));
                Poll::Pending
            }
            Call::Over => Poll::Ready(Err(ShedReason::Priority)),
        }
    }

    /// Goes back to its old place, since the slot is of no use for it any more. `ask` is what it asks of
    /// the newest snapshot.
    pub fn wait_on(&mut self, useless: Slot, ask: Ask) {
        *lock(&self.call) = Call::NotYet(None);
        let waiter = Waiter {
            ask,
            call: Arc::clone(&self.call),
        };
        {
            let mut inside = self.room.lock();
            inside.line.come_back(self.place, waiter);
            self.room.count(&inside);
        }
        fence(Ordering::SeqCst);
        drop(useless);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        {
            let mut inside = self.room.lock();
            inside.line.leave(self.place);
            self.room.count(&inside);
        }
        let told = std::mem::replace(&mut *lock(&self.call), Call::Over);
        if let Call::Granted(state) = told {
            self.room.release(&state);
        }
    }
}

/// A slot that was handed over, and is counted in flight. Dropped, it goes to the next.
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
/// # let (mut picker, ctx) = (Picker::new(PickerSeed { root: 7, picker: 0 }), PickContext::at(Nanos(0)));
/// let first = picker.pick(&snapshot, &ctx)?;
/// let waiting = room.enter(Ask::default(), Priority::Default, Nanos::from_secs(1), ctx.now);
/// let mut waiting = waiting.expect("room for it");
/// drop(first);
/// let Poll::Ready(Ok(slot)) = waiting.poll(&mut Context::from_waker(Waker::noop())) else {
///     panic!("its slot is free")
/// };
/// let second = picker.bind(&snapshot, &ctx, slot, None).expect("it is still there");
/// assert_eq!(second.index(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Slot {
    room: Arc<WaitingRoom>,
    /// None once it has become a lease.
    state: Option<Arc<EndpointState>>,
}

impl Slot {
    /// Whose slot it is.
    pub(crate) fn serial(&self) -> Option<Serial> {
        self.state.as_ref().map(|state| state.serial())
    }

    /// It is counted by a lease from now on.
    pub(crate) fn become_lease(mut self) {
        self.state = None;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.room.release(&state);
        }
    }
}
