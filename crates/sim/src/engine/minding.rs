//! The health of endpoints as a balancer sees it: the gateway's own machine, fed with what simulated checks and
//! requests come to.

use std::sync::Arc;

use evenkeel_config::Cluster;
use evenkeel_core::health::{
    ClusterHealth, Happening, Listed, Observed, ProbeResult, ProbeSchedule,
};
use evenkeel_core::{Nanos, Outcome};

use super::Engine;
use super::balancer::Balancer;
use super::events::Event;
use crate::tally::Histogram;

/// How long a backend in order takes to answer a check.
const ANSWER: Nanos = Nanos::from_millis(1);

/// What one balancer knows of the health of its endpoints.
#[derive(Debug)]
pub(super) struct Minding {
    machine: ClusterHealth,
    schedule: ProbeSchedule,
    /// What attempts came to since the last interval, by the number of the backend.
    attempts: Vec<Attempts>,
    /// When it will be asked again what time has done, if that is planned.
    planned: Option<Nanos>,
    /// When the next check is planned.
    check_planned: Option<Nanos>,
}

#[derive(Debug, Default)]
struct Attempts {
    successes: u64,
    failures: u64,
    times: Histogram,
}

impl Minding {
    pub(super) fn new(cluster: &Cluster, seed: u64) -> Self {
        Self {
            machine: ClusterHealth::new(cluster.health_policy(), seed),
            schedule: ProbeSchedule::new(seed),
            attempts: Vec::new(),
            planned: None,
            check_planned: None,
        }
    }
}

impl Balancer {
    /// Brings the machine in line with the list, and the list with what it says.
    pub(super) fn mind_list(&mut self, is_start: bool, now: Nanos) -> Vec<Happening> {
        let listed: Vec<Listed> = self.membership.listed().collect();
        let minding = &mut self.minding;
        if let Some(policy) = minding.machine.policy().active {
            let gone = minding.schedule.ids().cloned();
            let gone: Vec<Arc<str>> = gone
                .filter(|id| !listed.iter().any(|one| one.id == *id))
                .collect();
            for id in gone {
                minding.schedule.remove(&id);
            }
            for one in &listed {
                if is_start {
                    minding.schedule.add(&one.id, policy.interval, now);
                } else if !minding.schedule.contains(&one.id) {
                    minding.schedule.hurry(&one.id, now);
                }
            }
        }
        let happenings = minding.machine.list(listed.into_iter(), is_start, now);
        minding.machine.apply(&mut self.membership, now);
        happenings
    }

    /// Lets the machine take in something, and publishes what follows from it.
    fn observe(
        &mut self,
        now: Nanos,
        step: impl FnOnce(&mut ClusterHealth) -> Vec<Happening>,
    ) -> Vec<Happening> {
        let happenings = step(&mut self.minding.machine);
        let changed = self.minding.machine.apply(&mut self.membership, now);
        let seen = happenings
            .iter()
            .any(|one| matches!(one, Happening::Endpoint(_)));
        if changed || seen {
            self.publish();
        }
        happenings
    }

    /// Notes what an attempt came to, and says whether somebody should look at once.
    #[inline]
    pub(super) fn mind_attempt(
        &mut self,
        cluster: &Cluster,
        backend: u32,
        outcome: Outcome,
        took: Nanos,
        in_row: u32,
    ) -> bool {
        let Some(policy) = &cluster.outlier else {
            return false;
        };
        let (all, at) = (&mut self.minding.attempts, backend as usize);
        if at >= all.len() {
            all.resize_with(at + 1, Attempts::default);
        }
        let attempts = &mut all[at];
        if outcome == Outcome::Success {
            attempts.successes += 1;
            if policy.latency_factor.is_some() {
                attempts.times.add(took);
            }
            return false;
        }
        attempts.failures += 1;
        outcome == Outcome::Failure && in_row.is_multiple_of(policy.consecutive_failures.max(1))
    }

    /// An interval is over: what attempts came to in it.
    fn take_observed(&mut self) -> Vec<(Arc<str>, Observed)> {
        let runs = self.snapshot.failure_runs();
        let observed = runs.zip(&self.servers).map(|((id, run), backend)| {
            let seen = self.minding.attempts.get_mut(*backend as usize);
            let seen = seen.map(std::mem::take).unwrap_or_default();
            let latency = seen.times.quantile(0.5);
            let observed = Observed {
                successes: seen.successes,
                failures: seen.failures,
                run,
                latency: (seen.times.count() > 0).then_some(latency),
            };
            (id, observed)
        });
        observed.collect()
    }
}

