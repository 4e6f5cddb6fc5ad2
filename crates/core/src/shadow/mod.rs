//! A cluster that is decided on beside the real one, and sends nothing.

mod held;
mod picker;
mod witness;

use std::sync::Arc;

pub use picker::ShadowPicker;
pub use witness::Witness;

use crate::membership::Membership;
use crate::snapshot::Snapshot;
use crate::strategy::Strategy;

/// The endpoints of a cluster under another strategy, with records of their own: what a request
/// weighs is held against the endpoint that this strategy chose for it, by a [`ShadowPicker`] for each thread.
///
/// Follows the real cluster from generation to generation; the records of endpoints that stay are
/// kept.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::Shadow;
///
/// let mut shadow = Shadow::new("web", registry::build("round_robin", &[])?);
/// let other = shadow.follow(&snapshot);
/// assert_eq!(other.endpoints(), snapshot.endpoints());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shadow {
    members: Membership,
}

impl Shadow {
    /// A shadow that has not seen its cluster yet.
    #[must_use]
    pub fn new(cluster: &str, strategy: Arc<dyn Strategy>) -> Self {
        Self {
            members: Membership::new(cluster, strategy),
        }
    }

    /// Replaces the strategy.
    pub fn set_strategy(&mut self, strategy: Arc<dyn Strategy>) {
        self.members.set_strategy(strategy);
    }

    /// The generation that goes with that of the real cluster: the same endpoints at the same places. The
    /// cost of a snapshot.
    pub fn follow(&mut self, live: &Snapshot) -> Snapshot {
        self.members.mirror(&live.record());
        self.members.snapshot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{Admin, Endpoint, Nanos, PickContext, Picker, PickerSeed};

    fn strategy(name: &str) -> Arc<dyn Strategy> {
        registry::build(name, &[]).expect("registered")
    }

    #[test]
    fn another_strategy_is_that_of_the_next_generation() {
        let mut shadow = Shadow::new("web", strategy("random"));
        shadow.set_strategy(strategy("maglev"));
        let snapshot = shadow.follow(&live().snapshot());
        assert_eq!(snapshot.strategy.descriptor().name, "maglev");
    }

    fn live() -> Membership {
        let mut members = Membership::new("web", strategy("round_robin"));
        for id in ["a", "b", "c"] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80").with_capacity(1));
        }
        members
    }

    fn in_flight(snapshot: &Snapshot) -> Vec<u32> {
        let all = snapshot.candidates().iter();
        all.map(|candidate| candidate.state().in_flight().count())
            .collect()
    }

    #[test]
    fn it_has_the_same_places_and_its_own_counts() {
        let mut members = live();
        let mut shadow = Shadow::new("web", strategy("least_request"));
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let (first, mirrored) = {
            let live = members.snapshot();
            let mirrored = shadow.follow(&live);
            (live, mirrored)
        };
        let lease = picker
            .pick(&mirrored, &PickContext::at(Nanos(1)))
            .expect("free");
        assert_eq!(in_flight(&first), [0, 0, 0]);
        assert_eq!(in_flight(&mirrored).iter().sum::<u32>(), 1);
        // The count goes with the endpoint into the next generation.
        members.set_admin("a", Admin::Draining).expect("known");
        members.upsert(Endpoint::new("aa", "10.0.0.2:80"));
        let next = members.snapshot();
        let mirrored = shadow.follow(&next);
        let ids = |snapshot: &Snapshot| -> Vec<String> {
            let all = snapshot.endpoints().iter();
            all.map(|endpoint| endpoint.id().to_owned()).collect()
        };
        assert_eq!(ids(&mirrored), ids(&next));
        assert_eq!(mirrored.standing(0), next.standing(0));
        assert_eq!(in_flight(&mirrored).iter().sum::<u32>(), 1);
        assert!(!mirrored.candidates()[0].is_open());
        drop(lease);
        assert_eq!(in_flight(&mirrored).iter().sum::<u32>(), 0);
    }
}
