//! What a gateway runs, as one worker sees it, and as one connection does.

use std::rc::Rc;
use std::sync::Arc;

use super::{ClusterWorker, Worker};
use crate::lifecycle::Plan;
use crate::listener::{Door, Listener};

/// A plan with what this worker keeps of each cluster, in the plan's order.
#[derive(Debug)]
pub(crate) struct WorkerPlan {
    pub(crate) plan: Arc<Plan>,
    pub(crate) clusters: Vec<Rc<ClusterWorker>>,
}

impl WorkerPlan {
    /// The plan as worker `number` sees it; what it has of clusters that stay is kept.
    pub(super) fn new(plan: Arc<Plan>, number: u32, seed: u64, old: &[Rc<ClusterWorker>]) -> Self {
        let clusters = plan
            .clusters
            .iter()
            .map(|cluster| {
                let same = old.iter().find(|old| Arc::ptr_eq(&old.cluster, cluster));
                match same {
                    Some(same) => Rc::clone(same),
                    None => Rc::new(ClusterWorker::new(cluster, number, seed)),
                }
            })
            .collect();
        Self { plan, clusters }
    }
}

/// A listener with the plan that it is a part of: where a request comes in. Requests keep the one
/// they came by to their end.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) plan: Rc<WorkerPlan>,
    pub(crate) listener: Arc<Listener>,
    /// The listener is no part of the newest plan: its connections end with their next answer.
    pub(crate) leaving: bool,
}

impl Entry {
    /// The way in through a door, if the plan has one there.
    pub(crate) fn new(worker: &Worker, door: &Arc<Door>) -> Option<Self> {
        let plan = Rc::clone(&worker.plan.borrow());
        let listener = Arc::clone(plan.plan.listener_at(door)?);
        Some(Self {
            plan,
            listener,
            leaving: false,
        })
    }

    /// Whether it is the same way in, of the same plan.
    #[inline]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.plan, &other.plan)
            && Arc::ptr_eq(&self.listener, &other.listener)
            && self.leaving == other.leaving
    }

    /// Takes over a newer plan, and says whether there was one: a comparison of two pointers as long
    /// as there is none.
    #[inline]
    pub(crate) fn refresh(&mut self, worker: &Worker) -> bool {
        if Rc::ptr_eq(&self.plan, &worker.plan.borrow()) || self.leaving {
            return false;
        }
        self.take_over(worker);
        true
    }

    #[cold]
    fn take_over(&mut self, worker: &Worker) {
        match Self::new(worker, self.listener.door()) {
            Some(newer) => *self = newer,
            None => self.leaving = true,
        }
    }
}