impl Engine<'_> {
    /// Plans what a balancer has to do by itself: checks that are due, ejections that end, endpoints that
    /// warm up.
    pub(super) fn plan_minding(&mut self, number: u32) {
        let now = self.now;
        let minding = &mut self.balancers[number as usize].minding;
        let next = minding.machine.next_tick(now);
        if let Some(at) = next
            && minding
                .planned
                .is_none_or(|planned| at < planned || planned <= now)
        {
            minding.planned = Some(at);
            let at = at.max(now + Nanos(1));
            self.agenda.plan(at, Event::Mind { balancer: number });
        }
        let next = minding.schedule.next();
        if let Some(at) = next
            && minding
                .check_planned
                .is_none_or(|planned| at < planned || planned <= now)
        {
            let at = at.max(now + Nanos(1));
            minding.check_planned = Some(at);
            self.agenda.plan(at, Event::Check { balancer: number });
        }
    }

    /// Time has passed for a balancer.
    pub(super) fn mind(&mut self, number: u32) {
        let now = self.now;
        let balancer = &mut self.balancers[number as usize];
        balancer.minding.planned = None;
        let happenings = balancer.observe(now, |machine| machine.tick(now));
        self.tell_health(number, happenings);
        self.plan_minding(number);
    }

    /// Begins the checks that are due.
    pub(super) fn check_endpoints(&mut self, number: u32) {
        let now = self.now;
        self.balancers[number as usize].minding.check_planned = None;
        while let Some(id) = self.balancers[number as usize].minding.schedule.begin(now) {
            let balancer = &self.balancers[number as usize];
            let listed = balancer.membership.get(&id);
            let backend = listed.and_then(|(endpoint, _)| endpoint.address().parse().ok());
            let Some(backend) = backend else {
                continue;
            };
            let policy = balancer.minding.machine.policy().active.unwrap_or_default();
            let (passed, took) = self.find_out(number, backend, policy.timeout);
            let event = Event::Checked {
                balancer: number,
                backend,
                passed,
                took,
            };
            self.agenda.plan(now + took, event);
        }
        self.plan_minding(number);
    }

    /// What a check of a backend will find, and how long it takes.
    fn find_out(&self, balancer: u32, backend: u32, timeout: Nanos) -> (bool, Nanos) {
        let conditions = &self.servers[backend as usize].conditions;
        if conditions.down {
            return (false, ANSWER.min(timeout));
        }
        if conditions.paused || conditions.is_cut_off(balancer) {
            return (false, timeout);
        }
        let took = Nanos((ANSWER.0 as f64 * conditions.slow) as u64);
        (took < timeout, took.min(timeout))
    }

    /// A check has ended.
    pub(super) fn checked(&mut self, number: u32, backend: u32, passed: bool, took: Nanos) {
        let now = self.now;
        let id: Arc<str> = self.servers[backend as usize].spec.id.as_str().into();
        let balancer = &mut self.balancers[number as usize];
        let seen = if passed { "answered" } else { "no answer" };
        let result = ProbeResult {
            passed,
            seen: seen.to_owned(),
        };
        let happenings = balancer.observe(now, |machine| machine.probed(&id, &result, now));
        let minding = &mut balancer.minding;
        let began = Nanos(now.0.saturating_sub(took.0));
        if let Some(pace) = minding.machine.pace(&id, now) {
            minding.schedule.done(&id, began, pace, now);
        }
        self.tell_health(number, happenings);
        self.plan_minding(number);
    }

    /// Looks at failures in a row.
    pub(super) fn judge_runs(&mut self, number: u32) {
        let now = self.now;
        let balancer = &mut self.balancers[number as usize];
        let runs = balancer.snapshot.failure_runs().collect::<Vec<_>>();
        let happenings = balancer.observe(now, |machine| {
            machine.runs(runs.iter().map(|(id, run)| (&**id, *run)), now)
        });
        self.tell_health(number, happenings);
        self.plan_minding(number);
    }

    /// Looks at shares of failures.
    pub(super) fn judge_interval(&mut self, number: u32) {
        let now = self.now;
        let balancer = &mut self.balancers[number as usize];
        let observed = balancer.take_observed();
        let happenings = balancer.observe(now, |machine| {
            machine.interval(observed.iter().map(|(id, seen)| (&**id, *seen)), now)
        });
        self.tell_health(number, happenings);
        self.plan_minding(number);
    }

    /// Notes what the first balancer sees; the others see much the same.
    pub(super) fn tell_health(&mut self, number: u32, happenings: Vec<Happening>) {
        if number > 0 {
            return;
        }
        for happening in happenings {
            match happening {
                Happening::Endpoint(transition) => {
                    let (id, to) = (&transition.id, transition.to.as_str());
                    self.note(format!("{id} is {to}: {}", transition.evidence));
                }
                Happening::SharedCause { evidence, .. } => self.note(evidence),
            }
        }
    }
}
