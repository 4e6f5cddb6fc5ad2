//! Decides for a shadow.

use super::held::Held;
use super::witness::Witness;
use crate::clock::Nanos;
use crate::pick::context::{NoEndpoint, PickContext};
use crate::pick::lease::Lease;
use crate::pick::picker::{Picker, PickerSeed};
use crate::snapshot::Snapshot;

/// One thread's decisions for a shadow.
///
/// Nothing is sent, so nothing tells how a request of its would have ended: it meets the end of one that was
/// really sent to the endpoint that was chosen, occupies it for as long, and is learned from as it would be
/// live. What is over is let go of before the next decision, or by [`ShadowPicker::release`].
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
#[derive(Debug)]
pub struct ShadowPicker {
    picker: Picker,
    held: Held,
}

impl ShadowPicker {
    /// A picker that has not decided anything yet. It asks for all the memory that it will need.
    #[must_use]
    pub fn new(seed: PickerSeed) -> Self {
        Self {
            picker: Picker::new(seed),
            held: Held::new(seed.picker as u8),
        }
    }

    /// Chooses an endpoint, and says at which place of the snapshot it is.
    ///
    /// Where it is not known how requests end there, the lease comes too, to be dropped when the real
    /// request has ended. What a pick costs, and O(log n) for n requests in flight, amortised: all that is over is
    /// let go of first. No allocation but in the first pick on another snapshot, which takes O(n) for its endpoints.
    ///
    /// # Errors
    ///
    /// When no endpoint can take the request.
    #[inline]
    pub fn pick<'s>(
        &mut self,
        snapshot: &'s Snapshot,
        ctx: &PickContext,
        witness: &Witness,
    ) -> Result<(usize, Option<Lease<'s>>), NoEndpoint> {
        self.release(snapshot, ctx.now);
        let lease = self.picker.pick(snapshot, ctx)?;
        let index = lease.index();
        let Some(end) = witness.end_at(index) else {
            return Ok((index, Some(lease)));
        };
        self.held.hold(snapshot, index as u32, end, ctx.now);
        // Its slot went over, and nobody waits for slots of a shadow.
        std::mem::forget(lease);
        Ok((index, None))
    }

    /// Lets go of what is over by `now`, for threads that have nothing to decide for a while.
    #[inline]
    pub fn release(&mut self, snapshot: &Snapshot, now: Nanos) {
        self.held.follow(snapshot);
        self.held.release(snapshot, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{Endpoint, KeyPolicy, Membership, Outcome, Shadow};

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn counts(snapshot: &Snapshot) -> Vec<u32> {
        let all = snapshot.candidates().iter();
        all.map(|one| one.state().in_flight().count()).collect()
    }

    fn live(ids: &[&str]) -> Membership {
        let strategy = registry::build("round_robin", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        for id in ids {
            members.upsert(Endpoint::new(*id, "10.0.0.1:80"));
        }
        members
    }

    #[test]
    fn a_choice_occupies_its_endpoint_for_as_long_as_requests_take_there() {
        let members = live(&["a", "b"]).snapshot();
        let strategy = registry::build("round_robin", &[]).expect("registered");
        let mirrored = Shadow::new("web", strategy).follow(&members);
        let mut picker = ShadowPicker::new(PickerSeed { root: 1, picker: 0 });
        let mut witness = Witness::default();
        witness.follow(&members);
        let mut pick = |witness: &Witness, at| {
            let picked = picker.pick(&mirrored, &PickContext::at(ms(at)), witness);
            picked.map(|(_, lease)| lease).expect("free")
        };
        let unknown = pick(&witness, 0);
        assert_eq!(counts(&mirrored).iter().sum::<u32>(), 1);
        drop(unknown);
        assert_eq!(counts(&mirrored), [0, 0]);
        witness.saw(0, Outcome::Success, ms(10), 1);
        witness.saw(1, Outcome::Failure, ms(50), 1);
        for at in 1..=4 {
            assert!(pick(&witness, at).is_none(), "it is known how that ends");
        }
        assert_eq!(counts(&mirrored), [2, 2]);
        picker.release(&mirrored, ms(10));
        assert_eq!(counts(&mirrored), [2, 2]);
        picker.release(&mirrored, ms(14));
        assert_eq!(counts(&mirrored), [0, 2]);
        let state = |index: usize| mirrored.candidates()[index].state();
        assert_eq!(state(0).latency().last(), Some(ms(10)));
        assert_eq!(state(1).latency().last(), None);
        picker.release(&mirrored, ms(54));
        assert_eq!(counts(&mirrored), [0, 0]);
        assert_eq!(state(1).failures_in_row(), 2);
    }

    #[test]
    fn what_is_in_flight_goes_from_snapshot_to_snapshot_and_ends_with_its_picker() {
        let mut members = live(&["b", "c"]);
        members.set_key_policy(KeyPolicy {
            bounded_load: Some(1.5),
            ..KeyPolicy::default()
        });
        // Its share is bounded, so all requests in flight are counted too.
        let strategy = registry::build("maglev", &[]).expect("registered");
        let mut shadow = Shadow::new("web", strategy);
        let mut witness = Witness::default();
        let mut picker = ShadowPicker::new(PickerSeed { root: 1, picker: 0 });
        let first = members.snapshot();
        let mirrored = shadow.follow(&first);
        witness.follow(&first);
        for index in 0..2 {
            witness.saw(index, Outcome::Success, ms(10), 1);
        }
        for key in 0..40 {
            let ctx = PickContext::at(ms(0)).with_key(key << 57);
            picker.pick(&mirrored, &ctx, &witness).expect("free");
        }
        let before = counts(&mirrored);
        assert!(before[0] + before[1] == 40 && before[0] > 0 && before[1] > 0);
        members.upsert(Endpoint::new("a", "10.0.0.2:80"));
        members.remove("c").expect("known");
        let next = shadow.follow(&members.snapshot());
        picker.release(&next, ms(5));
        assert_eq!(counts(&next), [0, before[0]]);
        let total = next.terms.in_flight.clone().expect("a bound needs it");
        assert_eq!(total.sum(), u64::from(before[0]));
        drop(picker);
        assert_eq!((counts(&next), total.sum()), (vec![0, 0], 0));
    }
}
