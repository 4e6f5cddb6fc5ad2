//! Caps on requests in flight.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use evenkeel_core::{Endpoint, Fallback, Membership, NoEndpoint, Outcome, Snapshot};

use super::cluster::{NOW, Run, id};
use super::{Law, Subject, Verdict, ensure, nobody};

/// Caps are exact.
pub const CAPS_ARE_EXACT: Law = Law {
    name: "caps_are_exact",
    says: "with many threads at once no endpoint ever has more requests than its cap, and nobody is \
           refused while a slot is free somewhere",
    exempt: nobody,
    holds: caps_are_exact,
};

const CAP: u32 = 3;
const THREADS: u32 = 8;
const PICKS: usize = 3_000;

fn caps_are_exact(subject: &Subject) -> Verdict {
    in_turn(subject)?;
    // Three endpoints have nine slots for eight threads: a slot is always free. Two have six.
    for size in [3, 2] {
        let snapshot = capped(subject, size);
        let broken = AtomicBool::new(false);
        let threads = thread::scope(|scope| {
            let run = |picker| {
                let (snapshot, broken) = (&snapshot, &broken);
                scope.spawn(move || contend(snapshot, picker, size == 3, broken))
            };
            let threads: Vec<_> = (0..THREADS).map(run).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Verdict>| thread.join();
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        for thread in threads {
            thread.map_err(|_| "a thread panics".to_owned())??;
        }
        for candidate in snapshot.candidates() {
            let left = candidate.state().in_flight().count();
            ensure!(left == 0, "{left} requests are left in flight");
        }
    }
    Ok(())
}

fn capped(subject: &Subject, size: usize) -> Snapshot {
    let mut members = Membership::new("caps", subject.strategy());
    for at in 0..size {
        members.upsert(Endpoint::new(id(at), "10.0.0.1:1").with_capacity(CAP));
    }
    members.snapshot()
}

/// One thread: every slot is found, the next pick fails, and a slot that opens is found again.
fn in_turn(subject: &Subject) -> Verdict {
    for size in [3, 100] {
        let snapshot = capped(subject, size);
        let mut run = Run::new(44, 0);
        let mut held = Vec::new();
        for _ in 0..size * CAP as usize {
            held.push(run.hold(&snapshot)?);
        }
        let ctx = run.next_context();
        let refused = run.picker().pick(&snapshot, &ctx).err();
        ensure!(
            refused == Some(NoEndpoint::AllFull),
            "{refused:?} when all are full"
        );
        let opened = held.swap_remove(size / 2).index();
        let lease = run.hold(&snapshot)?;
        ensure!(lease.index() == opened, "a slot opened elsewhere");
        ensure!(
            lease.fallback() != Some(Fallback::Tier),
            "{:?} in a single tier",
            lease.fallback()
        );
    }
    Ok(())
}

fn contend(snapshot: &Snapshot, picker: u32, is_enough: bool, broken: &AtomicBool) -> Verdict {
    let mut run = Run::new(33, picker);
    for pick in 0..PICKS {
        if broken.load(Ordering::Relaxed) {
            break;
        }
        let ctx = run.next_context();
        let lease = match run.picker().pick(snapshot, &ctx) {
            Ok(lease) => lease,
            Err(NoEndpoint::AllFull) if !is_enough => continue,
            Err(error) => {
                broken.store(true, Ordering::Relaxed);
                return Err(format!("{error}, but there are more slots than threads"));
            }
        };
        let count = lease.state().in_flight().count();
        if count > CAP {
            broken.store(true, Ordering::Relaxed);
            return Err(format!("{count} requests are in flight, the cap is {CAP}"));
        }
        if pick % 7 == 0 {
            thread::yield_now();
        }
        lease.finish(Outcome::Success, NOW);
    }
    Ok(())
}
