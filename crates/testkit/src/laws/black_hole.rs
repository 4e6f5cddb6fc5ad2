//! Failures.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_core::{Lease, Nanos, Outcome, PickContext, Picker, PickerSeed};

use super::cluster::cluster;
use super::{Law, Subject, Verdict, ensure, unless_load_aware};

/// An endpoint that fails fast does not draw the requests.
pub const FAILURES_WEIGH: Law = Law {
    name: "failures_weigh",
    says: "an endpoint that fails at once, beside others that take their time, gets under a tenth of \
           the requests of a strategy that looks at load (case A20)",
    exempt: unless_load_aware,
    holds: failures_weigh,
};

const CLIENTS: u64 = 30;
const ANSWER_MS: u64 = 50;
const FAILURE_MS: u64 = 1;
const END_MS: u64 = 10_000;
const SETTLED_MS: u64 = 2_000;

/// Clients that each send the next request when the last one is answered. The last endpoint fails.
fn failures_weigh(subject: &Subject) -> Verdict {
    for size in [3, 30] {
        let share = share_of_failing(subject, size)?;
        let fair = 1.0 / size as f64;
        let bound = if size == 3 { 0.1 } else { fair };
        ensure!(
            share < bound,
            "one of {size} that fails in a millisecond gets {share:.3} of the requests"
        );
    }
    Ok(())
}

fn share_of_failing(subject: &Subject, size: usize) -> Result<f64, String> {
    let snapshot = cluster(subject, &vec![1; size]).snapshot();
    let mut picker = Picker::new(PickerSeed { root: 5, picker: 0 });
    let clients = CLIENTS * size as u64 / 3;
    let mut due: BinaryHeap<_> = (0..clients)
        .map(|client| Reverse((client, client)))
        .collect();
    let mut leases: Vec<Option<Lease<'_>>> = (0..clients).map(|_| None).collect();
    let (mut failed, mut all) = (0, 0);
    while let Some(Reverse((ms, client))) = due.pop() {
        let now = Nanos::from_millis(ms);
        if ms > END_MS {
            break;
        }
        let slot = &mut leases[client as usize];
        if let Some(lease) = slot.take() {
            let fails = lease.index() == size - 1;
            let outcome = if fails {
                Outcome::Failure
            } else {
                Outcome::Success
            };
            lease.finish(outcome, now);
        }
        let ctx = PickContext::at(now).with_key(ms ^ client << 32);
        let lease = picker.pick(&snapshot, &ctx);
        let lease = lease.map_err(|error| format!("a pick fails: {error}"))?;
        let fails = lease.index() == size - 1;
        if ms >= SETTLED_MS {
            all += 1;
            failed += u64::from(fails);
        }
        let takes = if fails { FAILURE_MS } else { ANSWER_MS };
        *slot = Some(lease);
        due.push(Reverse((ms + takes, client)));
    }
    Ok(failed as f64 / f64::from(all))
}
