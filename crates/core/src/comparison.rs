//! All endpoints of a snapshot beside each other, for whoever asks why one gets nothing.

use crate::clock::Nanos;
use crate::load::Cost;
use crate::pick::receipt::Compared;
use crate::snapshot::{Group, Snapshot, Standing};

/// Why an endpoint gets no new request as things are.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::{Admin, Aside, Standing};
///
/// members.set_admin("a", Admin::Draining)?;
/// let aside = members.snapshot().aside(0);
/// assert_eq!(aside, Some(Aside::Standing(Standing::Draining)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aside {
    /// It has as many requests in flight as it may have.
    Full,
    /// It is not in service, for this reason.
    Standing(Standing),
    /// Its tier, or its zone, takes none as long as others can serve.
    Spare,
    /// It is none of the part of the cluster that this caller uses.
    Subset,
}

impl Aside {
    /// The word for it in dry runs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Standing(standing) => standing.as_str(),
            Self::Spare => "spare",
            Self::Subset => "outside_subset",
        }
    }
}

impl Snapshot {
    /// Every endpoint that may be chosen, as a strategy that compares them would read it at `now`: by
    /// latency times load where the strategy looks at latencies, else by load; over the weight. O(n).
    #[must_use]
    pub fn compare_all(&self, now: Nanos) -> Vec<Compared> {
        let aware = self.strategy().descriptor().traits.latency_aware;
        let indexes = 0..self.candidates().len() as u32;
        let open = indexes.filter(|index| self.candidates()[*index as usize].is_open());
        open.map(|index| {
            let candidate = &self.candidates()[index as usize];
            let load = candidate.load(now, self.failure_half_life());
            if !aware {
                return Compared::by_load(index, candidate.weight(), load);
            }
            let latency = candidate.latency(now, self.terms.latency_decay);
            let latency = latency.unwrap_or(self.typical_latency());
            let cost = Cost::new(latency, load, candidate.weight());
            Compared::by_cost(index, load, latency, cost)
        })
        .collect()
    }

    /// Why the endpoint at a place gets no new request as things are, if it gets none. O(groups log n).
    ///
    /// # Panics
    ///
    /// When there is no such place.
    #[must_use]
    pub fn aside(&self, index: usize) -> Option<Aside> {
        if !self.candidates()[index].is_open() {
            return Some(match self.standing(index) {
                Standing::Ready => Aside::Subset,
                standing => Aside::Standing(standing),
            });
        }
        let mut before = 0;
        let takes = |group: &Group| {
            let share = group.share_up_to - std::mem::replace(&mut before, group.share_up_to);
            share > 0 && group.eligible.binary_search(&(index as u32)).is_ok()
        };
        if !self.groups().iter().any(takes) {
            return Some(Aside::Spare);
        }
        self.is_saturated(index).then_some(Aside::Full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{Admin, Endpoint, Membership, PickContext, Picker, PickerSeed, Subset};

    fn cluster(strategy: &str) -> Membership {
        let strategy = registry::build(strategy, &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        for (id, tier) in [("a", 0), ("b", 0), ("c", 0), ("d", 1)] {
            let endpoint = Endpoint::new(id, "10.0.0.1:80").with_tier(tier);
            members.upsert(endpoint.with_capacity(1));
        }
        members
    }

    #[test]
    fn who_gets_nothing_is_told_why() {
        let mut members = cluster("round_robin");
        members.set_admin("a", Admin::Draining).expect("known");
        let snapshot = members.snapshot();
        let words = |snapshot: &Snapshot| -> Vec<&str> {
            let asides = (0..4).map(|index| snapshot.aside(index));
            asides
                .map(|aside| aside.map_or("", Aside::as_str))
                .collect()
        };
        assert_eq!(words(&snapshot), ["draining", "", "", "spare"]);
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let lease = picker.pick(&snapshot, &PickContext::at(Nanos(1)));
        let lease = lease.expect("a free slot");
        assert_eq!(snapshot.aside(lease.index()), Some(Aside::Full));
        drop(lease);
        members.set_subset(Some(Subset::new(1, "gw-1")));
        let outside = words(&members.snapshot());
        assert!(outside.contains(&"outside_subset"), "{outside:?}");
    }

    #[test]
    fn all_that_may_be_chosen_are_compared() {
        for (strategy, by_latency) in [("least_request", false), ("peak_ewma", true)] {
            let mut members = cluster(strategy);
            members.set_admin("a", Admin::Disabled).expect("known");
            let all = members.snapshot().compare_all(Nanos(1));
            let indexes: Vec<u32> = all.iter().map(|compared| compared.index).collect();
            assert_eq!(indexes, [1, 2, 3], "{strategy}");
            assert!(
                all.iter()
                    .all(|compared| compared.latency.is_some() == by_latency)
            );
        }
    }
}
