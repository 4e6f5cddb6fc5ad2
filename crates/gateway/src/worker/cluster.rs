//! A cluster as one worker sees it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use evenkeel_core::{
    Lease, LoadReport, Nanos, NoEndpoint, Outcome, PickContext, Picker, PickerSeed, Reader,
    Receipt, Serial, Slot,
};

use super::locals::{LocalView, Locals};
use super::shadows::{ShadowLeases, ShadowWorker};
use crate::affinity::Sticky;
use crate::cluster::{Cluster, ClusterCounters, DecisionTimer, View};
use crate::key::KeyReader;
use crate::report::Asking;
use crate::upstream::LocalEndpoint;

/// A worker's picker, connections and counters for a cluster.
#[derive(Debug)]
pub(crate) struct ClusterWorker {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) counters: Arc<ClusterCounters>,
    reader: RefCell<Reader<View>>,
    view: RefCell<Rc<WorkerView>>,
    locals: Rc<Locals>,
    picker: RefCell<Picker>,
    seed: PickerSeed,
    timer: DecisionTimer,
    stale_after: Cell<Nanos>,
    pub(crate) sticky: RefCell<Option<Sticky>>,
    pub(crate) keys: RefCell<Option<KeyReader>>,
}

/// A published view with what this worker keeps of each endpoint, in the snapshot's order.
#[derive(Debug)]
pub(crate) struct WorkerView {
    pub(crate) view: Arc<View>,
    /// Who is told of endpoints that fail.
    pub(crate) cluster: Arc<Cluster>,
    endpoints: LocalView,
    /// How many endpoints may be chosen.
    pub(crate) eligible: usize,
    shadows: RefCell<Option<ShadowWorker>>,
    /// How endpoints are asked for their load, if the strategy wants that.
    pub(crate) asking: Option<Rc<Asking>>,
}

impl ClusterWorker {
    pub(crate) fn new(cluster: &Arc<Cluster>, worker: u32, seed: u64) -> Self {
        let mut reader = Reader::new(Arc::clone(cluster.published()));
        let view = Arc::clone(reader.get());
        let stale_after = view.policies.pool_idle_timeout;
        let sticky = view.policies.sticky.clone();
        let keys = view.keys.clone();
        let seed = PickerSeed {
            root: seed,
            picker: worker,
        };
        let shadows = ShadowWorker::next(&view, None, seed);
        let locals = Rc::new(Locals::default());
        let view = WorkerView::new(view, cluster, &locals, None, shadows);
        Self {
            seed,
            cluster: Arc::clone(cluster),
            counters: cluster.count_worker(),
            reader: RefCell::new(reader),
            view: RefCell::new(Rc::new(view)),
            locals,
            picker: RefCell::new(Picker::new(seed)),
            timer: DecisionTimer::new(),
            stale_after: Cell::new(stale_after),
            sticky: RefCell::new(sticky),
            keys: RefCell::new(keys),
        }
    }

    /// The current view: an atomic load when nothing has changed.
    #[inline]
    pub(crate) fn view(&self) -> Rc<WorkerView> {
        if self.reader.borrow_mut().refresh() {
            self.rebuild();
        }
        Rc::clone(&self.view.borrow())
    }

    #[cold]
    fn rebuild(&self) {
        let view = Arc::clone(self.reader.borrow_mut().get());
        self.stale_after.set(view.policies.pool_idle_timeout);
        self.sticky.replace(view.policies.sticky.clone());
        self.keys.replace(view.keys.clone());
        let next = {
            let old = self.view.borrow();
            let shadows = ShadowWorker::next(&view, old.shadows.take(), self.seed);
            let asking = old.asking.as_ref();
            WorkerView::new(view, &self.cluster, &self.locals, asking, shadows)
        };
        self.view.replace(Rc::new(next));
    }

    /// Whether the current list has the endpoint that a cookie names.
    pub(crate) fn knows(&self, tag: u64) -> bool {
        let view = self.view();
        let tags = view.view.tags.as_ref();
        tags.is_some_and(|tags| tags.find(tag).is_some())
    }

