//! How requests ended that were really sent, as one thread saw it.

use std::cell::RefCell;

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
/// use evenkeel_core::{Nanos, Outcome, PickContext, PickerSeed, Shadow, ShadowPicker, Witness};
///
/// let mut witness = Witness::default();
/// witness.follow(&snapshot);
/// let took = Nanos::from_millis(5);
/// for index in 0..2 {
///     witness.saw(index, Outcome::Success, took, 1);
/// }
/// // What a shadow chooses takes as long.
/// let other = Shadow::new("web", registry::build("round_robin", &[])?).follow(&snapshot);
/// let mut picker = ShadowPicker::new(PickerSeed { root: 7, picker: 0 });
/// let (index, lease) = picker.pick(&other, &PickContext::at(Nanos(0)), &witness)?;
/// assert!(lease.is_none(), "it is known when it ends");
/// let busy = other.candidates()[index].state().in_flight();
/// assert_eq!(busy.count(), 1);
/// picker.release(&other, took);
/// assert_eq!(busy.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Witness {
    ends: RefCell<Vec<Ends>>,
    serials: Box<[Serial]>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) took: Nanos,
    /// The requests in flight with it when it began.
    pub(super) load: u32,
}

#[derive(Clone, Debug, Default)]
struct Ends {
    latest: [Option<End>; KNOWN],
    /// Where the next one goes.
    next: usize,
    /// Whose turn it is. Not one for all endpoints: in step with a strategy that goes round, each would show
    /// but some of its ends.
    turn: usize,
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
    /// flight there when it began, itself among them: strategies that go by load compare that with the load a
    /// request would meet. What was cancelled says nothing; places that there are not are none.
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
        let mut ends = self.ends.borrow_mut();
        let ends = ends.get_mut(index)?;
        let turn = ends.turn;
        ends.turn = (turn + 1) % KNOWN;
        // The first ones are few.
        ends.latest[turn].or(ends.latest[0])
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

    /// Round robin asks for one endpoint after the other.
    #[test]
    fn endpoints_that_are_asked_for_in_turn_show_all_their_ends() {
        for count in [2, 4, 8] {
            let strategy = registry::build("round_robin", &[]).expect("registered");
            let mut members = Membership::new("web", strategy);
            for at in 0..count {
                members.upsert(Endpoint::new(format!("b{at}"), "10.0.0.1:80"));
            }
            let mut witness = Witness::default();
            witness.follow(&members.snapshot());
            for index in 0..count {
                for ms in 1..=8 {
                    witness.saw(index, Outcome::Success, Nanos::from_millis(ms), 1);
                }
            }
            let mut shown = vec![Vec::new(); count];
            for _ in 0..KNOWN {
                for (index, shown) in shown.iter_mut().enumerate() {
                    shown.extend(took(&witness, index));
                }
            }
            for mut shown in shown {
                shown.sort_unstable();
                assert_eq!(shown, [1, 2, 3, 4, 5, 6, 7, 8], "of {count}");
            }
        }
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
