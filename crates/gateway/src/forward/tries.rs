//! The tries of one request: which endpoints it has been to, and whether there is another one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use evenkeel_core::{
    Ask, Lease, Nanos, NoEndpoint, Outcome, PickContext, Refused, Samples, Serial, ShedReason,
    Signal, Slot, Waiting,
};
use evenkeel_http1::ResponseHead;

use super::relay::Failure;
use super::request::Request;
use super::retry::Point;
use super::views::Views;
use crate::access::Noted;
use crate::cluster::{CodeClass, Policies};
use crate::decision::Trace;
use crate::report;
use crate::route::Way;
use crate::upstream::LocalEndpoint;
use crate::worker::{ClusterWorker, ShadowLeases, Worker, WorkerView};

/// The status by which an endpoint says that this is too much for it.
pub(super) const TOO_MANY_REQUESTS: u16 = 429;

/// An endpoint that a request is sent to.
#[derive(Debug)]
pub(super) struct Try<'v> {
    view: &'v WorkerView,
    lease: Lease<'v>,
    /// Not the first one.
    is_retry: bool,
    notes: Noted,
    /// Its place in the notes.
    place: usize,
    trace: Trace,
    /// Its place among the decisions.
    decision: usize,
}

impl<'v> Try<'v> {
    pub(super) fn endpoint(&self) -> &'v Rc<LocalEndpoint> {
        self.view.endpoint(self.lease.index())
    }

    pub(super) fn policies(&self) -> &'v Policies {
        &self.view.view.policies
    }

    /// Takes note of the endpoint in the way of its request.
    #[inline]
    pub(super) fn note(&self, way: &mut Way) {
        way.chosen(&self.view.view, self.lease.index());
    }

    pub(super) fn is_retry(&self) -> bool {
        self.is_retry
    }

    /// Notes that there is a connection, which was asked for at `since`.
    #[inline]
    pub(super) fn connected(&self, worker: &Worker, since: Nanos) {
        self.notes
            .note(|notes| notes.connected(self.place, worker.now().since(since)));
    }

    /// Notes that something of an answer has come.
    #[inline]
    pub(super) fn answer_begins(&self, worker: &Worker) {
        self.notes
            .note(|notes| notes.answer_begins(self.place, worker.now()));
    }

    /// Notes the status of its answer.
    #[inline]
    pub(super) fn has_status(&self, status: u16) {
        self.trace.has_status(self.decision, status);
        self.notes
            .note(|notes| notes.has_status(self.place, status));
    }

    /// Notes how many bytes of its answer's body were passed on.
    #[inline]
    pub(super) fn passed_on(&self, bytes: u64) {
        self.notes.note(|notes| notes.passed_on(bytes));
    }

    /// Notes why it failed.
    pub(super) fn failed(&self, failure: &Failure) {
        self.trace.failed(self.decision, failure.word());
        self.notes
            .note(|notes| notes.failed(self.place, failure.word()));
    }

    /// Notes that what followed its answer has ended too.
    pub(super) fn ended(&self, worker: &Worker) {
        self.notes
            .note(|notes| notes.ended(self.place, worker.now()));
    }

    /// Counts that it failed, if it is a retry.
    pub(super) fn note_failure(&self, tries: &Tries<'_>) {
        if self.is_retry {
            tries.ended(false);
        }
    }

    /// Says that the endpoint answered, and keeps it: the two go on to speak.
    pub(super) fn answered(&self, now: Nanos) {
        self.endpoint().counters.succeed(None);
        self.lease.answered(now);
    }

    /// Notes for its receipt that a connection whose bytes were passed on has ended.
    pub(super) fn passed(&self, class: CodeClass, now: Nanos) {
        let outcome = match class {
            CodeClass::Success => Outcome::Success,
            _ => Outcome::Cancelled,
        };
        self.trace.ended(self.decision, outcome, now);
    }

    /// Lets go of the endpoint, and says how it did. Each try is an observation of its own.
    pub(super) fn finish(self, outcome: Outcome, now: Nanos) {
        let (view, state, endpoint) = (self.view, self.lease.state(), self.endpoint());
        let (index, policies) = (self.lease.index(), &view.view.policies);
        self.notes.note(|notes| notes.ended(self.place, now));
        self.trace.ended(self.decision, outcome, now);
        view.witness(&self.lease, outcome, now);
        if self.policies().listens.to_latency {
            self.hear(outcome, now);
        }
        match outcome {
            Outcome::Failure => endpoint.counters.fail(),
            Outcome::Success => {
                let took = policies.times_attempts.then(|| self.lease.age(now));
                endpoint.counters.succeed(took);
            }
            Outcome::TooMuch if policies.retry.lists(TOO_MANY_REQUESTS) => endpoint.counters.fail(),
            Outcome::TooMuch => endpoint.counters.turn_away(),
            Outcome::Cancelled => {}
        }
        if self.policies().learns_caps && outcome == Outcome::Success {
            let took = now.since(self.lease.started());
            let in_flight = self.lease.state().in_flight().count();
            let samples = Samples::of(took, in_flight);
            self.endpoint().counters.sample(samples);
        }
        self.lease.finish(outcome, now);
        if outcome == Outcome::Failure
            && let Some(most) = policies.failures_max
            && state.failures_in_row().is_multiple_of(most)
        {
            let id = Arc::clone(&view.view.targets[index].id);
            view.cluster
                .accuse(id, self.trace.last_failure(self.decision));
        }
    }
}