    /// Chooses an endpoint on `view` and counts the decision.
    #[inline]
    pub(crate) fn pick<'v>(
        &self,
        view: &'v WorkerView,
        ctx: &PickContext,
    ) -> Result<Lease<'v>, NoEndpoint> {
        let began = self.timer.begin();
        let picked = self.picker.borrow_mut().pick(&view.view.snapshot, ctx);
        if let Some(began) = began {
            self.counters.times.took(self.timer.since(began));
        }
        self.count(view, &picked);
        picked
    }

    /// Chooses as [`ClusterWorker::pick`] does, and writes down why.
    pub(crate) fn pick_traced<'v>(
        &self,
        view: &'v WorkerView,
        ctx: &PickContext,
        receipt: &mut Receipt,
    ) -> Result<Lease<'v>, NoEndpoint> {
        let mut picker = self.picker.borrow_mut();
        let picked = picker.pick_traced(&view.view.snapshot, ctx, receipt);
        self.count(view, &picked);
        picked
    }

    /// Takes a slot that was handed over, and counts the decision.
    pub(crate) fn bind<'v>(
        &self,
        view: &'v WorkerView,
        ctx: &PickContext,
        slot: Slot,
        receipt: Option<&mut Receipt>,
    ) -> Result<Lease<'v>, Slot> {
        let mut picker = self.picker.borrow_mut();
        let bound = picker.bind(&view.view.snapshot, ctx, slot, receipt);
        if bound.is_ok() {
            self.counters.queued();
        }
        bound
    }

    /// Lets the shadows choose beside a live choice of a first try, if there are any.
    #[inline]
    pub(crate) fn shadow<'v>(
        &self,
        view: &'v WorkerView,
        ctx: &PickContext,
        live: usize,
    ) -> Option<ShadowLeases<'v>> {
        let shadows = view.shadows.borrow();
        shadows.as_ref()?.choose(&view.view, ctx, live)
    }

    #[inline]
    fn count(&self, view: &WorkerView, picked: &Result<Lease<'_>, NoEndpoint>) {
        if let Some(asking) = &view.asking {
            asking.order();
        }
        match picked {
            Ok(lease) => self.counters.picked(lease.fallback().is_some()),
            // It is counted when it has waited.
            Err(NoEndpoint::AllFull) if view.view.policies.queue.is_some() => {}
            Err(_) => self.counters.none(),
        }
    }

    /// Tells the picker what an endpoint says of its load.
    pub(crate) fn report(&self, serial: Serial, said: LoadReport, now: Nanos) {
        let view = self.view();
        let mut picker = self.picker.borrow_mut();
        picker.report(&view.view.snapshot, serial, said, now);
    }

    /// Hands what was heard of endpoints to the control side.
    pub(crate) fn pour(&self) {
        let view = self.view.borrow();
        let listens = view.view.policies.listens;
        if listens.to_reports || listens.to_latency {
            self.locals.each(|endpoint| endpoint.pour());
        }
    }

    /// Lets go of what shadows have in flight that is over.
    pub(crate) fn release_shadows(&self, now: Nanos) {
        let view = self.view.borrow();
        if let Some(shadows) = &*view.shadows.borrow() {
            shadows.release(&view.view, now);
        }
    }

    /// Takes a retry from the cluster's budget, or counts that there was none.
    pub(crate) fn spend_retry(&self, now: Nanos) -> bool {
        let spent = self.cluster.spend_retry(now);
        if !spent {
            self.counters.retry_over_budget();
        }
        spent
    }

    /// Gives back a retry that was taken at `now` and not made.
    pub(crate) fn give_back_retry(&self, now: Nanos) {
        self.cluster.give_back_retry(now);
    }

    /// Hands out slots that became free without a request's end: what a failure weighed has faded.
    pub(crate) fn serve_queue(&self, now: Nanos) {
        let room = self.cluster.room();
        if !room.is_empty() {
            room.serve(now);
        }
    }

    /// Closes all connections that idle.
    pub(crate) fn close_idle(&self) {
        self.locals
            .each(|endpoint| endpoint.close_stale(Nanos(u64::MAX), Nanos(0)));
    }

    /// Closes connections that idle too long, and those to endpoints that are gone.
    pub(crate) fn close_stale(&self, now: Nanos) {
        self.view();
        let stale_after = self.stale_after.get();
        self.locals
            .each(|endpoint| endpoint.close_stale(now, stale_after));
    }
}

impl WorkerView {
    fn new(
        view: Arc<View>,
        cluster: &Arc<Cluster>,
        locals: &Rc<Locals>,
        asking: Option<&Rc<Asking>>,
        shadows: Option<ShadowWorker>,
    ) -> Self {
        locals.follow(&view);
        let endpoints = LocalView::new(locals, &view);
        let groups = view.snapshot.groups().iter();
        Self {
            shadows: RefCell::new(shadows),
            asking: Asking::following(asking, &view.snapshot),
            eligible: groups.map(|group| group.eligible().len()).sum(),
            view,
            cluster: Arc::clone(cluster),
            endpoints,
        }
    }

    /// What this worker keeps of the endpoint at a place of the snapshot.
    #[inline]
    pub(crate) fn endpoint(&self, index: usize) -> &Rc<LocalEndpoint> {
        self.endpoints.get(index, &self.cluster, &self.view)
    }

    /// Tells the shadows, if there are any, how a request ended.
    #[inline]
    pub(crate) fn witness(&self, lease: &Lease<'_>, outcome: Outcome, now: Nanos) {
        if let Some(shadows) = &*self.shadows.borrow() {
            shadows.saw(lease.index(), outcome, lease.age(now), lease.load());
        }
    }
}
