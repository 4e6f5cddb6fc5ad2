//! Which share of the requests an endpoint is to get, to hold against what it gets.

use crate::snapshot::Snapshot;
use crate::tier::zone::WHOLE;

impl Snapshot {
    /// The share of the first picks that each endpoint is due, from 0 to 1: that of its tier and zone, by its weight
    /// among those that may be chosen there. O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
    /// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
    /// members.upsert(Endpoint::new("a", "10.0.0.1:80").with_weight(3));
    /// members.upsert(Endpoint::new("b", "10.0.0.2:80"));
    /// members.upsert(Endpoint::new("spare", "10.0.0.3:80").with_tier(1));
    /// assert_eq!(members.snapshot().due(), [0.75, 0.25, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn due(&self) -> Vec<f64> {
        let mut due = vec![0.0; self.endpoints().len()];
        let whole = f64::from(WHOLE);
        let taken = self.groups().last().map_or(0, |group| group.share_up_to);
        let mut before = 0;
        for (at, group) in self.groups().iter().enumerate() {
            let mut share = f64::from(group.share_up_to.saturating_sub(before)) / whole;
            before = group.share_up_to;
            if at == 0 {
                // What is for no group, the first one takes.
                share += f64::from(WHOLE.saturating_sub(taken)) / whole;
            }
            let weight = |index: &u32| f64::from(self.candidates()[*index as usize].weight());
            let all: f64 = group.eligible.iter().map(weight).sum();
            for index in group.eligible.iter().filter(|_| all > 0.0) {
                due[*index as usize] += share * weight(index) / all;
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::registry;
    use crate::{Endpoint, Membership, PickContext, Picker, PickerSeed};

    /// What is due is what a strategy that goes by weights alone comes to.
    #[test]
    fn what_is_due_is_what_weights_come_to() {
        let strategy = registry::build("weighted_random", &[]).expect("it is known");
        let mut members = Membership::new("web", strategy);
        members.set_zone(Some("z1".into()));
        for (id, weight, tier, zone) in [
            ("a", 3, 0, "z1"),
            ("b", 1, 0, "z2"),
            ("c", 1, 0, "z2"),
            ("d", 5, 0, "z2"),
            ("e", 2, 1, "z1"),
            ("f", 1, 1, "z2"),
            ("g", 1, 2, "z1"),
        ] {
            let endpoint = Endpoint::new(id, "10.0.0.1:80").with_weight(weight);
            members.upsert(endpoint.with_tier(tier).with_zone(zone));
        }
        for sick in [
            &[][..],
            &["a", "b"],
            &["a", "b", "c"],
            &["a", "b", "c", "d"],
        ] {
            for id in ["a", "b", "c", "d"] {
                members.set_healthy(id, !sick.contains(&id)).expect("known");
            }
            let snapshot = members.snapshot();
            let due = snapshot.due();
            assert!((due.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{due:?}");
            let mut counts = vec![0_u32; due.len()];
            let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
            for _ in 0..40_000 {
                let lease = picker
                    .pick(&snapshot, &PickContext::default())
                    .expect("somebody");
                counts[lease.index()] += 1;
            }
            for (count, due) in counts.into_iter().zip(&due) {
                let share = f64::from(count) / 40_000.0;
                assert!((share - due).abs() < 0.012, "{sick:?}: {share} for {due}");
            }
        }
    }
}