impl Try<'_> {
    /// Whether load reports in answers are read.
    #[inline]
    pub(super) fn hears(&self) -> bool {
        self.view.view.to_reports
    }

    /// Takes in how long it took. A failure counts as a slow answer, however fast it was.
    #[cold]
    fn hear(&self, outcome: Outcome, now: Nanos) {
        let took = now.since(self.lease.started());
        let typical = self.view.view.snapshot.typical_latency();
        let (latency, errors) = match outcome {
            Outcome::Cancelled => return,
            Outcome::Failure | Outcome::TooMuch => {
                (took.max(Nanos(typical.0.saturating_mul(2))), 1.0)
            }
            Outcome::Success => (took, 0.0),
        };
        self.endpoint().hear(Signal {
            value: latency.0 as f64,
            rps: 1.0,
            eps: errors,
        });
    }
}

/// The tries of one request.
#[derive(Debug)]
pub(super) struct Tries<'v> {
    cluster: &'v ClusterWorker,
    views: &'v Views,
    ctx: RefCell<PickContext>,
    /// Chosen, and paid for, before the last one is given up.
    next: RefCell<Option<Box<Try<'v>>>>,
    /// Why there is no other one.
    nobody: Cell<Option<NoEndpoint>>,
    /// The view that `ctx` is meant for.
    aimed: Cell<Option<&'v Rc<WorkerView>>>,
    /// A byte of an answer has come.
    has_begun: Cell<bool>,
    /// The answer that was given up was 429.
    was_too_much: Cell<bool>,
    notes: Noted,
    trace: Trace,
    /// What shadows have in flight for it.
    shadows: RefCell<Option<ShadowLeases<'v>>>,
}

impl<'v> Tries<'v> {
    pub(super) fn new(
        cluster: &'v ClusterWorker,
        views: &'v Views,
        ctx: PickContext,
        notes: Noted,
        trace: Trace,
    ) -> Self {
        Self {
            cluster,
            views,
            ctx: RefCell::new(ctx),
            next: RefCell::new(None),
            nobody: Cell::new(None),
            aimed: Cell::new(None),
            has_begun: Cell::new(false),
            was_too_much: Cell::new(false),
            notes,
            trace,
            shadows: RefCell::new(None),
        }
    }

