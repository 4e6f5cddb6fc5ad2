//! Waiting for slots, on real threads and in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use evenkeel_core::strategy::registry;
use evenkeel_core::{
    Ask, Doors, Endpoint, Fallback, LabelSelector, Lease, Membership, Nanos, NoEndpoint, Outcome,
    PickContext, Picker, PickerSeed, Priority, QueuePolicy, Receipt, ShedReason, Slot, Snapshot,
    Waiting, WaitingRoom,
};

const NOW: Nanos = Nanos::from_secs(100);
const LATE: Nanos = Nanos::from_secs(1_000);

fn members(size: usize, cap: u32) -> (Membership, Arc<WaitingRoom>) {
    let strategy = registry::build("least_request", &[]).expect("registered");
    let mut members = Membership::new("waiting", strategy);
    for at in 0..size {
        let class = ["tin", "gold"][at % 2];
        let endpoint = Endpoint::new(format!("e{at}"), "10.0.0.1:80").with_capacity(cap);
        members.upsert(endpoint.with_label("class", class));
    }
    let room = Arc::new(WaitingRoom::new(QueuePolicy {
        size: 1_000,
        timeout: Nanos::from_secs(1),
    }));
    members.set_waiting_room(Some(Arc::clone(&room)));
    (members, room)
}

fn open(members: &mut Membership, room: &WaitingRoom) -> Snapshot {
    let snapshot = members.snapshot();
    room.open(Doors::of(&snapshot));
    snapshot
}

fn picker(number: u32) -> Picker {
    Picker::new(PickerSeed {
        root: 5,
        picker: number,
    })
}

fn fill<'s>(snapshot: &'s Snapshot, picker: &mut Picker) -> Vec<Lease<'s>> {
    let mut held = Vec::new();
    while let Ok(lease) = picker.pick(snapshot, &PickContext::at(NOW)) {
        held.push(lease);
    }
    held
}

fn enter(room: &Arc<WaitingRoom>, ask: Ask, priority: Priority) -> Waiting {
    room.enter(ask, priority, LATE, NOW).expect("a place")
}

fn plain(room: &Arc<WaitingRoom>) -> Waiting {
    enter(room, Ask::default(), Priority::Default)
}

fn granted(waiting: &mut Waiting) -> Option<Slot> {
    match waiting.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(slot) => Some(slot.expect("a slot")),
        Poll::Pending => None,
    }
}

fn in_flight(snapshot: &Snapshot) -> Vec<u32> {
    let candidates = snapshot.candidates().iter();
    candidates
        .map(|candidate| candidate.state().in_flight().count())
        .collect()
}

#[test]
fn a_slot_is_handed_over_and_never_free_in_between() {
    let (mut members, room) = members(2, 3);
    let snapshot = open(&mut members, &room);
    let mut picker = picker(0);
    let mut held = fill(&snapshot, &mut picker);
    let (mut first, mut second) = (plain(&room), plain(&room));
    assert!(granted(&mut first).is_none());
    let ended = held.pop().expect("held");
    let index = ended.index();
    ended.finish(Outcome::Success, NOW);
    let refused = picker.pick(&snapshot, &PickContext::at(NOW)).err();
    assert_eq!(
        refused,
        Some(NoEndpoint::AllFull),
        "a newcomer finds nothing"
    );
    let slot = granted(&mut first).expect("the first in line");
    assert!(granted(&mut second).is_none());
    let mut receipt = Receipt::default();
    let ctx = PickContext::at(NOW);
    let lease = picker
        .bind(&snapshot, &ctx, slot, Some(&mut receipt))
        .expect("it may");
    assert_eq!(
        (lease.index(), lease.fallback()),
        (index, Some(Fallback::Queue))
    );
    assert_eq!(receipt.derive(&snapshot), Ok(()));
    assert_eq!(room.len(), 1);
    lease.finish(Outcome::Success, NOW);
    drop(granted(&mut second).expect("now it is its turn"));
    drop(held);
    assert_eq!((in_flight(&snapshot), room.len()), (vec![0, 0], 0));
}

