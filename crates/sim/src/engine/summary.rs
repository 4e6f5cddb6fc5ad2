//! The end of a run: what it came to, and whether everything was in order.

use evenkeel_core::Nanos;

use super::{Chooser, Engine};
use crate::tally::{EndpointCounts, Tally};

impl Engine<'_> {
    /// Checks what must hold, and sums up.
    pub(super) fn end(mut self) -> Tally {
        self.count_present();
        for server in &mut self.servers {
            server.touch(self.now);
        }
        self.check();
        let counted = self.now.since(self.counting_since);
        let record = self.record;
        let endpoints = self.servers.iter().map(|server| endpoint(server, counted));
        Tally {
            label: self.label,
            strategy: self.cluster.strategy.name().to_owned(),
            span: self.now,
            counted,
            traffic: record.last_begun.since(self.counting_since),
            counts: record.counts,
            stages: record.stages,
            retries: record.retries,
            over_budget: record.over_budget,
            waits: record.waits,
            waited: record.waited,
            endpoints: endpoints.collect(),
            lengths: record.lengths,
            samples: record.samples,
            happenings: record.happenings,
            seen: record.seen_sum as f64 / record.seen_count.max(1) as f64,
            mean_present: record.counted_area as f64 / counted.0.max(1) as f64,
            events: record.events,
            violations: record.violations,
        }
    }

    fn check(&mut self) {
        let record = &self.record;
        let counts = &record.counts;
        let left = self.requests.len() as u64;
        let mut wrong = Vec::new();
        if record.begun != record.ended + left || left > 0 {
            let (begun, ended) = (record.begun, record.ended);
            wrong.push(format!(
                "{begun} requests came, {ended} ended, {left} are left"
            ));
        }
        if counts.requests != counts.well + counts.failed + counts.shed {
            let (all, well) = (counts.requests, counts.well);
            let (failed, shed) = (counts.failed, counts.shed);
            wrong.push(format!("{all} are not {well} + {failed} + {shed}"));
        }
        if record.picked != record.released {
            let (picked, released) = (record.picked, record.released);
            wrong.push(format!("{picked} leases were taken, {released} released"));
        }
        // Little's law is exact when the system is empty at both ends.
        if record.present_area != record.latency_sum {
            let (area, sum) = (record.present_area, record.latency_sum);
            wrong.push(format!("requests over time {area} are not latencies {sum}"));
        }
        if self.chooser == Chooser::Core {
            for (number, balancer) in self.balancers.iter().enumerate() {
                let held = balancer.in_flight();
                if held > 0 {
                    wrong.push(format!(
                        "balancer {number} counts {held} in flight at the end"
                    ));
                }
            }
        }
        for what in wrong {
            self.violated(what);
        }
    }
}

fn endpoint(server: &super::server::Server, counted: Nanos) -> EndpointCounts {
    let span = (counted.0 as f64).max(1.0);
    let (spec, tally) = (&server.spec, &server.tally);
    let busy = tally.busy_area / span / spec.cores;
    EndpointCounts {
        id: spec.id.clone(),
        requests: tally.requests,
        failures: tally.failures,
        utilization: spec.cores.is_finite().then_some(busy),
        max_in_flight: tally.max_present,
        mean_in_flight: tally.present_area / span,
        weight: spec.weight,
    }
}
