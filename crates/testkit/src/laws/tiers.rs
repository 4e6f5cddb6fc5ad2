//! Tiers and panic.

use evenkeel_core::{Fallback, Membership, NoEndpoint, PanicThreshold};

use super::cluster::{Run, endpoint, id};
use super::{Law, Subject, Verdict, ensure, fits, nobody};

/// Tiers share the load by their health.
pub const TIERS_SHARE_BY_HEALTH: Law = Law {
    name: "tiers_share_by_health",
    says: "the first tier takes all as long as it is healthy and spills over as it fails; when few \
           are healthy all are used, unless that is turned off",
    exempt: nobody,
    holds: tiers_share_by_health,
};

/// `first` endpoints in tier 0 and `second` in tier 1; the first `failed` of tier 0 are unhealthy.
fn tiers(
    subject: &Subject,
    first: usize,
    second: usize,
    failed: usize,
) -> Result<Membership, String> {
    let mut members = Membership::new("tiers", subject.strategy());
    for at in 0..first + second {
        members.upsert(endpoint(at, 1).with_tier(u8::from(at >= first)));
    }
    for at in 0..failed {
        members
            .set_healthy(&id(at), false)
            .map_err(|error| error.to_string())?;
    }
    Ok(members)
}

fn tiers_share_by_health(subject: &Subject) -> Verdict {
    // Failed of four in tier 0, and what tier 0 gets of a hundred: 140 percent of its healthy part,
    // as Envoy's priority levels have it.
    for (failed, percent) in [(0, 100.0), (1, 100.0), (2, 70.0), (3, 35.0), (4, 0.0)] {
        let snapshot = tiers(subject, 4, 4, failed)?.snapshot();
        let counts = Run::new(56, 0).count(&snapshot, 10_000)?;
        let (first, second) = counts.split_at(4);
        fits(
            &[first.iter().sum(), second.iter().sum()],
            &[percent, 100.0 - percent],
        )?;
        let used: u64 = first[..failed].iter().sum();
        ensure!(
            used == 0,
            "{used} picks of unhealthy endpoints, all is covered"
        );
    }
    panic(subject)
}

fn panic(subject: &Subject) -> Verdict {
    let mut members = tiers(subject, 4, 0, 3)?;
    let mut run = Run::new(57, 0);
    let counts = run.count(&members.snapshot(), 4_000)?;
    subject.fits(&counts, &[1.0; 4])?;
    let snapshot = members.snapshot();
    let fallback = run.hold(&snapshot)?.fallback();
    ensure!(fallback == Some(Fallback::Panic), "{fallback:?} in panic");
    members.set_panic(PanicThreshold::OFF);
    let counts = run.count(&members.snapshot(), 100)?;
    ensure!(counts == [0, 0, 0, 100], "{counts:?}, one is healthy");
    members
        .set_healthy(&id(3), false)
        .map_err(|error| error.to_string())?;
    let snapshot = members.snapshot();
    let ctx = run.next_context();
    let refused = run.picker().pick(&snapshot, &ctx).err();
    ensure!(
        refused == Some(NoEndpoint::NoneHealthy),
        "{refused:?} with nobody healthy and panic off"
    );
    Ok(())
}