/// A receipt of one who waited names an endpoint that it may use; another one is found.
#[test]
fn a_changed_receipt_of_the_queue_is_found() {
    let (mut members, room) = members(3, 1);
    let snapshot = open(&mut members, &room);
    let mut picker = picker(0);
    let mut held = fill(&snapshot, &mut picker);
    let mut ctx = PickContext::at(NOW);
    ctx.attempts.push(snapshot.candidates()[2].serial());
    let ask = Ask {
        attempts: ctx.attempts.clone(),
        ..Ask::default()
    };
    let mut waiting = enter(&room, ask, Priority::Default);
    let at = held
        .iter()
        .position(|lease| lease.index() == 2)
        .expect("held");
    drop(held.swap_remove(at));
    assert!(granted(&mut waiting).is_none(), "it has been there");
    let at = held
        .iter()
        .position(|lease| lease.index() == 1)
        .expect("held");
    drop(held.swap_remove(at));
    let slot = granted(&mut waiting).expect("a slot");
    let mut receipt = Receipt::default();
    let lease = picker.bind(&snapshot, &ctx, slot, Some(&mut receipt));
    assert_eq!(lease.expect("it may").index(), 1);
    assert_eq!(receipt.derive(&snapshot), Ok(()));
    for wrong in [Some(2), Some(3), None] {
        let mut changed = receipt.clone();
        changed.chosen = wrong;
        assert!(changed.derive(&snapshot).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_most_important_is_served_first_and_a_full_line_gives_way() {
    let (mut members, room) = members(1, 1);
    room.set_policy(QueuePolicy {
        size: 2,
        timeout: LATE,
    });
    let snapshot = open(&mut members, &room);
    let mut held = fill(&snapshot, &mut picker(0));
    let mut sheddable = enter(&room, Ask::default(), Priority::Sheddable);
    let mut default = plain(&room);
    let mut critical = enter(&room, Ask::default(), Priority::Critical);
    let told = sheddable.poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(told, Poll::Ready(Err(ShedReason::Priority))));
    let refused = room
        .enter(Ask::default(), Priority::Default, LATE, NOW)
        .err();
    assert_eq!(
        refused.map(|refused| refused.reason),
        Some(ShedReason::QueueFull)
    );
    held.clear();
    assert!(granted(&mut default).is_none());
    drop(granted(&mut critical).expect("critical first"));
    assert!(granted(&mut default).is_some());
}

#[test]
fn a_slot_goes_to_the_first_who_may_use_it() {
    let (mut members, room) = members(2, 1);
    let gold = LabelSelector::new([("class", "gold")]);
    members.set_views(vec![gold.clone()]);
    let snapshot = open(&mut members, &room);
    let mut held = fill(&snapshot, &mut picker(0));
    let ask = Ask {
        view: snapshot.view_of(&gold).expect("a view"),
        labels: Some(Arc::new(gold.clone())),
        ..Ask::default()
    };
    let (mut picky, mut any) = (enter(&room, ask, Priority::Critical), plain(&room));
    let tin = held
        .iter()
        .position(|lease| lease.index() == 0)
        .expect("held");
    drop(held.swap_remove(tin));
    assert!(granted(&mut picky).is_none());
    let kept = granted(&mut any);
    assert!(kept.is_some(), "it has no labels in mind");
    // Under another configuration the view has another number.
    members.set_views(vec![LabelSelector::new([("class", "tin")]), gold]);
    let _newer = open(&mut members, &room);
    held.clear();
    assert!(granted(&mut picky).is_some());
}

#[test]
fn a_new_endpoint_serves_who_waits_and_a_smaller_cap_is_kept() {
    let (mut members, room) = members(1, 3);
    let snapshot = open(&mut members, &room);
    let mut held = fill(&snapshot, &mut picker(0));
    let mut waiting: Vec<Waiting> = (0..4).map(|_| plain(&room)).collect();
    members.upsert(Endpoint::new("e1", "10.0.0.2:80").with_capacity(2));
    let newer = open(&mut members, &room);
    let slots: Vec<Slot> = waiting.iter_mut().filter_map(granted).collect();
    assert_eq!((slots.len(), in_flight(&newer)), (2, vec![3, 2]));
    let mut waiting = waiting.split_off(2);
    members.upsert(Endpoint::new("e0", "10.0.0.1:80").with_capacity(1));
    let newer = open(&mut members, &room);
    held.truncate(1);
    let more = waiting.iter_mut().filter_map(granted).count();
    assert_eq!(
        (more, in_flight(&newer)),
        (0, vec![1, 2]),
        "two ended, and none began"
    );
    held.clear();
    let slots: Vec<Slot> = waiting.iter_mut().filter_map(granted).collect();
    assert_eq!((slots.len(), in_flight(&newer)), (1, vec![1, 2]));
}

/// A slot of an endpoint that was removed in the meantime is of no use: who has it goes back to its place.
#[test]
fn who_was_given_a_useless_slot_keeps_its_place() {
    let (mut members, room) = members(2, 1);
    let snapshot = open(&mut members, &room);
    let mut picker = picker(0);
    let mut held = fill(&snapshot, &mut picker);
    let (mut first, mut second) = (plain(&room), plain(&room));
    let at = held
        .iter()
        .position(|lease| lease.index() == 0)
        .expect("held");
    drop(held.swap_remove(at));
    let slot = granted(&mut first).expect("a slot");
    members.remove("e0").expect("known");
    let newer = open(&mut members, &room);
    let useless = picker.bind(&newer, &PickContext::at(NOW), slot, None);
    first.wait_on(useless.expect_err("it is gone"), Ask::default());
    assert!(granted(&mut first).is_none() && granted(&mut second).is_none());
    assert_eq!(snapshot.candidates()[0].state().in_flight().count(), 0);
    held.clear();
    assert!(granted(&mut first).is_some(), "it came first");
}

/// An endpoint that fails at once would be through with everybody who waits.
#[test]
fn a_failure_counts_as_a_slot_for_a_while() {
    let (mut members, room) = members(1, 1);
    let snapshot = open(&mut members, &room);
    let mut held = fill(&snapshot, &mut picker(0));
    let mut waiting = plain(&room);
    held.pop().expect("held").finish(Outcome::Failure, NOW);
    assert!(granted(&mut waiting).is_none(), "it has just failed");
    room.serve(NOW);
    assert!(granted(&mut waiting).is_none());
    room.serve(NOW + snapshot.failure_half_life() + Nanos::from_millis(1));
    assert!(granted(&mut waiting).is_some());
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

const CAP: u32 = 3;

fn serve_one(
    snapshot: &Snapshot,
    room: &Arc<WaitingRoom>,
    picker: &mut Picker,
    most: &AtomicU32,
    leaves: bool,
) -> bool {
    let ctx = PickContext::at(NOW);
    let lease = match picker.pick(snapshot, &ctx) {
        Ok(lease) => lease,
        Err(_) => {
            let mut waiting = plain(room);
            match picker.pick(snapshot, &ctx) {
                Ok(lease) => lease,
                Err(_) if leaves => return false,
                Err(_) => {
                    let waker = Waker::from(Arc::new(Unpark(thread::current())));
                    let slot = loop {
                        match waiting.poll(&mut Context::from_waker(&waker)) {
                            Poll::Ready(slot) => break slot.expect("a slot"),
                            Poll::Pending => thread::park(),
                        }
                    };
                    picker.bind(snapshot, &ctx, slot, None).expect("it may")
                }
            }
        }
    };
    most.fetch_max(lease.state().in_flight().count(), Ordering::Relaxed);
    thread::yield_now();
    lease.finish(Outcome::Success, NOW);
    true
}

/// Threads that wait in turn, some of which give up: nobody is forgotten, no cap is passed, no slot lost.
#[test]
fn nobody_is_forgotten_under_contention() {
    let (mut members, room) = members(2, CAP);
    let snapshot = open(&mut members, &room);
    let most = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..16 {
            let (snapshot, room, most) = (&snapshot, &room, &most);
            scope.spawn(move || {
                let mut picker = picker(number);
                for round in 0..400 {
                    let leaves = (round + number) % 5 == 0;
                    let served = serve_one(snapshot, room, &mut picker, most, leaves);
                    assert!(served || leaves);
                }
            });
        }
    });
    assert_eq!((in_flight(&snapshot), room.len()), (vec![0, 0], 0));
    assert_eq!(most.into_inner(), CAP);
}

/// What an endpoint takes is learned where nothing is configured, and a snapshot's record has it.
#[test]
fn a_learned_cap_is_kept_below_a_configured_one() {
    let (mut members, _room) = members(1, 7);
    members.upsert(Endpoint::new("learned", "10.0.0.2:80"));
    assert_eq!(members.snapshot().capacity(1), None);
    members.set_first_cap(Some(20));
    assert_eq!(members.snapshot().capacity(1), Some(20));
    for id in ["e0", "learned"] {
        members.set_learned_cap(id, 25).expect("known");
    }
    let snapshot = members.snapshot();
    assert_eq!(
        (snapshot.capacity(0), snapshot.capacity(1)),
        (Some(7), Some(25))
    );
    let rebuilt = snapshot.record().rebuild().expect("each once");
    assert_eq!(
        (rebuilt.capacity(0), rebuilt.capacity(1)),
        (Some(7), Some(25))
    );
    members.set_first_cap(None);
    assert_eq!(members.snapshot().capacity(1), None);
}

/// Whatever chooses: a slot whose last request failed just now counts as taken where requests can wait, so that an
/// endpoint that fails at once is not given the next one.
#[test]
fn no_strategy_sends_to_who_has_just_failed_where_requests_can_wait() {
    for strategy in registry::STRATEGIES {
        for waits in [true, false] {
            let built = registry::build(strategy.name, &[]).expect("registered");
            let mut members = Membership::new("web", built);
            members.upsert(Endpoint::new("a", "10.0.0.1:80").with_capacity(1));
            let policy = QueuePolicy {
                size: 8,
                timeout: Nanos::from_secs(1),
            };
            members.set_waiting_room(waits.then(|| Arc::new(WaitingRoom::new(policy))));
            let snapshot = members.snapshot();
            assert_eq!(snapshot.has_waiting_room(), waits);
            let (mut picker, ctx) = (picker(0), PickContext::at(NOW).with_key(7));
            let lease = picker.pick(&snapshot, &ctx).expect("it is free");
            lease.finish(Outcome::Failure, NOW);
            let next = picker.pick(&snapshot, &ctx).map(|lease| lease.index());
            let expected = if waits {
                Err(NoEndpoint::AllFull)
            } else {
                Ok(0)
            };
            assert_eq!(next, expected, "{}", strategy.name);
        }
    }
}

/// While everything fails the median latency grows to half a minute: endpoints that are well again are found out within
/// seconds all the same, though nobody but a request that is let through can tell.
#[test]
fn who_is_well_again_gets_requests_within_seconds_of_an_outage_of_all() {
    for cap in [1, 3, 20] {
        let (mut members, room) = members(2, cap);
        let mut picker = picker(0);
        let mut now = NOW;
        for _ in 0..600 {
            let snapshot = open(&mut members, &room);
            while let Ok(lease) = picker.pick(&snapshot, &PickContext::at(now)) {
                lease.finish(Outcome::Failure, now);
            }
            now = now + Nanos::from_millis(100);
        }
        let snapshot = open(&mut members, &room);
        assert!(snapshot.typical_latency() > Nanos::from_secs(10), "{cap}");
        let later = now + Nanos::from_secs(5);
        let well = picker.pick(&snapshot, &PickContext::at(later));
        assert!(well.is_ok(), "a cap of {cap}: {well:?}");
    }
}
