//! From a request to its answer: choosing, trying again, giving up.

use evenkeel_core::{Attempts, Nanos, NoEndpoint, Outcome, PickContext};

use super::deadlines::{LISTS, Link, RESPONSE, TRY};
use super::events::{Event, Reply};
use super::request::{Caller, Request};
use super::slab::NONE;
use super::{Chooser, Engine};
use crate::chance;

/// Whom an error does not make think asks again after this at the earliest, or time would stand still.
const AFTER_ERROR: Nanos = Nanos::from_millis(1);

/// The status by which an endpoint says that this is too much for it.
const TOO_MANY_REQUESTS: u16 = 429;

/// Why a try came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Connect,
    Late,
    Reset,
    Status(u16),
}

/// What becomes of a request in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Failed,
    Late,
    Shed,
    Well,
}

impl Engine<'_> {
    /// A request comes from the world or a user.
    #[inline]
    pub(super) fn arrive(&mut self, caller: Caller, key: Option<u64>) {
        let seed = self.chance.next_u64();
        let clients = self.scenario.load.clients;
        let balancer = match clients {
            1 => 0,
            _ => chance::below(&mut self.chance, u64::from(clients)) as u32,
        };
        let key = match (&self.world.keys, key) {
            (_, Some(key)) => key,
            (Some(keys), None) => keys.draw(&mut self.chance),
            (None, None) => 0,
        };
        self.count_present();
        let record = &mut self.record;
        record.seen_sum += u128::from(record.present);
        record.seen_count += 1;
        record.present += 1;
        record.last_begun = self.now;
        self.ask(balancer, caller, seed, key);
    }

    /// A request comes to a balancer.
    pub(super) fn ask(&mut self, balancer: u32, caller: Caller, seed: u64, key: u64) -> u32 {
        self.record.begun += 1;
        let stage = match (&self.stream, self.record.stages.len()) {
            (Some(stream), 2..) => stream.stage(self.now) as u32,
            _ => 0,
        };
        let place = self.requests.insert(Request {
            seed,
            arrived: self.now,
            key,
            balancer,
            caller,
            stage,
            counts: self.counting,
            attempts: Attempts::default(),
            epoch: 0,
            lease: None,
            server: NONE,
            job: NONE,
            links: [Link::default(); LISTS],
        });
        self.balancers[balancer as usize].count(self.now);
        self.await_by(RESPONSE, place);
        if self.probes > 0 {
            self.ask_around(balancer);
        }
        if self.try_somewhere(place).is_err() {
            self.answer(place, Verdict::Shed);
        }
        place
    }

    #[inline]
    fn await_by(&mut self, list: u8, place: u32) {
        let deadlines = &mut self.deadlines[usize::from(list)];
        if deadlines.span == Nanos(u64::MAX) {
            return;
        }
        deadlines.push(&mut self.requests, place, self.now);
        if !deadlines.planned {
            deadlines.planned = true;
            let at = self.now + deadlines.span;
            self.agenda.plan(at, Event::Deadline { list });
        }
    }

    /// Chooses a backend for a request and sends it there.
    #[inline]
    fn try_somewhere(&mut self, place: u32) -> Result<(), NoEndpoint> {
        if self.chooser == Chooser::Clairvoyant {
            return self.try_best(place);
        }
        let Some(request) = self.requests.get_mut(place) else {
            return Ok(());
        };
        let balancer = &mut self.balancers[request.balancer as usize];
        let ctx = PickContext {
            now: self.now,
            key: balancer.hash(request.key),
            attempts: request.attempts.clone(),
            view: 0,
            affinity: None,
        };
        let lease = balancer.pick(&ctx)?;
        let fault = balancer.fault_of(&lease);
        request.server = balancer.servers[lease.index()];
        request.attempts.push(lease.state().serial());
        request.lease = Some(lease);
        request.epoch += 1;
        self.record.picked += 1;
        if let Some(fault) = fault {
            self.violated(fault);
        }
        self.send(place);
        Ok(())
    }

    /// Sends a request where it will be done first, by one who knows everything.
    fn try_best(&mut self, place: u32) -> Result<(), NoEndpoint> {
        let Some(request) = self.requests.get(place) else {
            return Ok(());
        };
        let (seed, key) = (request.seed, request.key);
        let group = self.balancers[request.balancer as usize].group;
        let mut best: Option<(f64, u32)> = None;
        for number in &self.world.groups[group as usize].servers {
            let server = &mut self.servers[*number as usize];
            if !server.conditions.is_well() || server.spec.absent {
                continue;
            }
            let work = server.spec.service.draw(&mut evenkeel_core::Rng::new(seed));
            let done = server.foreseen(self.now, work);
            // Among equals the least crowded, so that an idle fleet is used evenly.
            let done = done + f64::from(server.present) * 1e-3;
            if best.is_none_or(|(other, _)| done < other) {
                best = Some((done, *number));
            }
        }
        let (_, number) = best.ok_or(NoEndpoint::NoneHealthy)?;
        let server = &mut self.servers[number as usize];
        let work = server.spec.service.draw(&mut evenkeel_core::Rng::new(seed));
        server.foresee(self.now, work);
        if let Some(request) = self.requests.get_mut(place) {
            request.server = number;
            request.epoch += 1;
        }
        let _ = key;
        self.send(place);
        Ok(())
    }

    /// Sends a request to the backend that was chosen for it.
    #[inline]
    fn send(&mut self, place: u32) {
        let Some(request) = self.requests.get(place) else {
            return;
        };
        let (number, balancer, seed) = (request.server, request.balancer, request.seed);
        let (counts, stage) = (request.counts, request.stage as usize);
        let tries = request.attempts.count();
        if self.cluster.retry.per_try_timeout.is_some() {
            self.await_by(TRY, place);
        }
        let server = &mut self.servers[number as usize];
        if counts {
            server.tally.requests += 1;
            if let Some(stage) = self.record.stages.get_mut(stage) {
                stage.per_server[number as usize] += 1;
            }
        }
        let connect = Nanos::from(self.cluster.timeout.connect);
        if server.conditions.is_cut_off(balancer) {
            return self.answer_after(place, connect, Reply::NoConnection);
        }
        if server.conditions.down {
            return self.answer_after(place, Nanos(0), Reply::NoConnection);
        }
        // Each try has a chance of its own.
        let chance = seed.wrapping_add(u64::from(tries));
        if let Some((status, after)) = server.error(chance) {
            return self.answer_after(place, after, Reply::Status(status));
        }
        if server.is_full() {
            return self.answer_after(place, Nanos(0), Reply::Status(503));
        }
        self.begin_job(place);
    }

    fn answer_after(&mut self, place: u32, span: Nanos, reply: Reply) {
        let Some(request) = self.requests.get(place) else {
            return;
        };
        let event = Event::Answer {
            request: place,
            epoch: request.epoch,
            reply,
        };
        self.agenda.plan(self.now + span, event);
    }

    pub(super) fn answer_arrives(&mut self, place: u32, epoch: u32, reply: Reply) {
        let awaited = self.requests.get(place).map(|request| request.epoch);
        if awaited == Some(epoch) {
            self.try_ended(place, reply);
        }
    }

    /// A try has an answer.
    #[inline]
    pub(super) fn try_ended(&mut self, place: u32, reply: Reply) {
        let failure = match reply {
            Reply::Well => None,
            Reply::NoConnection => Some(Failure::Connect),
            Reply::Reset => Some(Failure::Reset),
            Reply::Status(status) => Some(Failure::Status(status)),
        };
        self.let_go(place, failure);
        match failure {
            None => self.answer(place, Verdict::Well),
            Some(failure) => {
                if !self.try_again(place, failure) {
                    self.answer(place, Verdict::Failed);
                }
            }
        }
    }

    /// Ends the lease of a try, and says how it went.
    #[inline]
    fn let_go(&mut self, place: u32, failure: Option<Failure>) {
        if self.cluster.retry.per_try_timeout.is_some() {
            self.deadlines[usize::from(TRY)].remove(&mut self.requests, place);
        }
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        request.epoch += 1;
        request.job = NONE;
        if failure.is_some() && request.counts && request.server != NONE {
            self.servers[request.server as usize].tally.failures += 1;
        }
        let outcome = match failure {
            None => Outcome::Success,
            // As the gateway has it: too much for the endpoint is no failure in a row.
            Some(Failure::Status(TOO_MANY_REQUESTS)) => Outcome::TooMuch,
            Some(_) => Outcome::Failure,
        };
        let Some(lease) = request.lease.take() else {
            return;
        };
        let (number, backend) = (request.balancer as usize, request.server);
        let balancer = &mut self.balancers[number];
        if balancer.weighing.is_some() {
            let server = &mut self.servers[backend as usize];
            if matches!(failure, None | Some(Failure::Status(_))) {
                server.answers += 1;
                server.errors += u64::from(failure.is_some());
                balancer.hear_report(backend, server.report);
            }
            balancer.hear_answer(backend, self.now.since(lease.started()), outcome);
        }
        let took = self.now.since(lease.started());
        let in_row = lease.state().failures_in_row() + 1;
        lease.finish(outcome, self.now);
        self.record.released += 1;
        let accused = balancer.mind_attempt(self.cluster, backend, outcome, took, in_row);
        if accused {
            self.judge_runs(number as u32);
        }
    }

    /// Sends a request elsewhere after a failure, if that is allowed and there is somewhere. By the
    /// gateway's rules, in its order; every request is one that may be repeated.
    fn try_again(&mut self, place: u32, failure: Failure) -> bool {
        let rules = &self.cluster.retry;
        let listed = match failure {
            Failure::Connect => rules.on.connect,
            Failure::Late => rules.on.timeout,
            Failure::Reset => rules.on.reset,
            Failure::Status(status) => rules.on.statuses.iter().any(|all| all.contains(&status)),
        };
        if !listed || self.chooser == Chooser::Clairvoyant {
            return false;
        }
        let Some(request) = self.requests.get(place) else {
            return false;
        };
        let (tried, counts) = (request.attempts.count(), request.counts);
        let balancer = &self.balancers[request.balancer as usize];
        // One that was tried may have been taken out since.
        let open = balancer.count_open(&request.attempts);
        if tried >= rules.attempts || open >= balancer.eligible {
            return false;
        }
        if !balancer.spend_retry(self.now) {
            self.record.over_budget += u64::from(counts);
            return false;
        }
        let number = request.balancer as usize;
        if self.try_somewhere(place).is_err() {
            self.balancers[number].give_back_retry(self.now);
            return false;
        }
        self.record.retries += u64::from(counts);
        true
    }

    pub(super) fn look_at_deadlines(&mut self, list: u8) {
        let at = usize::from(list);
        self.deadlines[at].planned = false;
        while let Some((place, due)) = self.deadlines[at].first(&self.requests) {
            if due > self.now {
                self.deadlines[at].planned = true;
                return self.agenda.plan(due, Event::Deadline { list });
            }
            self.deadlines[at].remove(&mut self.requests, place);
            self.is_late(place, list);
        }
    }

    /// Gives up a try, and with it the request unless it goes elsewhere. The backend goes on working.
    fn is_late(&mut self, place: u32, list: u8) {
        let job = self.requests.get(place).map_or(NONE, |request| request.job);
        if let Some(job) = self.jobs.get_mut(job) {
            job.request = NONE;
        }
        self.let_go(place, Some(Failure::Late));
        if list == RESPONSE || !self.try_again(place, Failure::Late) {
            self.answer(place, Verdict::Late);
        }
    }

    /// The end of a request.
    #[inline]
    pub(super) fn answer(&mut self, place: u32, verdict: Verdict) {
        self.deadlines[usize::from(RESPONSE)].remove(&mut self.requests, place);
        let Some(request) = self.requests.remove(place) else {
            return;
        };
        self.record.ended += 1;
        match request.caller {
            Caller::Job(job) => self.call_ended(job, verdict == Verdict::Well),
            Caller::Nobody => {}
            Caller::User(user) => {
                self.leave(&request, verdict);
                let think = self.think.draw(&mut self.chance) as u64;
                let wait = match verdict {
                    Verdict::Well | Verdict::Late => Nanos(think),
                    _ => Nanos(think).max(AFTER_ERROR),
                };
                self.agenda.plan(self.now + wait, Event::User { user });
            }
            Caller::World => self.leave(&request, verdict),
        }
    }

    /// Counts a request that leaves the system.
    #[inline]
    fn leave(&mut self, request: &Request, verdict: Verdict) {
        self.count_present();
        self.record.present -= 1;
        let took = self.now.since(request.arrived);
        self.record.latency_sum += u128::from(took.0);
        if !request.counts {
            return;
        }
        let stage = self.record.stages.get_mut(request.stage as usize);
        let stage = stage.map(|stage| &mut stage.counts);
        for counts in [Some(&mut self.record.counts), stage].into_iter().flatten() {
            counts.requests += 1;
            match verdict {
                Verdict::Well => counts.well += 1,
                Verdict::Failed | Verdict::Late => counts.failed += 1,
                Verdict::Shed => counts.shed += 1,
            }
            // A failure never makes latencies look better.
            if matches!(verdict, Verdict::Well | Verdict::Late) {
                counts.latency.add(took);
            }
        }
    }
}
