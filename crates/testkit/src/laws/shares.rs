//! What each endpoint gets of the requests.

use super::cluster::{Run, cluster, endpoint, shares};
use super::{Law, Subject, Verdict, ensure, if_latency_decides, nobody};

/// Share follows weight; without weights all shares are equal.
pub const SHARE_FOLLOWS_WEIGHT: Law = Law {
    name: "share_follows_weight",
    says: "requests that come one after the other follow the weights: exactly over a cycle, or by \
           a chi-square test",
    exempt: if_latency_decides,
    holds: share_follows_weight,
};

/// What a missing endpoint would have got is spread evenly.
pub const MISSING_SHARE_IS_SPREAD_EVENLY: Law = Law {
    name: "missing_share_is_spread_evenly",
    says: "what an endpoint that is down would have got goes to all others alike, not to its \
           neighbour (case A15)",
    exempt: nobody,
    holds: missing_share_is_spread_evenly,
};

/// Small and large, even and uneven, and cycles too long to be written down.
fn weight_lists() -> Vec<Vec<u16>> {
    vec![
        vec![1],
        vec![7, 7, 7],
        vec![5, 1, 1],
        vec![3, 2],
        vec![100, 50, 10, 0],
        vec![1, 2, 3, 4, 5, 6],
        vec![65_535, 30_000, 7, 1_001],
        (0..16).map(|at| 1 + at % 5).collect(),
        (0..40).map(|at| 1 + at % 5).collect(),
        (0..300).map(|at| 1 + at * 37 % 100).collect(),
    ]
}

fn share_follows_weight(subject: &Subject) -> Verdict {
    let lists = weight_lists().into_iter();
    for (root, weights) in (1..).zip(lists.filter(|weights| subject.resolves(weights))) {
        let snapshot = cluster(subject, &weights).snapshot();
        let shares = shares(subject, &weights);
        let mut run = Run::new(root, 3);
        if subject.traits().exact {
            let cycle = cycle(&shares);
            // Some picks first: the law holds from any place on.
            run.count(&snapshot, 5 + root)?;
            let counts = run.count(&snapshot, cycle.iter().sum())?;
            ensure!(
                counts == cycle,
                "{counts:?} of a cycle that holds {cycle:?}"
            );
        } else {
            let counts = run.count(&snapshot, 60_000)?;
            subject.fits(&counts, &shares)?;
        }
    }
    Ok(())
}

/// How often each endpoint comes in a cycle.
pub(super) fn cycle(shares: &[f64]) -> Vec<u64> {
    let divisor = shares
        .iter()
        .fold(0, |divisor, share| gcd(divisor, *share as u64));
    shares.iter().map(|share| *share as u64 / divisor).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn missing_share_is_spread_evenly(subject: &Subject) -> Verdict {
    for (size, missing) in [(4, 1), (4, 3), (30, 7)] {
        let mut members = cluster(subject, &vec![1; size]);
        members
            .set_healthy(endpoint(missing, 1).id(), false)
            .map_err(|error| error.to_string())?;
        let snapshot = members.snapshot();
        let mut shares = vec![1.0; size];
        shares[missing] = 0.0;
        let counts = Run::new(15, 0).count(&snapshot, 900 * size as u64)?;
        subject.fits(&counts, &shares)?;
    }
    Ok(())
}