    /// Chooses the first endpoint.
    pub(super) fn first(&self, way: &Way) -> Result<Try<'v>, NoEndpoint> {
        self.choose(self.aim(way))
    }

    /// The newest view, and what the request asks of it.
    fn aim(&self, way: &Way) -> &'v Rc<WorkerView> {
        let view = self.views.newest(self.cluster);
        let mut ctx = self.ctx.borrow_mut();
        ctx.affinity = way.affinity(&view.view);
        ctx.view = way.view(&view.view);
        self.aimed.set(Some(view));
        view
    }

    fn choose(&self, view: &'v Rc<WorkerView>) -> Result<Try<'v>, NoEndpoint> {
        let lease = self.trace.choose(self.cluster, view, &self.ctx.borrow())?;
        Ok(self.begin_try(view, lease))
    }

    fn begin_try(&self, view: &'v Rc<WorkerView>, lease: Lease<'v>) -> Try<'v> {
        let mut ctx = self.ctx.borrow_mut();
        let is_retry = ctx.attempts.count() > 0;
        if !is_retry {
            // Some weigh for as long as the request takes, however often it is tried.
            self.shadows
                .replace(self.cluster.shadow(view, &ctx, lease.index()));
        }
        ctx.attempts.push(lease.state().serial());
        let mut place = 0;
        self.notes.note(|notes| {
            let endpoint = &view.endpoint(lease.index()).target.id;
            place = notes.tries(endpoint, ctx.now);
        });
        Try {
            view,
            lease,
            is_retry,
            notes: self.notes.clone(),
            place,
            decision: self.trace.place(),
            trace: self.trace.clone(),
        }
    }

    /// Whether requests wait when all endpoints are full.
    pub(super) fn has_queue(&self) -> bool {
        self.views
            .newest(self.cluster)
            .view
            .policies
            .queue
            .is_some()
    }

    /// How long an endpoint may take up to the head of its answer, where the route says nothing.
    pub(super) fn response_timeout(&self) -> Nanos {
        self.views
            .newest(self.cluster)
            .view
            .policies
            .response_timeout
    }

    /// How long one waits at most.
    pub(super) fn queue_timeout(&self) -> Nanos {
        let queue = self.views.newest(self.cluster).view.policies.queue;
        queue.map_or(Nanos(0), |queue| queue.timeout)
    }

    /// What the request asks of the newest view.
    pub(super) fn ask(&self, way: &Way) -> Ask {
        let view = self.aim(way);
        Ask {
            attempts: self.ctx.borrow().attempts.clone(),
            labels: way.labels(),
            view: way.view(&view.view),
        }
    }

    /// Takes a place in the queue of the cluster, until `due` at most.
    pub(super) fn enter(&self, way: &Way, due: Nanos, now: Nanos) -> Result<Waiting, Refused> {
        let due = due.min(now + self.queue_timeout());
        let room = self.cluster.cluster.room();
        room.enter(self.ask(way), way.priority, due, now)
    }

    /// Looks for a slot once more. The look before is forgotten: nothing came of it.
    pub(super) fn look_again(&self, way: &Way, now: Nanos) -> Result<Try<'v>, NoEndpoint> {
        self.trace.forget();
        self.ctx.borrow_mut().now = now;
        self.first(way)
    }

    /// Takes a slot that was handed over, if the request may have it on the newest view.
    pub(super) fn bind(&self, way: &Way, slot: Slot, now: Nanos) -> Result<Try<'v>, Slot> {
        let view = self.aim(way);
        self.ctx.borrow_mut().now = now;
        let ctx = self.ctx.borrow();
        let lease = self.trace.bind(self.cluster, view, &ctx, slot)?;
        drop(ctx);
        Ok(self.begin_try(view, lease))
    }

    /// Counts how long a request waited that got a slot.
    pub(super) fn waited(&self, span: Nanos) {
        self.cluster.counters.waited(span);
    }

    /// Counts a request that was turned away.
    pub(super) fn shed(&self, way: &Way, reason: ShedReason) {
        self.cluster.counters.shed(way.priority, reason);
    }

    /// Takes a retry from the budget for one that has to wait for its slot.
    pub(super) fn spend_to_wait(&self, now: Nanos) -> bool {
        self.nobody.get() == Some(NoEndpoint::AllFull)
            && self.has_queue()
            && self.cluster.spend_retry(now)
    }

    /// Whether the request goes to another endpoint after a failure. If it does, that one has been
    /// chosen and is waiting.
    ///
    /// The budget comes first: a choice that is not carried out would upset the strategy's order. A
    /// choice that finds nobody is not paid for.
    pub(super) fn grant(
        &self,
        point: Point,
        request: &Request,
        policies: &Policies,
        now: Nanos,
    ) -> bool {
        if now >= request.due || !policies.retry.allow(point, request.repeatable()) {
            return false;
        }
        let next = self.another(self.aim(&request.way), policies, now);
        let is_granted = next.is_some();
        self.next.replace(next.map(Box::new));
        is_granted
    }

    /// The endpoint that a connection goes to when one could not be reached, if there is another one.
    pub(super) fn after_connect(
        &self,
        way: &Way,
        policies: &Policies,
        now: Nanos,
    ) -> Option<Try<'v>> {
        if !policies.retry.connect {
            return None;
        }
        self.another(self.aim(way), policies, now)
    }

    /// Another try beside the one under way. None while the list changes: what the request asks of the
    /// new one is not known before it is at hand again.
    pub(super) fn hedge(&self, policies: &Policies, now: Nanos) -> Option<Try<'v>> {
        let view = self.views.newest(self.cluster);
        let aimed = self.aimed.get().filter(|aimed| Rc::ptr_eq(aimed, view))?;
        self.another(aimed, policies, now)
    }

    fn another(
        &self,
        view: &'v Rc<WorkerView>,
        policies: &Policies,
        now: Nanos,
    ) -> Option<Try<'v>> {
        let tried = self.ctx.borrow().attempts.count();
        if tried >= policies.retry.attempts {
            return None;
        }
        if self.tried_on(view) >= view.eligible {
            self.nobody.set(Some(NoEndpoint::AllTried));
            return None;
        }
        if !self.cluster.spend_retry(now) {
            return None;
        }
        self.ctx.borrow_mut().now = now;
        let next = self.choose(view);
        if let Err(reason) = next {
            self.trace.forget();
            self.cluster.give_back_retry(now);
            self.nobody.set(Some(reason));
        }
        next.ok()
    }

    /// Takes in the load report in the head of an answer, if there is one.
    pub(super) fn hear(&self, at: &Try<'_>, head: &ResponseHead<'_, '_>, now: Nanos) {
        report::hear(self.cluster, at.endpoint(), head, now);
    }

    /// How many of those that may be chosen have been tried: one that was tried may have been taken out
    /// since.
    fn tried_on(&self, view: &WorkerView) -> usize {
        let snapshot = &view.view.snapshot;
        let is_open = |serial: &Serial| {
            let at = snapshot.position(*serial);
            at.is_some_and(|at| snapshot.candidates()[at as usize].is_open())
        };
        self.ctx.borrow().attempts.iter().filter(is_open).count()
    }

    /// Forgets that an answer has begun.
    pub(super) fn begin(&self) {
        self.has_begun.set(false);
    }

    pub(super) fn answer_begins(&self) {
        self.has_begun.set(true);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.get()
    }

    /// Whether an answer of this status is given up for another try.
    pub(super) fn refuses(
        &self,
        status: u16,
        request: &Request,
        policies: &Policies,
        now: Nanos,
    ) -> bool {
        self.was_too_much.set(status == TOO_MANY_REQUESTS);
        policies.retry.lists(status) && self.grant(Point::Status, request, policies, now)
    }

    /// What a try came to that was given up: one that the endpoint turned away says nothing of how well
    /// it is.
    pub(super) fn given_up(&self, point: Option<Point>) -> Outcome {
        match point {
            None if self.was_too_much.get() => Outcome::TooMuch,
            _ => Outcome::Failure,
        }
    }

    /// The try that was granted.
    pub(super) fn next(&self) -> Option<Try<'v>> {
        self.next.take().map(|next| *next)
    }

    /// Why there is no other endpoint, if that was the reason for no other try.
    pub(super) fn nobody(&self) -> Option<NoEndpoint> {
        self.nobody.get()
    }

    /// Counts how a retry ended.
    pub(super) fn ended(&self, success: bool) {
        self.cluster.counters.retry_ended(success);
    }
}
