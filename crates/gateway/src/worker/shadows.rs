//! The shadows of a cluster as one worker sees them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_core::{Lease, Nanos, Outcome, PickContext, PickerSeed, ShadowPicker, Witness};

use crate::cluster::{Seat, ShadowBoard, Tally, View};

/// A worker's pickers and counts for the shadows of a cluster.
#[derive(Debug)]
pub(super) struct ShadowWorker {
    board: Arc<ShadowBoard>,
    pickers: RefCell<Vec<ShadowPicker>>,
    witness: Witness,
    tally: Arc<Tally>,
    seats: BTreeMap<Arc<str>, Arc<Seat>>,
    /// In the order of the view's endpoints.
    by_index: Box<[Arc<Seat>]>,
}

/// The requests that shadows have in flight for a real one, and that are gone with it: those to endpoints of
/// which it is not known how long they take.
#[derive(Debug)]
pub(crate) struct ShadowLeases<'v> {
    _leases: Vec<Lease<'v>>,
}

impl ShadowWorker {
    /// What goes with a view, if it has shadows; what is known of the same ones goes on.
    pub(super) fn next(view: &View, old: Option<Self>, seed: PickerSeed) -> Option<Self> {
        let board = &view.shadows.as_ref()?.board;
        let old = old.filter(|old| Arc::ptr_eq(&old.board, board));
        let mut next = old.unwrap_or_else(|| Self {
            board: Arc::clone(board),
            pickers: RefCell::new(pickers(seed, view)),
            witness: Witness::default(),
            tally: board.tally(),
            seats: BTreeMap::new(),
            by_index: Box::default(),
        });
        let mut old = std::mem::take(&mut next.seats);
        for endpoint in view.snapshot.endpoints() {
            let id = endpoint.shared_id();
            let seat = old.remove(&id).unwrap_or_else(|| board.seat(&id));
            next.seats.insert(id, seat);
        }
        next.by_index = next.seats.values().cloned().collect();
        next.witness.follow(&view.snapshot);
        Some(next)
    }

    /// Lets every shadow choose beside a live choice of a first try.
    pub(super) fn choose<'v>(
        &self,
        view: &'v View,
        ctx: &PickContext,
        live: usize,
    ) -> Option<ShadowLeases<'v>> {
        let shadows = view.shadows.as_ref()?;
        let affinity = ctx
            .affinity
            .and_then(|serial| view.snapshot.position(serial));
        let mut own = PickContext {
            now: ctx.now,
            key: ctx.key,
            view: ctx.view,
            ..PickContext::default()
        };
        let mut leases = Vec::new();
        let mut pickers = self.pickers.borrow_mut();
        for ((at, snapshot), picker) in shadows.snapshots.iter().enumerate().zip(&mut *pickers) {
            own.affinity = affinity.map(|index| snapshot.candidates()[index as usize].serial());
            let (chosen, lease) = match picker.pick(snapshot, &own, &self.witness) {
                Ok((index, lease)) => (Some(index), lease),
                Err(_) => (None, None),
            };
            self.tally.count(at, chosen, live);
            if let Some(seat) = chosen.and_then(|index| self.by_index.get(index)) {
                seat.count_shadow(at);
            }
            leases.extend(lease);
        }
        if let Some(seat) = self.by_index.get(live) {
            seat.count_live();
        }
        (!leases.is_empty()).then_some(ShadowLeases { _leases: leases })
    }

    /// Hears how a real request ended at the endpoint of a place, of whose `load` it was one when it began.
    #[inline]
    pub(super) fn saw(&self, index: usize, outcome: Outcome, took: Nanos, load: u32) {
        self.witness.saw(index, outcome, took, load);
    }

    /// Lets go of what shadows have in flight that is over, for a worker without requests.
    pub(super) fn release(&self, view: &View, now: Nanos) {
        let snapshots = view.shadows.iter().flat_map(|shadows| &shadows.snapshots);
        for (picker, snapshot) in self.pickers.borrow_mut().iter_mut().zip(snapshots) {
            picker.release(snapshot, now);
        }
    }
}

/// Each with a seed of its own: two of them must not draw alike.
fn pickers(seed: PickerSeed, view: &View) -> Vec<ShadowPicker> {
    const STEP: u64 = 0xD1B5_4A32_D192_ED03;
    let picker = |at: u64| {
        ShadowPicker::new(PickerSeed {
            root: seed.root ^ (at + 1).wrapping_mul(STEP),
            ..seed
        })
    };
    let shadows = view.shadows.as_ref();
    let count = shadows.map_or(0, |shadows| shadows.snapshots.len());
    (0..count as u64).map(picker).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_config::{self as config, StrategyChoice};
    use evenkeel_core::{Endpoint, Picker};

    use super::super::cluster::ClusterWorker;
    use super::*;
    use crate::clock::Clock;
    use crate::cluster::{Cluster, Site};

    /// Strategies that go by load learn how long an answer takes that is one of so many at its beginning.
    #[test]
    fn latencies_are_learned_at_the_load_of_the_beginning() {
        const TOOK: Nanos = Nanos::from_millis(10);
        let mut config = config::Cluster::new("web");
        config.endpoints = [Endpoint::new("a", "127.0.0.1:1")].into();
        config.shadow = vec![StrategyChoice::new("prequal", &[]).expect("registered")];
        let site = Arc::new(Site::new(&config::Runtime::default(), Clock::start(), 1));
        let cluster = Arc::new(Cluster::new(config, &site, None, true).expect("one id"));
        let worker = ClusterWorker::new(&cluster, 0, 1);
        let view = worker.view();
        let shadow = &view.view.shadows.as_ref().expect("configured").snapshots[0];
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 1 });
        let mut now = Nanos(0);
        for _ in 0..80 {
            let ctx = PickContext::at(now);
            let mut pick = || {
                let picked = picker.pick(&view.view.snapshot, &ctx);
                picked.expect("there is one")
            };
            let (alone, other) = (pick(), pick());
            worker.shadow(&view, &ctx, 0);
            now = now + TOOK;
            view.witness(&alone, Outcome::Success, now);
            drop((alone, other));
        }
        worker.release_shadows(now);
        let learned = shadow.candidates()[0].state().latency_at_load();
        let estimate = learned.estimate(1, now).expect("often enough");
        assert!(estimate.0.abs_diff(TOOK.0) < TOOK.0 / 100, "{estimate:?}");
    }
}
