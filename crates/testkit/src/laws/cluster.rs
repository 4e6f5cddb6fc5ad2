//! Clusters and picks that the laws and the core's own tests share.

use evenkeel_core::{
    Endpoint, Lease, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, Rng, Snapshot,
};

use super::Subject;

/// The time of all picks that do not need time to pass.
pub(super) const NOW: Nanos = Nanos::from_secs(1_000);

/// The id of endpoint `at`; ids sort as their numbers do.
#[must_use]
pub fn id(at: usize) -> String {
    format!("e{at:05}")
}

/// Endpoint `at` with an address of its own.
#[must_use]
pub fn endpoint(at: usize, weight: u16) -> Endpoint {
    Endpoint::new(id(at), format!("10.0.0.1:{}", 1 + at)).with_weight(weight)
}

/// A cluster of endpoints of these weights.
#[must_use]
pub fn cluster(subject: &Subject, weights: &[u16]) -> Membership {
    let mut members = Membership::new("laws", subject.strategy());
    for (at, weight) in weights.iter().enumerate() {
        members.upsert(endpoint(at, *weight));
    }
    subject.gate(&mut members);
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

/// A pick at time zero and without a key, which is answered at once.
///
/// # Panics
///
/// When no endpoint can be picked.
#[track_caller]
pub fn pick(picker: &mut Picker, snapshot: &Snapshot) -> usize {
    let lease = picker.pick(snapshot, &PickContext::at(Nanos(0)));
    let lease = lease.expect("an endpoint");
    let index = lease.index();
    lease.finish(Outcome::Success, Nanos(0));
    index
}

/// How many of so many such [`pick`]s fall on each endpoint.
///
/// # Panics
///
/// When no endpoint can be picked.
#[track_caller]
pub fn counts(picker: &mut Picker, snapshot: &Snapshot, picks: usize) -> Vec<u64> {
    let mut counts = vec![0; snapshot.endpoints().len()];
    for _ in 0..picks {
        counts[pick(picker, snapshot)] += 1;
    }
    counts
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
