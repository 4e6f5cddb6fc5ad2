//! The tries of a request: how one ends, going elsewhere, giving up. By the gateway's rules, in its order.

use evenkeel_core::{FailurePoint, NoEndpoint, Outcome, Repeatable};

use super::deadlines::{HEDGE, QUEUE, RESPONSE, TRY};
use super::events::Reply;
use super::flow::Verdict;
use super::request::{Try, Which};
use super::slab::NONE;
use super::{Chooser, Engine};

/// What is asked may be asked twice, and all of it is kept.
const REPEATABLE: Repeatable = Repeatable {
    idempotent: true,
    unsent: false,
    whole: true,
};

/// The status by which an endpoint says that this is too much for it.
const TOO_MANY_REQUESTS: u16 = 429;

/// Why a try came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Connect,
    Late,
    Reset,
    Status(u16),
}

impl Failure {
    fn point(self) -> FailurePoint {
        match self {
            Self::Connect => FailurePoint::Connect,
            Self::Late => FailurePoint::Late,
            Self::Reset => FailurePoint::Silent,
            Self::Status(_) => FailurePoint::Status,
        }
    }
}

/// How a try ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Nobody waits for it any more, and nobody is to blame.
    Dropped,
    Failed(Failure),
    Well,
}

impl End {
    pub(super) fn of(failure: Option<Failure>) -> Self {
        failure.map_or(Self::Well, Self::Failed)
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::Dropped => Outcome::Cancelled,
            // As the gateway has it: too much for the endpoint is no failure in a row.
            Self::Failed(Failure::Status(TOO_MANY_REQUESTS)) => Outcome::TooMuch,
            Self::Failed(_) => Outcome::Failure,
            Self::Well => Outcome::Success,
        }
    }
}

