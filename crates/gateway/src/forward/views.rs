//! The views of a cluster that one request goes by.

use std::cell::OnceCell;
use std::rc::Rc;

use evenkeel_core::Attempts;

use crate::worker::{ClusterWorker, WorkerView};

/// One for each try but the first, and one for a last choice that finds nobody.
const LATER: usize = Attempts::MAX;

/// The views that the tries of a request are chosen on: each the newest one when it is, and held for
/// as long as a lease on it is.
///
/// Most requests need one, and a connection keeps room for what is here.
#[derive(Debug, Default)]
pub(super) struct Views {
    first: OnceCell<Rc<WorkerView>>,
    later: OnceCell<Box<[OnceCell<Rc<WorkerView>>; LATER]>>,
}

impl Views {
    pub(super) fn newest(&self, cluster: &ClusterWorker) -> &Rc<WorkerView> {
        let newest = cluster.view();
        let fits = |held: &&OnceCell<_>| match held.get() {
            Some(held) => Rc::ptr_eq(held, &newest),
            None => true,
        };
        if fits(&&self.first) {
            return self.first.get_or_init(|| newest);
        }
        let later = self.later.get_or_init(Box::default);
        // There are as many as there can be tries.
        let held = later.iter().find(fits).unwrap_or(&later[LATER - 1]);
        held.get_or_init(|| newest)
    }
}
