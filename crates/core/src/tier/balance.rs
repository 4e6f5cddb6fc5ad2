//! How evenly a fleet of callers would use its endpoints, before it does.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::subset::{CallerPlace, Subset, SubsetMethod};

/// How a fleet uses endpoints of equal weights, if all its callers send alike.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_core::{SubsetBalance, SubsetMethod};
///
/// let names = |kind: &str| (0..30).map(|at| Arc::from(format!("{kind}{at}"))).collect::<Vec<Arc<str>>>();
/// let balance = SubsetBalance::of(SubsetMethod::Rendezvous, 10, &names("caller"), &names("endpoint"));
/// assert!(balance.busiest >= balance.idlest);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubsetBalance {
    /// What the busiest endpoint gets, in means; 1: all get the same.
    pub busiest: f64,
    /// What the idlest one gets, in means.
    pub idlest: f64,
    /// How many endpoints nobody uses.
    pub unused: usize,
    /// The most endpoints that a caller uses.
    pub largest: usize,
    /// Which share of the places in subsets is another endpoint after the caller in the middle has left.
    pub moved: f64,
}

impl SubsetBalance {
    /// Of subsets of `size` out of `endpoints`, ids in their order, for these callers. O(callers · n log n).
    ///
    /// # Panics
    ///
    /// When there is no caller or no endpoint.
    #[must_use]
    pub fn of(
        method: SubsetMethod,
        size: usize,
        callers: &[Arc<str>],
        endpoints: &[Arc<str>],
    ) -> Self {
        assert!(
            !callers.is_empty() && !endpoints.is_empty(),
            "a fleet has callers, and endpoints to call"
        );
        let used = uses(method, size, callers, endpoints);
        let mut loads = vec![0.0; endpoints.len()];
        for parts in &used {
            let whole: f64 = parts.iter().map(|(_, part)| part).sum();
            parts
                .iter()
                .for_each(|(index, part)| loads[*index as usize] += part / whole);
        }
        let mean = callers.len() as f64 / endpoints.len() as f64;
        let extreme = |pick: fn(f64, f64) -> f64| {
            loads.iter().copied().reduce(pick).unwrap_or_default() / mean
        };
        Self {
            busiest: extreme(f64::max),
            idlest: extreme(f64::min),
            unused: loads.iter().filter(|load| **load == 0.0).count(),
            largest: used.iter().map(Vec::len).max().unwrap_or_default(),
            moved: moved(method, size, callers, endpoints, &used),
        }
    }
}

/// Which endpoints each caller uses, and how much of each.
type Used = Vec<Vec<(u32, f64)>>;

fn uses(method: SubsetMethod, size: usize, callers: &[Arc<str>], endpoints: &[Arc<str>]) -> Used {
    let of = callers.len() as u32;
    let places = (0..of).map(|index| CallerPlace::new(index, of));
    let subset = |(caller, place): (&Arc<str>, Option<CallerPlace>)| {
        let subset = Subset::new(size, Arc::clone(caller)).by(method, place);
        let mut members: Vec<u32> = (0..endpoints.len() as u32).collect();
        let portions = subset.choose(&mut members, |index| &endpoints[index as usize]);
        let part = |index: u32| {
            let mut known = portions.iter();
            let known = known.find(|(of, ..)| *of == index);
            known.map_or(1.0, |(_, part, of)| f64::from(*part) / f64::from(*of))
        };
        members
            .into_iter()
            .map(|index| (index, part(index)))
            .collect()
    };
    callers.iter().zip(places).map(subset).collect()
}

fn moved(
    method: SubsetMethod,
    size: usize,
    callers: &[Arc<str>],
    endpoints: &[Arc<str>],
    before: &Used,
) -> f64 {
    let middle = callers.len() / 2;
    let mut others = callers.to_vec();
    others.remove(middle);
    let after = uses(method, size, &others, endpoints);
    let mut stayed = before.clone();
    stayed.remove(middle);
    let (mut places, mut moved) = (0, 0);
    for (before, after) in stayed.iter().zip(&after) {
        let before: BTreeSet<u32> = before.iter().map(|(index, _)| *index).collect();
        let new = after.iter().filter(|(index, _)| !before.contains(index));
        moved += new.count();
        places += after.len();
    }
    moved as f64 / f64::from(places.max(1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(what: &str, count: usize) -> Vec<Arc<str>> {
        (0..count)
            .map(|at| format!("{what}-{at:04}").into())
            .collect()
    }

    fn balance(method: SubsetMethod, size: usize, callers: usize, count: usize) -> SubsetBalance {
        SubsetBalance::of(method, size, &names("gw", callers), &names("e", count))
    }

    #[test]
    fn methods_are_as_even_as_their_sources_say() {
        use SubsetMethod::{DeterministicAperture, Rendezvous, Rocksteadier};
        let chance = balance(Rendezvous, 20, 20, 100);
        assert!(chance.busiest > 1.4 && chance.largest == 20, "{chance:?}");
        assert_eq!(chance.moved, 0.0);
        let rocksteadier = balance(Rocksteadier, 20, 20, 100);
        assert!(
            (rocksteadier.busiest - 1.0).abs() < 1e-9,
            "{rocksteadier:?}"
        );
        let aperture = balance(DeterministicAperture, 20, 7, 100);
        assert!((aperture.busiest - 1.0).abs() < 1e-9, "{aperture:?}");
        assert!((aperture.idlest - 1.0).abs() < 1e-9, "{aperture:?}");
        // Ten callers make a lot; of a lone one the others hear nothing.
        assert_eq!(balance(Rocksteadier, 20, 1, 100).unused, 80);
    }

    /// A rolling update that goes through endpoints in the order of their ids meets no subset twice in a row more
    /// often than chance would: 199 pairs, each in a subset with a probability of 20 · 19 / (200 · 199).
    #[test]
    fn neighbours_are_not_in_one_subset_beyond_chance() {
        let (callers, endpoints) = (names("gw", 30), names("e", 200));
        for method in SubsetMethod::ALL {
            let used = uses(method, 20, &callers, &endpoints);
            let pairs = |used: &Vec<(u32, f64)>| {
                let pairs = used.windows(2);
                pairs.filter(|pair| pair[0].0 + 1 == pair[1].0).count()
            };
            let pairs: usize = used.iter().map(pairs).sum();
            assert!(pairs as f64 <= 1.9 * 30.0 * 1.6, "{method:?}: {pairs}");
        }
    }

    #[test]
    fn a_caller_that_leaves_moves_those_behind_it() {
        let moved = |method| balance(method, 20, 20, 100).moved;
        assert!(moved(SubsetMethod::Rocksteadier) > 0.2);
        assert!((0.01..0.9).contains(&moved(SubsetMethod::DeterministicAperture)));
    }
}
