//! Every order in which threads can meet, for what they share: run by `cargo xtask test --only loom`.
//!
//! The models are small on purpose: loom tries all interleavings and all values that the memory model
//! lets a load see, and each operation more multiplies them.

use loom::thread;
use std::sync::Arc;

use crate::clock::Nanos;
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