impl Engine<'_> {
    /// An answer comes to the try of that number, if it is still waited for.
    pub(super) fn answer_arrives(&mut self, place: u32, number: u32, reply: Reply) {
        let request = self.requests.get(place);
        let which = request.and_then(|request| request.find(|one| one.number == number));
        if let Some(which) = which {
            self.try_ended(place, which, reply);
        }
    }

    /// The job of a try has ended.
    #[inline]
    pub(super) fn job_answered(&mut self, place: u32, job: u32, reply: Reply) {
        let request = self.requests.get(place);
        let which = request.and_then(|request| request.find(|one| one.job == job));
        if let Some(which) = which {
            self.try_ended(place, which, reply);
        }
    }

    /// A try has an answer.
    #[inline]
    fn try_ended(&mut self, place: u32, which: Which, reply: Reply) {
        let failure = match reply {
            Reply::Well => None,
            Reply::NoConnection => Some(Failure::Connect),
            Reply::Reset => Some(Failure::Reset),
            Reply::Status(status) => Some(Failure::Status(status)),
        };
        if !self.settle_race(place, which, failure) {
            return;
        }
        self.let_go(place, End::of(failure));
        match failure {
            None => self.answer(place, Verdict::Well),
            Some(failure) => self.go_elsewhere(place, failure, Verdict::Failed),
        }
    }

    /// Ends the try that a request is on.
    #[inline]
    fn let_go(&mut self, place: u32, end: End) {
        self.deadlines[usize::from(TRY)].remove(place);
        self.deadlines[usize::from(HEDGE)].remove(place);
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        let ended = std::mem::replace(&mut request.at, Try::NOWHERE);
        self.end_try(place, ended, end);
    }

    /// Ends a try: its lease, and what is to be learned from it.
    #[inline]
    pub(super) fn end_try(&mut self, place: u32, ended: Try, end: End) {
        let Some(request) = self.requests.get(place) else {
            return;
        };
        let (number, backend) = (request.balancer as usize, ended.server);
        if end != End::Well {
            let counts = request.counts;
            self.note_failure(place, &ended, end, counts);
        }
        let Some(lease) = ended.lease else {
            return;
        };
        let outcome = end.outcome();
        let took = self.now.since(lease.started());
        let balancer = &mut self.balancers[number];
        if balancer.weighing.is_some() && end != End::Dropped {
            let server = &mut self.servers[backend as usize];
            if matches!(end, End::Well | End::Failed(Failure::Status(_))) {
                server.answers += 1;
                server.errors += u64::from(end != End::Well);
                balancer.hear_report(backend, server.report);
            }
            balancer.hear_answer(backend, took, outcome);
        }
        if end == End::Well {
            balancer.sample(backend, took, &lease);
        }
        let in_row = lease.state().failures_in_row() + 1;
        lease.finish(outcome, self.now);
        self.record.released += 1;
        let accused = end != End::Dropped
            && balancer.mind_attempt(self.cluster, backend, outcome, took, in_row);
        if accused {
            self.judge_runs(number as u32);
        }
    }

    /// The backend goes on with what nobody waits for any more.
    fn note_failure(&mut self, place: u32, ended: &Try, end: End, counts: bool) {
        // Lost work has made room for that of others.
        if let Some(job) = self.jobs.get_mut(ended.job)
            && job.request == place
        {
            job.request = NONE;
        }
        if end != End::Dropped && counts && ended.server != NONE {
            self.servers[ended.server as usize].tally.failures += 1;
        }
    }

    /// Sends a request elsewhere after a failure, has it wait for that, or ends it.
    fn go_elsewhere(&mut self, place: u32, failure: Failure, verdict: Verdict) {
        if !self.try_again(place, failure, verdict) {
            self.answer(place, verdict);
        }
    }

    /// Whether a request goes elsewhere after a failure. Every one may be repeated.
    fn try_again(&mut self, place: u32, failure: Failure, verdict: Verdict) -> bool {
        let listed = match failure {
            Failure::Status(status) => self.retry.lists(status),
            _ => true,
        };
        let listed = listed && self.retry.allow(failure.point(), REPEATABLE);
        if !listed || !self.may_try_another(place) {
            return false;
        }
        let Some(request) = self.requests.get(place) else {
            return false;
        };
        let (number, counts) = (request.balancer as usize, request.counts);
        let Err(reason) = self.try_somewhere(place) else {
            self.record.retries += u64::from(counts);
            return true;
        };
        // Whoever was answered by its endpoint does not wait for another one.
        let lost = !matches!(failure, Failure::Status(_));
        if lost && reason == NoEndpoint::AllFull && self.enter(place, verdict, Some(self.now)) {
            return true;
        }
        self.balancers[number].give_back_retry(self.now);
        false
    }

    /// Whether a request may be sent to one more backend; if so, that is paid for.
    pub(super) fn may_try_another(&mut self, place: u32) -> bool {
        let Some(request) = self.requests.get(place) else {
            return false;
        };
        let balancer = &self.balancers[request.balancer as usize];
        // One that was tried may have been taken out since.
        let open = balancer.count_open(&request.tried.attempts());
        let most = self.retry.attempts;
        if self.chooser == Chooser::Clairvoyant
            || request.tried.count() >= most
            || open >= balancer.eligible
        {
            return false;
        }
        let counts = request.counts;
        let paid = balancer.spend_retry(self.now);
        self.record.over_budget += u64::from(!paid && counts);
        paid
    }

    pub(super) fn look_at_deadlines(&mut self, list: u8) {
        let at = usize::from(list);
        self.deadlines[at].planned = false;
        while let Some((place, due)) = self.deadlines[at].first() {
            if due > self.now {
                return self.plan_look(list, due);
            }
            self.deadlines[at].remove(place);
            match list {
                HEDGE => self.hedge(place),
                QUEUE => self.unserved(place),
                RESPONSE => self.give_up(place),
                _ => self.is_late(place),
            }
        }
    }

    /// Gives up a try, and with it the request unless it goes elsewhere.
    fn is_late(&mut self, place: u32) {
        let is_raced = |request: &super::request::Request| request.silent.is_some();
        let which = match self.requests.get(place).is_some_and(is_raced) {
            true => Which::Silent,
            false => Which::Latest,
        };
        if self.settle_race(place, which, Some(Failure::Late)) {
            self.let_go(place, End::Failed(Failure::Late));
            self.go_elsewhere(place, Failure::Late, Verdict::Late);
        }
    }

    /// Gives up a request: there was no answer in time, from nobody.
    fn give_up(&mut self, place: u32) {
        let waits = |request: &super::request::Request| request.wait.is_some();
        if self.requests.get(place).is_some_and(waits) {
            return self.unserved(place);
        }
        self.drop_latest(place);
        self.let_go(place, End::Failed(Failure::Late));
        self.answer(place, Verdict::Late);
    }
}
