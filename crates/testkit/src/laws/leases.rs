//! Requests in flight.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use evenkeel_core::{Outcome, Snapshot};

use super::cluster::{NOW, Run, cluster, endpoint, id};
use super::{Law, Subject, Verdict, ensure, nobody};

/// Every request in flight ends.
pub const LEASES_COME_BACK: Law = Law {
    name: "leases_come_back",
    says: "a request counts in flight from the choice on, and no more once it is finished, dropped, or \
           its caller panics; a count outlives removal and return",
    exempt: nobody,
    holds: leases_come_back,
};

fn in_flight(snapshot: &Snapshot) -> u32 {
    let states = snapshot.candidates().iter().map(|one| one.state());
    states.map(|state| state.in_flight().count()).sum()
}

fn leases_come_back(subject: &Subject) -> Verdict {
    let snapshot = cluster(subject, &[3, 2, 1]).snapshot();
    let mut run = Run::new(71, 0);
    let mut held = Vec::new();
    for expected in 1..=90 {
        held.push(run.hold(&snapshot)?);
        ensure!(
            in_flight(&snapshot) == expected,
            "a choice does not count at once"
        );
    }
    for (at, lease) in held.into_iter().enumerate() {
        match at % 5 {
            0 => lease.finish(Outcome::Success, NOW),
            1 => lease.finish(Outcome::Failure, NOW),
            2 => lease.finish(Outcome::Cancelled, NOW),
            3 => drop(lease),
            _ => {
                // Without the panic hook: nobody should read about it.
                let panics = catch_unwind(AssertUnwindSafe(|| {
                    let _lease = lease;
                    resume_unwind(Box::new("the caller's own fault"))
                }));
                ensure!(panics.is_err(), "a panic is lost");
            }
        }
    }
    let left = in_flight(&snapshot);
    ensure!(left == 0, "{left} of 90 requests are left in flight");
    blame(subject)?;
    removal_and_return(subject)
}

/// Only a failure weighs on an endpoint: who goes away blames nobody.
fn blame(subject: &Subject) -> Verdict {
    let snapshot = cluster(subject, &[1]).snapshot();
    let mut run = Run::new(73, 0);
    let half_life = snapshot.failure_half_life();
    let in_flight = snapshot.candidates()[0].state().in_flight();
    drop(run.hold(&snapshot)?);
    for (outcome, expected) in [
        (Outcome::Cancelled, 0),
        (Outcome::Success, 0),
        (Outcome::Failure, 256),
    ] {
        run.hold(&snapshot)?.finish(outcome, NOW);
        let penalty = in_flight.load(NOW, half_life).penalty;
        ensure!(
            penalty == expected,
            "{outcome:?} weighs {penalty}/256 of a request"
        );
    }
    Ok(())
}

fn removal_and_return(subject: &Subject) -> Verdict {
    let mut members = cluster(subject, &[1, 1]);
    let before = members.snapshot();
    let mut run = Run::new(72, 0);
    let held: Vec<_> = (0..8)
        .map(|_| run.hold(&before))
        .collect::<Result<_, _>>()?;
    let expected = in_flight(&before);
    members.remove(&id(0)).map_err(|error| error.to_string())?;
    let alone = run.pick(&members.snapshot())?;
    ensure!(alone == 0, "a removed endpoint is chosen");
    members.upsert(endpoint(0, 1));
    let after = members.snapshot();
    let kept = in_flight(&after);
    ensure!(
        kept == expected,
        "{kept} of {expected} requests count after a return"
    );
    drop(held);
    let left = in_flight(&after);
    ensure!(
        left == 0,
        "{left} requests are left in flight after a return"
    );
    Ok(())
}
