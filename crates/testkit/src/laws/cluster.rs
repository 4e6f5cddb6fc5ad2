//! Clusters and runs of picks that the laws share.

use evenkeel_core::{
    Endpoint, Lease, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, Rng, Snapshot,
};

use super::Subject;

/// The time of all picks that do not need time to pass.
pub(super) const NOW: Nanos = Nanos::from_secs(1_000);

/// The id of endpoint `at`; ids sort as their numbers do.
pub(super) fn id(at: usize) -> String {
    format!("e{at:05}")
}

pub(super) fn endpoint(at: usize, weight: u16) -> Endpoint {
    Endpoint::new(id(at), format!("10.0.0.1:{}", 1 + at)).with_weight(weight)
}

/// A cluster of endpoints of these weights.
pub(super) fn cluster(subject: &Subject, weights: &[u16]) -> Membership {
    let mut members = Membership::new("laws", subject.strategy());
    for (at, weight) in weights.iter().enumerate() {
        members.upsert(endpoint(at, *weight));
    }
    members
}

/// What each endpoint should get of the picks, in any unit.
pub(super) fn shares(subject: &Subject, weights: &[u16]) -> Vec<f64> {
    let share = |weight: &u16| match weight {
        0 => 0.0,
        _ if !subject.traits().weighted => 1.0,
        weight => f64::from(*weight),
    };
    weights.iter().map(share).collect()
}

/// A picker, and keys for those strategies that look at them.
pub(super) struct Run {
    picker: Picker,
    keys: Rng,
}

impl Run {
    pub(super) fn new(root: u64, picker: u32) -> Self {
        let keys = root ^ u64::from(picker) << 32;
        Self::with(Picker::new(PickerSeed { root, picker }), keys)
    }

    pub(super) fn with(picker: Picker, keys: u64) -> Self {
        Self {
            picker,
            keys: Rng::new(keys),
        }
    }

    /// The context of the next request.
    pub(super) fn next_context(&mut self) -> PickContext {
        PickContext::at(NOW).with_key(self.keys.next_u64())
    }

    /// A pick that is held.
    pub(super) fn hold<'s>(&mut self, snapshot: &'s Snapshot) -> Result<Lease<'s>, String> {
        let ctx = self.next_context();
        let lease = self.picker.pick(snapshot, &ctx);
        lease.map_err(|error| format!("a pick fails: {error}"))
    }

    /// A pick that is answered before the next one.
    pub(super) fn pick(&mut self, snapshot: &Snapshot) -> Result<usize, String> {
        let lease = self.hold(snapshot)?;
        let index = lease.index();
        lease.finish(Outcome::Success, NOW);
        Ok(index)
    }

    /// How many of so many picks fall on each endpoint.
    pub(super) fn count(&mut self, snapshot: &Snapshot, picks: u64) -> Result<Vec<u64>, String> {
        let mut counts = vec![0; snapshot.endpoints().len()];
        for _ in 0..picks {
            counts[self.pick(snapshot)?] += 1;
        }
        Ok(counts)
    }

    pub(super) fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }
}
