//! From a request to its answer: coming, choosing, being sent, being answered.

use evenkeel_core::{Nanos, NoEndpoint, OwnedLease, PickContext};

use super::deadlines::{HEDGE, QUEUE, RESPONSE, TRY};
use super::events::{Event, Reply};
use super::request::{Caller, Request, Tried, Try};
use super::slab::NONE;
use super::{Chooser, Engine};
use crate::chance;

/// Whom an error does not make think asks again after this at the earliest, or time would stand still.
const AFTER_ERROR: Nanos = Nanos::from_millis(1);

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
            tried: Tried::default(),
            at: Try::NOWHERE,
            silent: None,
            wait: None,
        });
        self.balancers[balancer as usize].count(self.now);
        self.await_by(RESPONSE, place);
        if self.asks {
            self.ask_around(balancer);
        }
        if let Err(reason) = self.try_somewhere(place) {
            self.wait_or_shed(place, reason);
        }
        place
    }

    /// Puts a request into a list of deadlines, if that is in use.
    #[inline]
    pub(super) fn await_by(&mut self, list: u8, place: u32) {
        let deadlines = &mut self.deadlines[usize::from(list)];
        if deadlines.span == Nanos(u64::MAX) {
            return;
        }
        deadlines.push(place, self.now);
        if !deadlines.planned {
            let due = self.now + deadlines.span;
            self.plan_look(list, due);
        }
    }

    pub(super) fn plan_look(&mut self, list: u8, at: Nanos) {
        self.deadlines[usize::from(list)].planned = true;
        self.agenda.plan(at, Event::Deadline { list });
    }

    /// A number that nothing else of this run has.
    #[inline]
    pub(super) fn next_number(&mut self) -> u32 {
        // Nothing waits for as long as it takes to count to 2^32.
        self.numbers = self.numbers.wrapping_add(1) % NONE;
        self.numbers
    }

    /// Chooses a backend for a request and sends it there.
    #[inline]
    pub(super) fn try_somewhere(&mut self, place: u32) -> Result<(), NoEndpoint> {
        if self.chooser == Chooser::Clairvoyant {
            return self.try_best(place);
        }
        let Some(request) = self.requests.get(place) else {
            return Ok(());
        };
        let balancer = &mut self.balancers[request.balancer as usize];
        let ctx = PickContext {
            now: self.now,
            key: balancer.hash(request.key),
            attempts: request.tried.attempts(),
            view: 0,
            affinity: None,
        };
        let lease = balancer.pick(&ctx)?;
        self.begin_try(place, lease);
        Ok(())
    }

    /// Sends a request to the backend that its lease is for.
    #[inline]
    pub(super) fn begin_try(&mut self, place: u32, lease: OwnedLease) {
        let number = self.next_number();
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        let balancer = &self.balancers[request.balancer as usize];
        let fault = balancer.fault_of(&lease);
        request.tried.push(lease.state().serial());
        request.at = Try {
            server: balancer.servers[lease.index()],
            lease: Some(lease),
            number,
            job: NONE,
        };
        self.record.picked += 1;
        if let Some(fault) = fault {
            self.violated(fault);
        }
        self.send(place);
    }

    /// Sends a request to the backend that was chosen for it.
    #[inline]
    pub(super) fn send(&mut self, place: u32) {
        let Some(request) = self.requests.get(place) else {
            return;
        };
        let (number, balancer, seed) = (request.at.server, request.balancer, request.seed);
        let (counts, stage) = (request.counts, request.stage as usize);
        let tries = request.tried.count();
        // One that is asked beside another has no deadline of its own, and nobody is asked beside it.
        if request.silent.is_none() {
            self.await_by(TRY, place);
            self.await_by(HEDGE, place);
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
            number: request.at.number,
            reply,
        };
        self.agenda.plan(self.now + span, event);
    }

    /// The end of a request.
    #[inline]
    pub(super) fn answer(&mut self, place: u32, verdict: Verdict) {
        for list in [RESPONSE, TRY, HEDGE, QUEUE] {
            self.deadlines[usize::from(list)].remove(place);
        }
        let Some(request) = self.requests.remove(place) else {
            return;
        };
        self.record.ended += 1;
        match request.caller {
            Caller::Job(job) => self.call_ended(job, verdict == Verdict::Well),
            Caller::Nobody => {}
            Caller::User(user) => {
                self.leave(&request, verdict);
                let think = self.users.think.draw(&mut self.chance) as u64;
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
