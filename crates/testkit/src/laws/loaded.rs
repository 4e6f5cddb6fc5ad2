//! Shares on a busy cluster.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_core::{Lease, Nanos, Outcome, PickContext, Picker, PickerSeed, Rng, Snapshot};

use super::cluster::{cluster, endpoint, id};
use super::{Law, Subject, Verdict, ensure, unless_load_aware};

/// Under load the share follows the weight.
pub const SHARES_UNDER_LOAD: Law = Law {
    name: "shares_under_load",
    says: "at equal latencies, with ten requests in flight for each endpoint, shares follow weights of \
           one to three or four within a tenth",
    exempt: unless_load_aware,
    holds: shares_under_load,
};

/// A new endpoint is not flooded.
pub const A_COLD_ENDPOINT_GETS_ITS_SHARE: Law = Law {
    name: "a_cold_endpoint_gets_its_share",
    says: "an endpoint that joins a busy cluster gets something, and no more than its fair share of the \
           requests in flight before it has answered (case A19)",
    exempt: unless_load_aware,
    holds: a_cold_endpoint_gets_its_share,
};

const ANSWER_MS: u64 = 50;
const JOINS_MS: u64 = 2_000;

/// Clients that each send the next request when the last one is answered.
struct Load {
    picker: Picker,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Nothing but chance for the times of answers, so that clients do not go in step.
    chance: Rng,
}

impl Load {
    fn new(clients: usize) -> Self {
        let start = |client| Reverse((client as u64 % ANSWER_MS, client));
        Self {
            picker: Picker::new(PickerSeed { root: 9, picker: 0 }),
            due: (0..clients).map(start).collect(),
            chance: Rng::new(97),
        }
    }

    /// Runs until `end`, and counts picks from `from` on. The endpoint at `silent` never answers.
    fn run<'s>(
        &mut self,
        snapshot: &'s Snapshot,
        leases: &mut [Option<Lease<'s>>],
        (from, end): (u64, u64),
        silent: Option<usize>,
    ) -> Result<Vec<u64>, String> {
        let mut counts = vec![0; snapshot.endpoints().len()];
        while let Some(Reverse((ms, client))) = self.due.pop() {
            if ms > end {
                self.due.push(Reverse((ms, client)));
                break;
            }
            let now = Nanos::from_millis(ms);
            if let Some(lease) = leases[client].take() {
                lease.finish(Outcome::Success, now);
            }
            let ctx = PickContext::at(now).with_key(self.chance.next_u64());
            let lease = self.picker.pick(snapshot, &ctx);
            let lease = lease.map_err(|error| format!("a pick fails: {error}"))?;
            let index = lease.index();
            counts[index] += u64::from(ms >= from);
            leases[client] = Some(lease);
            if silent != Some(index) {
                let takes = ANSWER_MS * 9 / 10 + self.chance.next_u64() % (ANSWER_MS / 5 + 1);
                self.due.push(Reverse((ms + takes, client)));
            }
        }
        Ok(counts)
    }
}

fn shares_under_load(subject: &Subject) -> Verdict {
    for weights in [
        vec![1, 1, 1],
        vec![1, 2, 3],
        vec![3, 1, 1, 2],
        vec![1; 20],
        (0..20).map(|at| 1 + at % 4).collect(),
        (0..60).map(|at| 1 + at % 3).collect(),
    ] {
        let snapshot = cluster(subject, &weights).snapshot();
        let clients = 10 * weights.len();
        let mut leases: Vec<_> = (0..clients).map(|_| None).collect();
        let times = (5_000, 65_000);
        let counts = Load::new(clients).run(&snapshot, &mut leases, times, None)?;
        let (picks, total): (u64, u64) = (
            counts.iter().sum(),
            weights.iter().map(|weight| u64::from(*weight)).sum(),
        );
        // Endpoints of a weight are alike: chance between them says nothing about the weight.
        for weight in 1..=5u16 {
            let alike = || {
                weights
                    .iter()
                    .zip(&counts)
                    .filter(|(its, _)| **its == weight)
            };
            let count: u64 = alike().map(|(_, count)| count).sum();
            let due = picks as f64 * f64::from(weight) * alike().count() as f64 / total as f64;
            ensure!(
                (count as f64 - due).abs() <= due / 10.0,
                "{count} picks of those of weight {weight}, {due:.0} are due: {counts:?} of {weights:?}"
            );
        }
    }
    Ok(())
}

fn a_cold_endpoint_gets_its_share(subject: &Subject) -> Verdict {
    for size in [4, 20] {
        let mut members = cluster(subject, &vec![1; size]);
        let before = members.snapshot();
        members.upsert(endpoint(size, 1));
        let after = members.snapshot();
        let cold = after
            .endpoints()
            .iter()
            .position(|one| one.id() == id(size));
        let cold = cold.ok_or("the endpoint that joins is lost")?;
        let clients = 10 * size;
        let mut load = Load::new(clients);
        let mut leases: Vec<_> = (0..clients).map(|_| None).collect();
        load.run(&before, &mut leases, (0, JOINS_MS), None)?;
        load.run(&after, &mut leases, (0, JOINS_MS + ANSWER_MS), Some(cold))?;
        let fair = clients as f64 / (size + 1) as f64;
        let count = f64::from(after.candidates()[cold].state().in_flight().count());
        ensure!(
            count >= 1.0 && count <= fair * 1.2 + 1.0,
            "{count} requests in flight at a cold endpoint, {fair:.1} are fair"
        );
    }
    Ok(())
}
