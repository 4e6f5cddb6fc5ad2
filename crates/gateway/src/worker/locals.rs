//! What a worker keeps of the endpoints of a cluster that it has used.
//!
//! Views come and go with each change of a list, also of one with ten thousand endpoints, and a worker takes a new
//! one over between two requests. So what is kept lies beside the views, which look it up when they first need it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use evenkeel_core::Serial;

use crate::cluster::{Cluster, View};
use crate::upstream::LocalEndpoint;

/// The endpoints that a worker has used, by the identity of their records.
#[derive(Debug, Default)]
pub(super) struct Locals {
    kept: RefCell<BTreeMap<Serial, Rc<LocalEndpoint>>>,
    /// The snapshot of the view that they follow.
    current: Cell<u64>,
}

impl Locals {
    /// Follows a newer view: connections to endpoints that it does not have, or has elsewhere, close here, unless a
    /// request still uses them. O(n), for 10,000 endpoints of which few are used some 10 µs.
    pub(super) fn follow(&self, view: &View) {
        self.current.set(view.snapshot.serial());
        let mut places = view.snapshot.positions().iter().peekable();
        self.kept.borrow_mut().retain(|serial, local| {
            while places.next_if(|(known, _)| known < serial).is_some() {}
            places
                .next_if(|(known, _)| known == serial)
                .is_some_and(|(_, at)| {
                    // A new address under an old id: its connections lead elsewhere.
                    Arc::ptr_eq(&local.target, &view.targets[*at as usize])
                })
        });
    }

    /// The endpoint at a place of a view. What is found by one that is not the newest any more is kept for its
    /// requests alone.
    #[cold]
    fn find(&self, cluster: &Cluster, view: &View, index: usize) -> Rc<LocalEndpoint> {
        let serial = view.snapshot.candidates()[index].serial();
        let target = &view.targets[index];
        let mut kept = self.kept.borrow_mut();
        if let Some(same) = kept.get(&serial)
            && Arc::ptr_eq(&same.target, target)
        {
            return Rc::clone(same);
        }
        let counters = cluster.count_endpoint(&target.id);
        let new = Rc::new(LocalEndpoint::new(Arc::clone(target), counters, serial));
        if view.snapshot.serial() == self.current.get() {
            kept.insert(serial, Rc::clone(&new));
        }
        new
    }

    /// With each of them.
    pub(super) fn each(&self, act: impl FnMut(&Rc<LocalEndpoint>)) {
        self.kept.borrow().values().for_each(act);
    }
}

/// The endpoints of a view, in the snapshot's order, each once it is used.
#[derive(Debug)]
pub(super) struct LocalView {
    locals: Rc<Locals>,
    by_index: Box<[OnceCell<Rc<LocalEndpoint>>]>,
}

impl LocalView {
    pub(super) fn new(locals: &Rc<Locals>, view: &View) -> Self {
        let none = std::iter::repeat_with(OnceCell::new);
        Self {
            locals: Rc::clone(locals),
            by_index: none.take(view.targets.len()).collect(),
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize, cluster: &Cluster, view: &View) -> &Rc<LocalEndpoint> {
        self.by_index[index].get_or_init(|| self.locals.find(cluster, view, index))
    }
}
