//! How requests ended that were really sent, as one thread saw it.

use std::cell::{Cell, RefCell};

use crate::clock::Nanos;
use crate::endpoint::Serial;
use crate::pick::lease::Outcome;
use crate::snapshot::Snapshot;

/// So many of the latest ends are known of each endpoint: enough that one odd answer is not taken for the rule.
const KNOWN: usize = 8;

/// How the latest requests ended at each endpoint of a cluster, by its place in the snapshot.
///
/// What a shadow chooses meets the same ends there, one after the other: so it is busy for as long, and learns
/// as much, as if it were live.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::{Nanos, PickContext, PickerSeed, Shadow, ShadowPicker, Witness};
///
/// let other = Shadow::new("web", registry::build("round_robin", &[])?).follow(&snapshot);
/// let mut witness = Witness::default();
/// witness.follow(&snapshot);
/// let mut picker = ShadowPicker::new(PickerSeed { root: 7, picker: 0 });
/// let (index, _) = picker.pick(&other, &PickContext::at(Nanos(0)), &witness)?;
/// assert!(index < 2);
/// # picker.release(&other, Nanos::from_secs(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Witness {
    ends: RefCell<Vec<Ends>>,
    serials: Box<[Serial]>,
    /// Whose turn it is.
    turn: Cell<usize>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) took: Nanos,
    /// The requests in flight with it.
    pub(super) load: u32,
}

#[derive(Clone, Debug, Default)]
struct Ends {
    latest: [Option<End>; KNOWN],
    /// Where the next one goes.
    next: usize,
}

impl Witness {
    /// Takes over the places of another snapshot of the cluster; what is known of endpoints that stay goes
    /// with them. O(n log n).
    pub fn follow(&mut self, live: &Snapshot) {
        let mut ends = vec![Ends::default(); live.candidates().len()];
        for (serial, known) in self.serials.iter().zip(self.ends.take()) {
            if let Some(at) = live.position(*serial) {
                ends[at as usize] = known;
            }
        }
        self.ends.replace(ends);
        self.serials = live.candidates().iter().map(|one| one.serial()).collect();
    }

    /// Notes how a request ended at the endpoint of a place, how long it took, and that it was one of `load` in
    /// flight there. What was cancelled says nothing; places that there are not are none.
    #[inline]
    pub fn saw(&self, index: usize, outcome: Outcome, took: Nanos, load: u32) {
        if outcome == Outcome::Cancelled {
            return;
        }
        if let Some(ends) = self.ends.borrow_mut().get_mut(index) {
            ends.latest[ends.next] = Some(End {
                outcome,
                took,
                load,
            });
            ends.next = (ends.next + 1) % KNOWN;
        }
    }

    /// An end that requests meet at the endpoint of a place, if any has ended there; each in its turn.
    #[inline]
    pub(super) fn end_at(&self, index: usize) -> Option<End> {
        let ends = self.ends.borrow();
        let latest = &ends.get(index)?.latest;
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        // The first ones are few.
        latest[turn % KNOWN].or(latest[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{Endpoint, Membership};

    fn took(witness: &Witness, index: usize) -> Option<u64> {
        witness.end_at(index).map(|end| end.took.as_millis())
    }

    #[test]
    fn the_latest_ends_go_with_their_endpoint_and_take_turns() {
        let strategy = registry::build("round_robin", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        for id in ["b", "c"] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80"));
        }
        let mut witness = Witness::default();
        witness.follow(&members.snapshot());
        let saw = |witness: &Witness, index, ms| {
            witness.saw(index, Outcome::Success, Nanos::from_millis(ms), 1);
        };
        saw(&witness, 0, 10);
        saw(&witness, 7, 1);
        witness.saw(1, Outcome::Cancelled, Nanos(1), 1);
        assert_eq!((took(&witness, 0), took(&witness, 1)), (Some(10), None));
        members.upsert(Endpoint::new("a", "10.0.0.2:80"));
        witness.follow(&members.snapshot());
        assert_eq!((took(&witness, 0), took(&witness, 1)), (None, Some(10)));
        (11..=18).for_each(|ms| saw(&witness, 1, ms));
        let mut all: Vec<_> = (0..KNOWN).filter_map(|_| took(&witness, 1)).collect();
        all.sort_unstable();
        assert_eq!(all, [11, 12, 13, 14, 15, 16, 17, 18]);
        members.remove("b").expect("known");
        witness.follow(&members.snapshot());
        assert_eq!((took(&witness, 0), took(&witness, 1)), (None, None));
    }
}
