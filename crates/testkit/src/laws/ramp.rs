//! Endpoints that warm up.

use super::cluster::{Run, cluster, endpoint, id, shares};
use super::shares::cycle;
use super::statistics::five_sigma;
use super::{Law, Subject, Verdict, ensure, nobody};

/// An endpoint that warms up never gets more than its ramp allows.
pub const SHARE_STAYS_BELOW_ITS_RAMP: Law = Law {
    name: "share_stays_below_its_ramp",
    says: "an endpoint whose weight is scaled down gets no more than the scaled weight's share, when \
           it is idle beside busy ones too (cases A10, A23)",
    exempt: nobody,
    holds: share_stays_below_its_ramp,
};

fn share_stays_below_its_ramp(subject: &Subject) -> Verdict {
    for (size, weight) in [(4, 1), (11, 100), (60, 1)] {
        for factor in [1, 26, 64, 128, 255] {
            steady(subject, size, weight, factor)?;
        }
    }
    if subject.traits().load_aware {
        burst(subject)?;
    }
    Ok(())
}

fn steady(subject: &Subject, size: usize, weight: u16, factor: u16) -> Verdict {
    let weights = vec![weight; size];
    let mut members = cluster(subject, &weights);
    members
        .set_factor(&id(size / 2), factor)
        .map_err(|error| error.to_string())?;
    let mut shares: Vec<f64> = shares(subject, &weights);
    for (at, share) in shares.iter_mut().enumerate() {
        *share *= f64::from(if at == size / 2 { factor } else { 256 });
    }
    let (picks, chance) = if subject.traits().exact {
        (cycle(&shares).iter().sum(), 0.0)
    } else {
        let share = shares[size / 2] / shares.iter().sum::<f64>();
        let uneven = f64::from(subject.traits().uneven_percent) / 100.0;
        let chance = five_sigma(10_000, share) + 10_000.0 * share * uneven;
        (10_000, chance)
    };
    let ideal = picks as f64 * shares[size / 2] / shares.iter().sum::<f64>();
    let count = Run::new(21, 0).count(&members.snapshot(), picks)?[size / 2];
    ensure!(
        count as f64 <= ideal.round() + chance,
        "{count} of {picks} picks at {factor}/256, {ideal:.1} are due"
    );
    Ok(())
}

/// Case A23: four with ten requests in flight each and a cold one; of a burst of forty it gets no
/// more than eight.
fn burst(subject: &Subject) -> Verdict {
    let mut members = cluster(subject, &[1; 4]);
    let before = members.snapshot();
    let mut run = Run::new(23, 0);
    let mut held = Vec::new();
    while held.len() < 40 {
        held.push(run.hold(&before)?);
    }
    members.upsert(endpoint(4, 1));
    members
        .set_factor(&id(4), 26)
        .map_err(|error| error.to_string())?;
    let after = members.snapshot();
    let _burst: Vec<_> = (0..40)
        .map(|_| run.hold(&after))
        .collect::<Result<_, _>>()?;
    let cold = after.candidates()[4].state().in_flight().count();
    ensure!(cold <= 8, "a cold endpoint gets {cold} of a burst of 40");
    Ok(())
}
