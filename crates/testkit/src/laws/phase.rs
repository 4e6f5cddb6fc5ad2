//! Where pickers are in their schedules.

use super::cluster::{Run, cluster, id, shares};
use super::statistics::five_sigma;
use super::{Law, Subject, Verdict, ensure, if_latency_decides, nobody};

/// A new generation does not start the schedule anew.
pub const REBUILD_KEEPS_THE_PHASE: Law = Law {
    name: "rebuild_keeps_the_phase",
    says: "with an unchanged rebuild after every pick the choices are the very same (case A01), also \
           when another picker's endpoints shrink to one and grow again",
    exempt: nobody,
    holds: rebuild_keeps_the_phase,
};

/// Weights that change all the time still give shares that follow them.
pub const CHANGES_KEEP_SHARES: Law = Law {
    name: "changes_keep_shares",
    says: "while one weight changes after every pick, the others keep their shares",
    exempt: if_latency_decides,
    holds: changes_keep_shares,
};

/// Fresh pickers do not all start with the same endpoint.
pub const FRESH_PICKERS_ARE_OUT_OF_STEP: Law = Law {
    name: "fresh_pickers_are_out_of_step",
    says: "the first picks of fresh pickers follow the weights, over processes and over the workers \
           of one (cases A01, A02, A03)",
    exempt: if_latency_decides,
    holds: fresh_pickers_are_out_of_step,
};

fn weight_lists() -> [Vec<u16>; 6] {
    [
        vec![1, 1, 1],
        vec![100, 10],
        vec![5, 1, 1, 1, 1],
        vec![21, 11, 0, 7],
        vec![65_535, 30_000, 7, 1_001],
        (0..60).map(|at| 1 + at * 37 % 100).collect(),
    ]
}

fn rebuild_keeps_the_phase(subject: &Subject) -> Verdict {
    for weights in weight_lists() {
        // A cluster for each: what one learns of latencies is not the other's.
        let snapshot = cluster(subject, &weights).snapshot();
        let mut members = cluster(subject, &weights);
        let (mut steady, mut rebuilt) = (Run::new(1, 5), Run::new(1, 5));
        for picks in 0..500 {
            let expected = steady.pick(&snapshot)?;
            let got = rebuilt.pick(&members.snapshot())?;
            ensure!(
                got == expected,
                "after {picks} rebuilds {got} instead of {expected} of {weights:?}"
            );
        }
    }
    Ok(())
}

/// Half a thousand changes of a light endpoint's weight between 1 and 4 times as much.
fn changes_keep_shares(subject: &Subject) -> Verdict {
    const PICKS: u64 = 8_000;
    let weights = [100, 60, 40, 10];
    let mut members = cluster(subject, &weights);
    let mut run = Run::new(10, 0);
    let mut counts = [0; 4];
    for pick in 0..PICKS {
        let changed = 10 + (pick * 7 % 31) as u16;
        members
            .set_weight(&id(3), changed)
            .map_err(|error| error.to_string())?;
        counts[run.pick(&members.snapshot())?] += 1;
    }
    let shares = shares(subject, &[100, 60, 40, 25]);
    let total: f64 = shares.iter().sum();
    for (count, share) in counts.iter().zip(&shares) {
        let ideal = PICKS as f64 * share / total;
        let off = (*count as f64 - ideal).abs();
        let uneven = f64::from(subject.traits().uneven_percent) / 100.0;
        let bound = five_sigma(PICKS, share / total) + ideal * uneven;
        ensure!(off <= bound, "{counts:?} where the shares are {shares:?}");
    }
    Ok(())
}

fn fresh_pickers_are_out_of_step(subject: &Subject) -> Verdict {
    for weights in weight_lists() {
        if !subject.resolves(&weights) {
            continue;
        }
        let shares = shares(subject, &weights);
        let of_processes = first_picks(subject, &weights, |at| Run::new(at * 7 + 1, 0))?;
        subject.fits(&of_processes, &shares)?;
        let of_workers = first_picks(subject, &weights, |at| Run::new(31, at as u32))?;
        subject.fits(&of_workers, &shares)?;
    }
    workers_are_spread(subject)
}

/// The workers of one process are spread on purpose, not by chance. That is proven for equal weights
/// only; uneven ones are left to the chi-square test.
fn workers_are_spread(subject: &Subject) -> Verdict {
    if !subject.traits().exact {
        return Ok(());
    }
    let snapshot = cluster(subject, &[1; 8]).snapshot();
    let mut counts = [0u64; 8];
    for picker in 0..64 {
        counts[Run::new(32, picker).pick(&snapshot)?] += 1;
    }
    let even = counts.iter().all(|count| (7..=9).contains(count));
    ensure!(even, "64 workers start with {counts:?}");
    Ok(())
}

fn first_picks(
    subject: &Subject,
    weights: &[u16],
    fresh: impl Fn(u64) -> Run,
) -> Result<Vec<u64>, String> {
    let snapshot = cluster(subject, weights).snapshot();
    let mut counts = vec![0; weights.len()];
    for at in 0..2_000 {
        counts[fresh(at).pick(&snapshot)?] += 1;
    }
    Ok(counts)
}
