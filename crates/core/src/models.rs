//! Every order in which threads can meet, for what they share: run by `cargo xtask test --only loom`.
//!
//! The models are small on purpose: loom tries all interleavings and all values that the memory model
//! lets a load see, and each operation more multiplies them.

use loom::thread;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::clock::Nanos;
use crate::endpoint::{EndpointState, Serial};
use crate::gate::{Ask, Doors, Priority, QueuePolicy, Waiting, WaitingRoom};
use crate::load::{InFlight, PeakEwma, Total};
use crate::published::{Published, Reader};

const DECAY: Nanos = Nanos::from_secs(10);

/// Two slots, three that want one: two get it, whatever the order, and the count never passes the cap.
#[test]
fn a_cap_is_never_passed() {
    loom::model(|| {
        let in_flight = Arc::new(InFlight::default());
        let acquire = |in_flight: &Arc<InFlight>| {
            let in_flight = Arc::clone(in_flight);
            move || {
                let taken = in_flight.acquire(2);
                assert!(in_flight.count() <= 2);
                taken
            }
        };
        let others = [0; 2].map(|_| thread::spawn(acquire(&in_flight)));
        let mine = acquire(&in_flight)();
        let taken = others.map(|other| other.join().expect("no panic"));
        let count = taken
            .into_iter()
            .chain([mine])
            .filter(|taken| *taken)
            .count();
        assert_eq!((count, in_flight.count()), (2, 2));
    });
}

/// One slot that is held: whoever finds it full and sees no request end between two looks was right.
/// Whoever comes after the release gets it: it is never lost to two that undo.
#[test]
fn a_slot_that_is_released_is_found() {
    loom::model(|| {
        let in_flight = Arc::new(InFlight::default());
        assert!(in_flight.acquire(1));
        let holder = {
            let in_flight = Arc::clone(&in_flight);
            thread::spawn(move || in_flight.release())
        };
        let refused = !in_flight.acquire(1);
        let ended = in_flight.ended_if_full(1);
        holder.join().expect("no panic");
        if refused {
            assert!(in_flight.acquire(1), "the slot is lost");
        }
        // Full of our own request, one has ended: a look from before the release differs from it.
        if refused && ended == Some(0) {
            assert_eq!(in_flight.ended_if_full(1), Some(1));
        }
        assert_eq!(in_flight.count(), 1);
    });
}

/// Leases that end at once on two threads are counted out once each, and all that was done before is
/// seen by whoever takes the slot.
#[test]
fn leases_that_end_at_once_are_counted_out() {
    loom::model(|| {
        let in_flight = Arc::new(InFlight::default());
        assert!((0..2).all(|_| in_flight.acquire(InFlight::UNLIMITED)));
        let done = Arc::new(loom::sync::atomic::AtomicU64::new(0));
        let ends = [0; 2].map(|_| {
            let (in_flight, done) = (Arc::clone(&in_flight), Arc::clone(&done));
            thread::spawn(move || {
                done.fetch_add(1, loom::sync::atomic::Ordering::Relaxed);
                in_flight.release();
            })
        });
        if in_flight.acquire(1) {
            // A slot below a cap of one: both have ended.
            assert_eq!(done.load(loom::sync::atomic::Ordering::Relaxed), 2);
            in_flight.release();
        }
        for end in ends {
            end.join().expect("no panic");
        }
        assert_eq!(in_flight.count(), 0);
    });
}

/// A burden and a forgetting at once: what is left is one of both, never a mixture.
#[test]
fn a_failure_is_not_half_forgotten() {
    loom::model(|| {
        let in_flight = Arc::new(InFlight::default());
        in_flight.burden(Nanos(0), DECAY);
        let later = Nanos::from_secs(10_000);
        let tidy = {
            let in_flight = Arc::clone(&in_flight);
            thread::spawn(move || in_flight.tidy(later, DECAY))
        };
        in_flight.burden(later, DECAY);
        tidy.join().expect("no panic");
        assert_eq!(in_flight.load(later, DECAY).penalty, 256);
    });
}

