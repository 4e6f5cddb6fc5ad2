//! Who could get nothing at all, by a generation of a cluster.

use std::sync::Arc;

use evenkeel_core::{Aside, Snapshot};

use crate::cluster::View;

/// How many are named: receipts stay in memory, those of a generation share one list.
const NAMED_MAX: usize = 32;

/// The endpoints of a generation that no request is sent to as things are, and why. Who was full is not
/// known by it: that changes from one request to the next.
#[derive(Debug, Default)]
pub(crate) struct Asides {
    named: Vec<(Arc<str>, Aside)>,
    left_out: usize,
}

impl Asides {
    /// Those out of service before those that others go before. O(n log n).
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let endpoints = snapshot.endpoints().iter().enumerate();
        let mut named: Vec<_> = endpoints
            .filter_map(|(index, endpoint)| Some((endpoint.shared_id(), snapshot.aside(index)?)))
            .filter(|(_, aside)| *aside != Aside::Full)
            .collect();
        named.sort_by_key(|(_, aside)| !matches!(aside, Aside::Standing(_)));
        let left_out = named.len().saturating_sub(NAMED_MAX);
        named.truncate(NAMED_MAX);
        named.shrink_to_fit();
        Self { named, left_out }
    }

    /// Those of a decision, by id and reason.
    pub(super) fn told(&self) -> impl Iterator<Item = (&str, Aside)> {
        self.named.iter().map(|(id, aside)| (&**id, *aside))
    }

    /// How many more there are.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }
}

impl View {
    /// Who could get nothing, found once for all receipts of a generation.
    pub(super) fn asides(&self) -> Arc<Asides> {
        let found = self
            .asides
            .get_or_init(|| Arc::new(Asides::of(&self.snapshot)));
        Arc::clone(found)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::strategy::registry;
    use evenkeel_core::{Admin, Endpoint, Membership};

    use super::*;

    #[test]
    fn those_out_of_service_come_first_and_the_list_has_an_end() {
        let strategy = registry::build("round_robin", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        members.upsert(Endpoint::new("a", "10.0.0.1:80"));
        for number in 0..40 {
            let spare = Endpoint::new(format!("s{number}"), "10.0.0.1:80");
            members.upsert(spare.with_tier(1));
        }
        members.upsert(Endpoint::new("z", "10.0.0.1:80"));
        members.set_admin("z", Admin::Draining).expect("known");
        let asides = Asides::of(&members.snapshot());
        let told: Vec<_> = asides.told().map(|(id, why)| (id, why.as_str())).collect();
        assert_eq!(told[..2], [("z", "draining"), ("s0", "spare")]);
        assert_eq!((told.len(), asides.left_out()), (NAMED_MAX, 9));
    }
}
