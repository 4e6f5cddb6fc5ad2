//! Retries.

use evenkeel_core::NoEndpoint;

use super::cluster::{Run, cluster};
use super::{Law, Subject, Verdict, ensure, nobody};

/// A request visits every endpoint, each once.
pub const EACH_IS_TRIED_ONCE: Law = Law {
    name: "each_is_tried_once",
    says: "a request that is tried again and again visits every endpoint, each once, and then hears \
           that all have been tried",
    exempt: nobody,
    holds: each_is_tried_once,
};

fn each_is_tried_once(subject: &Subject) -> Verdict {
    for size in 1..=8 {
        let weights: Vec<u16> = (0..size).map(|at| [1, 50, 1_000][at % 3]).collect();
        let snapshot = cluster(subject, &weights).snapshot();
        for root in 0..50 {
            let mut run = Run::new(root, 0);
            let mut ctx = run.next_context();
            let mut visited = vec![false; size];
            for _ in 0..size {
                let lease = run.picker().pick(&snapshot, &ctx);
                let lease = lease.map_err(|error| format!("{error}, but only {visited:?} were"))?;
                let seen = std::mem::replace(&mut visited[lease.index()], true);
                ensure!(
                    !seen,
                    "endpoint {} was tried twice of {size}",
                    lease.index()
                );
                ctx.attempts.push(lease.state().serial());
            }
            let after = run.picker().pick(&snapshot, &ctx).err();
            ensure!(
                after == Some(NoEndpoint::AllTried),
                "{after:?} after all {size} had been tried"
            );
        }
    }
    Ok(())
}
