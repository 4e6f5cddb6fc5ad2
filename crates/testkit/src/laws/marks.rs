//! Levels below the cap, from which on an endpoint is left alone while others are less busy.

use evenkeel_core::{Lease, Membership, NoEndpoint, Outcome, PickContext, Snapshot, Watermarks};

use super::cluster::{NOW, Run, endpoint};
use super::{Law, Subject, Traits, Verdict, ensure, nobody};

/// An endpoint at its `stop` is left alone.
pub const BUSY_ENDPOINTS_ARE_LEFT_ALONE: Law = Law {
    name: "busy_endpoints_are_left_alone",
    says: "an endpoint with as many requests in flight as `stop` says takes no other one before it is down \
           at `resume`, as long as another one is below; when all are above, the least loaded takes them, up \
           to the cap",
    exempt: if_keyed,
    holds: busy_endpoints_are_left_alone,
};

/// A key stays up to the cap.
pub const A_KEY_STAYS_UP_TO_THE_CAP: Law = Law {
    name: "a_key_stays_up_to_the_cap",
    says: "requests of one key stay together up to the cap of their endpoint, whatever `stop` says, and go on \
           elsewhere then",
    exempt: super::unless_keyed,
    holds: a_key_stays_up_to_the_cap,
};

/// The laws above hold for a cluster with such levels as they do for one without.
pub const SLOTS_ARE_FOUND_IN_ANY_TIER: Law = Law {
    name: "slots_are_found_in_any_tier",
    says: "with levels below the caps, all slots of all tiers are found, those of the first tier first",
    exempt: nobody,
    holds: slots_are_found_in_any_tier,
};

fn if_keyed(traits: Traits) -> Option<&'static str> {
    traits
        .keyed
        .then_some("a key stays up to the cap: see a_key_stays_up_to_the_cap")
}

const CAP: u32 = 10;
const STOP: u32 = 6;
const RESUME: u32 = 4;

fn marked(subject: &Subject, size: usize, tiers: u8) -> Snapshot {
    let mut members = Membership::new("marks", subject.strategy());
    for at in 0..size {
        let tier = (at % usize::from(tiers)) as u8;
        members.upsert(endpoint(at, 1).with_capacity(CAP).with_tier(tier));
    }
    members.set_watermarks(Watermarks::new(0.6, 0.4));
    members.snapshot()
}

fn busy_endpoints_are_left_alone(subject: &Subject) -> Verdict {
    for size in [2, 5, 40] {
        let snapshot = marked(subject, size, 1);
        let mut run = Run::new(71, 0);
        let mut held: Vec<Lease<'_>> = Vec::new();
        // Below `stop` everywhere: nobody passes it.
        for _ in 0..size * STOP as usize {
            held.push(run.hold(&snapshot)?);
        }
        ensure!(
            loads(&snapshot).all(|count| count == STOP),
            "someone passed `stop` early"
        );
        // One goes down, but not to `resume`: all are above, so the least loaded takes it.
        let down = size / 2;
        free(&mut held, down, STOP - RESUME - 1);
        held.push(run.hold(&snapshot)?);
        ensure!(
            count(&snapshot, down) == RESUME + 2,
            "the least loaded did not take it"
        );
        // Down at `resume` it takes all, up to `stop`.
        free(&mut held, down, 2);
        for _ in 0..STOP - RESUME {
            held.push(run.hold(&snapshot)?);
        }
        ensure!(
            loads(&snapshot).all(|count| count == STOP),
            "others took what it should have"
        );
        // Above `stop` everywhere: the least loaded, within one of each other, up to the cap.
        for more in 1..=size * (CAP - STOP) as usize {
            held.push(run.hold(&snapshot)?);
            let (least, most) = (loads(&snapshot).min(), loads(&snapshot).max());
            ensure!(
                most <= least.map(|least| least + 1),
                "{least:?} to {most:?} after {more} more"
            );
        }
        refused(&mut run, &snapshot)?;
    }
    Ok(())
}

fn refused(run: &mut Run, snapshot: &Snapshot) -> Verdict {
    let ctx = run.next_context();
    let refused = run.picker().pick(snapshot, &ctx).err();
    ensure!(
        refused == Some(NoEndpoint::AllFull),
        "{refused:?} when all are full"
    );
    Ok(())
}

fn loads(snapshot: &Snapshot) -> impl Iterator<Item = u32> {
    let candidates = snapshot.candidates().iter();
    candidates.map(|candidate| candidate.state().in_flight().count())
}

fn count(snapshot: &Snapshot, at: usize) -> u32 {
    snapshot.candidates()[at].state().in_flight().count()
}

fn free(held: &mut Vec<Lease<'_>>, at: usize, requests: u32) {
    for _ in 0..requests {
        let lease = held.iter().position(|lease| lease.index() == at);
        let lease = lease.map(|lease| held.swap_remove(lease));
        lease
            .into_iter()
            .for_each(|lease| lease.finish(Outcome::Success, NOW));
    }
}

fn a_key_stays_up_to_the_cap(subject: &Subject) -> Verdict {
    let snapshot = marked(subject, 7, 1);
    let mut run = Run::new(72, 0);
    for key in 0..50u64 {
        let ctx = PickContext::at(NOW).with_key(key.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut held = Vec::new();
        for _ in 0..CAP {
            let lease = run.picker().pick(&snapshot, &ctx);
            held.push(lease.map_err(|error| error.to_string())?);
        }
        let home = held[0].index();
        ensure!(
            held.iter().all(|lease| lease.index() == home),
            "key {key} left its endpoint"
        );
        let next = run.picker().pick(&snapshot, &ctx);
        let next = next.map_err(|error| error.to_string())?;
        ensure!(next.index() != home, "key {key} passed the cap");
    }
    Ok(())
}

fn slots_are_found_in_any_tier(subject: &Subject) -> Verdict {
    let snapshot = marked(subject, 12, 3);
    let mut run = Run::new(73, 0);
    let mut held = Vec::new();
    for slot in 0..12 * CAP {
        let lease = run.hold(&snapshot)?;
        let (tier, due) = (lease.index() % 3, (slot / (4 * CAP)) as usize);
        ensure!(
            tier == due,
            "slot {slot} is in tier {tier} instead of {due}"
        );
        held.push(lease);
    }
    refused(&mut run, &snapshot)
}
