//! The decisions made for one request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use evenkeel_core::{Lease, Nanos, NoEndpoint, Outcome, PickContext, Receipt, Slot};
use evenkeel_http1::{ProxyError, RequestHead};

use super::recorder::Recorder;
use super::watch::Watch;
use crate::cluster::LastFailure;
use crate::worker::{ClusterWorker, WorkerView};

/// The decisions made for the request in hand on a connection; its memory serves the next one too.
#[derive(Debug)]
pub(crate) struct Trail {
    recorder: Rc<Recorder>,
    tries: RefCell<Vec<Tried>>,
    /// The request asks for its receipts.
    asked: Cell<bool>,
    /// Those who may wait for this request.
    watches: RefCell<Vec<Arc<Watch>>>,
    /// The status of an answer of the gateway's own; 0: none.
    told: Cell<u16>,
}

/// A decision, and what came of it.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) view: Rc<WorkerView>,
    pub(super) receipt: Box<Receipt>,
    pub(super) decision_ns: u64,
    pub(super) chosen_at: Nanos,
    pub(super) ended: Option<Nanos>,
    pub(super) outcome: Option<Outcome>,
    pub(super) status: Option<u16>,
    pub(super) error: Option<&'static str>,
}

impl Tried {
    /// The endpoint that was chosen, if one was.
    pub(super) fn chosen(&self) -> Option<&str> {
        let endpoints = self.view.view.snapshot.endpoints();
        let chosen = self.receipt.chosen?;
        endpoints.get(chosen as usize).map(|endpoint| endpoint.id())
    }

    /// The same as a shared string.
    pub(super) fn shared_chosen(&self) -> Option<Arc<str>> {
        let endpoints = self.view.view.snapshot.endpoints();
        let chosen = endpoints.get(self.receipt.chosen? as usize);
        chosen.map(|endpoint| endpoint.shared_id())
    }
}

impl Trail {
    fn new(recorder: &Rc<Recorder>) -> Self {
        Self {
            recorder: Rc::clone(recorder),
            tries: RefCell::default(),
            asked: Cell::default(),
            watches: RefCell::default(),
            told: Cell::default(),
        }
    }

    fn note(&self, place: usize, note: impl FnOnce(&mut Tried)) {
        // A place was given for each.
        if let Some(tried) = self.tries.borrow_mut().get_mut(place) {
            note(tried);
        }
    }

    /// Chooses an endpoint and takes down why.
    fn choose<'v>(
        &self,
        cluster: &ClusterWorker,
        view: &'v Rc<WorkerView>,
        ctx: &PickContext,
    ) -> Result<Lease<'v>, NoEndpoint> {
        let mut receipt = self.recorder.blank();
        let before = self.recorder.now();
        let picked = cluster.pick_traced(view, ctx, &mut receipt);
        let took = self.recorder.now().since(before);
        cluster.counters.times.took(took);
        self.push(view, receipt, took.0, ctx);
        picked
    }

    /// Takes a slot that was handed over, and takes down whose it was.
    fn bind<'v>(
        &self,
        cluster: &ClusterWorker,
        view: &'v Rc<WorkerView>,
        ctx: &PickContext,
        slot: Slot,
    ) -> Result<Lease<'v>, Slot> {
        let mut receipt = self.recorder.blank();
        let before = self.recorder.now();
        let bound = cluster.bind(view, ctx, slot, Some(&mut receipt));
        let decision_ns = self.recorder.now().since(before).0;
        if bound.is_ok() {
            self.push(view, receipt, decision_ns, ctx);
        } else {
            self.recorder.recycle(receipt);
        }
        bound
    }

    fn push(
        &self,
        view: &Rc<WorkerView>,
        receipt: Box<Receipt>,
        decision_ns: u64,
        ctx: &PickContext,
    ) {
        self.tries.borrow_mut().push(Tried {
            view: Rc::clone(view),
            receipt,
            decision_ns,
            chosen_at: ctx.now,
            ended: None,
            outcome: None,
            status: None,
            error: None,
        });
    }

    /// Keeps what is to be kept, and is ready for the next request.
    fn conclude(&self, request_id: &str) {
        let mut tries = self.tries.borrow_mut();
        let (asked, told) = (self.asked.take(), self.told.take());
        let mut watches = self.watches.borrow_mut();
        if !watches.is_empty() {
            let last = tries.last().and_then(|tried| tried.status);
            let status = if told == 0 { last } else { Some(told) };
            watches.retain(|watch| watch.takes(&tries, status));
        }
        let watched = !watches.is_empty();
        if !tries.is_empty() && self.recorder.wants(request_id, asked || watched, &tries) {
            let kept = self.recorder.keep(request_id, &tries);
            watches.drain(..).for_each(|watch| watch.give(&kept));
        }
        for tried in tries.drain(..) {
            self.recorder.recycle(tried.receipt);
        }
    }
}