/// A reader sees whole versions, never an older one after a newer one, and after `publish` returned
/// the new one.
#[test]
fn versions_are_whole_and_go_forward() {
    loom::model(|| {
        let published = Arc::new(Published::new(Arc::new((0, 0))));
        let writer = {
            let published = Arc::clone(&published);
            thread::spawn(move || {
                published.publish(Arc::new((1, 1)));
                published.publish(Arc::new((2, 2)));
            })
        };
        let mut reader = Reader::new(Arc::clone(&published));
        let first = **reader.get();
        let second = **reader.get();
        assert!(first.0 == first.1 && second.0 == second.1);
        assert!(first.0 <= second.0, "{first:?} then {second:?}");
        writer.join().expect("no panic");
        assert_eq!(**reader.get(), (2, 2));
        assert!(!reader.refresh());
    });
}

/// Two answers at once: the slower one is never lost to the faster one.
#[test]
fn a_peak_outlives_a_race() {
    loom::model(|| {
        let latency = Arc::new(PeakEwma::default());
        let slow = {
            let latency = Arc::clone(&latency);
            thread::spawn(move || latency.observe(Nanos::from_millis(80), Nanos(0), DECAY))
        };
        latency.observe(Nanos::from_millis(10), Nanos(0), DECAY);
        slow.join().expect("no panic");
        assert_eq!(latency.last(), Some(Nanos::from_millis(80)));
    });
}

/// A request may begin on one worker and end on another: what is added up is right once all is quiet.
#[test]
fn all_requests_add_up() {
    loom::model(|| {
        let total = Arc::new(Total::default());
        total.begin(0);
        let other = {
            let total = Arc::clone(&total);
            thread::spawn(move || {
                total.begin(1);
                total.end(0);
            })
        };
        assert!(total.sum() <= 2);
        other.join().expect("no panic");
        assert_eq!(total.sum(), 1);
    });
}

/// A room, and an endpoint whose only slot is taken.
fn full() -> (Arc<WaitingRoom>, Arc<EndpointState>) {
    let state = Arc::new(EndpointState::new(Serial(1)));
    assert!(state.in_flight().acquire(1));
    let room = WaitingRoom::new(QueuePolicy {
        size: 2,
        timeout: DECAY,
    });
    room.open(Doors::of_slots(&[Arc::clone(&state)]));
    (Arc::new(room), state)
}

fn wait(room: &Arc<WaitingRoom>) -> Waiting {
    let (ask, now) = (Ask::default(), Nanos(0));
    let waiting = room.enter(ask, Priority::Default, DECAY, now);
    waiting.expect("there is a place")
}

fn has_slot(waiting: &mut Waiting) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    match waiting.poll(&mut cx) {
        Poll::Ready(slot) => {
            // Kept, so that it is not handed on.
            slot.expect("nobody gave way").become_lease();
            true
        }
        Poll::Pending => false,
    }
}

/// A request ends while another one begins to wait: either the second look finds the slot, or it is
/// handed over. It is never free while somebody waits.
#[test]
fn who_waits_gets_the_slot_that_ends() {
    loom::model(|| {
        let (room, state) = full();
        let holder = {
            let (room, state) = (Arc::clone(&room), Arc::clone(&state));
            thread::spawn(move || room.release(&state))
        };
        let mut waiting = wait(&room);
        let found = state.in_flight().acquire(1);
        holder.join().expect("no panic");
        assert_ne!(found, has_slot(&mut waiting), "one of both ways, once");
        drop(waiting);
        assert_eq!((state.in_flight().count(), room.len()), (1, 0));
    });
}

/// The first in line leaves just when it is given a slot: that goes to the next one.
#[test]
fn a_slot_of_one_who_left_goes_to_the_next() {
    loom::model(|| {
        let (room, state) = full();
        let (first, mut second) = (wait(&room), wait(&room));
        let leaves = thread::spawn(move || drop(first));
        room.release(&state);
        leaves.join().expect("no panic");
        assert!(has_slot(&mut second), "nobody told the second one");
        drop(second);
        assert_eq!((state.in_flight().count(), room.len()), (1, 0));
    });
}

/// A newcomer and one who waits want the slot that ends: one of them has it, and it is not lost.
#[test]
fn a_newcomer_takes_no_slot_twice() {
    loom::model(|| {
        let (room, state) = full();
        let mut waiting = wait(&room);
        let newcomer = {
            let state = Arc::clone(&state);
            thread::spawn(move || state.in_flight().acquire(1))
        };
        room.release(&state);
        let taken = newcomer.join().expect("no panic");
        assert!(
            !taken && has_slot(&mut waiting),
            "it was handed over, and never free"
        );
        drop(waiting);
        assert_eq!(state.in_flight().count(), 1);
    });
}