/// Where the decisions of a request are taken down, if they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Option<Rc<Trail>>);

impl Trace {
    /// Of a connection; nothing is taken down without a recorder.
    pub(crate) fn new(recorder: Option<&Rc<Recorder>>) -> Self {
        Self(recorder.map(|recorder| Rc::new(Trail::new(recorder))))
    }

    /// Chooses an endpoint, and gives the place of the decision.
    ///
    /// # Errors
    ///
    /// When nobody can be chosen.
    #[inline]
    pub(crate) fn choose<'v>(
        &self,
        cluster: &ClusterWorker,
        view: &'v Rc<WorkerView>,
        ctx: &PickContext,
    ) -> Result<Lease<'v>, NoEndpoint> {
        match &self.0 {
            None => cluster.pick(view, ctx),
            Some(trail) => trail.choose(cluster, view, ctx),
        }
    }

    /// Takes a slot that was handed over, instead of the latest decision, which chose nobody.
    ///
    /// # Errors
    ///
    /// With the slot, when the request may not have it.
    pub(crate) fn bind<'v>(
        &self,
        cluster: &ClusterWorker,
        view: &'v Rc<WorkerView>,
        ctx: &PickContext,
        slot: Slot,
    ) -> Result<Lease<'v>, Slot> {
        match &self.0 {
            None => cluster.bind(view, ctx, slot, None),
            Some(trail) => {
                self.forget();
                trail.bind(cluster, view, ctx, slot)
            }
        }
    }

    /// The place of the latest decision.
    #[inline]
    pub(crate) fn place(&self) -> usize {
        let count = self
            .0
            .as_ref()
            .map_or(0, |trail| trail.tries.borrow().len());
        count.saturating_sub(1)
    }

    /// Notes who may wait for this request.
    #[inline]
    pub(crate) fn watch(&self, head: &RequestHead<'_, '_>) {
        if let Some(trail) = &self.0 {
            let watches = trail.recorder.watches(head);
            if !watches.is_empty() {
                trail.watches.replace(watches);
            }
        }
    }

    /// Notes the status of an answer of the gateway's own.
    pub(crate) fn told(&self, status: u16) {
        if let Some(trail) = &self.0 {
            trail.told.set(status);
        }
    }

    /// Notes that the request asks for its receipts.
    pub(crate) fn ask(&self) {
        if let Some(trail) = &self.0 {
            trail.asked.set(true);
        }
    }

    /// Forgets the latest decision if it chose nobody: nothing came of it. One that was carried out stays, also
    /// when the request waits for another endpoint after it.
    pub(crate) fn forget(&self) {
        let found_nobody = |tried: &mut Tried| tried.receipt.chosen.is_none();
        if let Some(trail) = &self.0
            && let Some(tried) = trail.tries.borrow_mut().pop_if(found_nobody)
        {
            trail.recorder.recycle(tried.receipt);
        }
    }

    /// Notes that the latest decision chose nobody, and what the client is told.
    pub(crate) fn refused(&self, error: ProxyError) {
        self.note(self.place(), |tried| {
            (tried.status, tried.error) = (Some(error.status()), Some(error.word()));
        });
    }

    /// Notes the status of an answer.
    #[inline]
    pub(crate) fn has_status(&self, place: usize, status: u16) {
        self.note(place, |tried| tried.status = Some(status));
    }

    /// Notes why a try failed.
    pub(crate) fn failed(&self, place: usize, error: Option<&'static str>) {
        self.note(place, |tried| tried.error = error);
    }

    /// Notes how a try ended.
    #[inline]
    pub(crate) fn ended(&self, place: usize, outcome: Outcome, now: Nanos) {
        self.note(place, |tried| {
            (tried.outcome, tried.ended) = (Some(outcome), Some(now));
        });
    }

    /// What a failed try came to.
    #[cold]
    pub(crate) fn last_failure(&self, place: usize) -> LastFailure {
        let mut last = LastFailure::default();
        self.note(place, |tried| {
            (last.status, last.error) = (tried.status, tried.error);
        });
        last
    }

    /// Keeps what is to be kept of the request, and is ready for the next one.
    #[inline]
    pub(crate) fn conclude(&self, request_id: &str) {
        if let Some(trail) = &self.0 {
            trail.conclude(request_id);
        }
    }

    #[inline]
    fn note(&self, place: usize, note: impl FnOnce(&mut Tried)) {
        if let Some(trail) = &self.0 {
            trail.note(place, note);
        }
    }
}
