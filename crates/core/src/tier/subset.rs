//! A few endpoints of a large cluster for each caller.
//!
//! Source of the default: gRFC A68. Each caller ranks the endpoints by a hash of its own name and theirs and keeps
//! the lowest: nobody has to coordinate, and one endpoint more or less changes at most one place. The other methods
//! are more even, and need to know which caller of how many this one is.

use std::sync::Arc;

use super::{aperture, rocksteadier};
use crate::hash::{Algorithm, Hasher};

/// By what the endpoints of a caller are chosen.
///
/// # Examples
///
/// ```
/// use evenkeel_core::SubsetMethod;
///
/// let named = SubsetMethod::ALL.map(|method| SubsetMethod::named(method.as_str()));
/// assert_eq!(named, SubsetMethod::ALL.map(Some));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubsetMethod {
    /// By hashes of both names. Needs nothing, and is as even as chance has it.
    #[default]
    Rendezvous,
    /// By places in lots of ten. Even where there are tens of callers, and moves little when one joins or leaves.
    Rocksteadier,
    /// By arcs of a circle, the endpoints at their ends in part. Exactly even if all callers send alike.
    DeterministicAperture,
}

impl SubsetMethod {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [
        Self::Rendezvous,
        Self::Rocksteadier,
        Self::DeterministicAperture,
    ];

    /// The word for it in configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rendezvous => "rendezvous",
            Self::Rocksteadier => "rocksteadier",
            Self::DeterministicAperture => "deterministic_aperture",
        }
    }

    /// The method of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == word)
    }
}

/// Which caller of how many.
///
/// # Examples
///
/// ```
/// use evenkeel_core::CallerPlace;
///
/// let last = CallerPlace::new(2, 3).expect("one of three");
/// assert_eq!((last.index(), last.of()), (2, 3));
/// assert!(CallerPlace::new(3, 3).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerPlace {
    index: u32,
    of: u32,
}

impl CallerPlace {
    /// The caller at place `index`, from 0, of `of` callers; none when there is no such place.
    #[must_use]
    pub const fn new(index: u32, of: u32) -> Option<Self> {
        if index < of {
            Some(Self { index, of })
        } else {
            None
        }
    }

    /// Where it stands, from 0.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many callers there are.
    #[must_use]
    pub const fn of(self) -> u32 {
        self.of
    }
}

/// How many endpoints of each tier a caller uses, and who it is.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Subset;
///
/// let subset = Subset::new(20, "gateway-1");
/// assert_eq!(subset.size(), 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subset {
    size: usize,
    caller: Arc<str>,
    method: SubsetMethod,
    place: Option<CallerPlace>,
}

/// An endpoint that is used in part: its place in the snapshot, and so many of so many parts.
pub(crate) type Portion = (u32, u32, u32);

impl Subset {
    /// `size` endpoints of each tier, at least 1, for the caller of that name.
    #[must_use]
    pub fn new(size: usize, caller: impl Into<Arc<str>>) -> Self {
        Self {
            size: size.max(1),
            caller: caller.into(),
            method: SubsetMethod::default(),
            place: None,
        }
    }

    /// Chosen by another method. As long as the place of the caller is not known, it is [`SubsetMethod::Rendezvous`].
    #[must_use]
    pub fn by(mut self, method: SubsetMethod, place: Option<CallerPlace>) -> Self {
        (self.method, self.place) = (method, place);
        self
    }

    /// The endpoints of each tier that are used.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whose endpoints they are.
    #[must_use]
    pub fn caller(&self) -> &str {
        &self.caller
    }

    /// By what they are chosen.
    #[must_use]
    pub fn method(&self) -> SubsetMethod {
        self.method
    }

    /// Which caller of how many this one is, if that is known.
    #[must_use]
    pub fn place(&self) -> Option<CallerPlace> {
        self.place
    }

    /// Leaves those of `members`, which are in the order of their ids, that this caller uses, in the same order, and
    /// says which of them it uses in part. O(n log n).
    ///
    /// Weights play no part: an endpoint of twice the weight gets twice the share where it is used, so
    /// it must not be used by twice as many.
    pub(crate) fn choose<'a>(
        &self,
        members: &mut Vec<u32>,
        id: impl Fn(u32) -> &'a str,
    ) -> Vec<Portion> {
        if members.len() <= self.size {
            return Vec::new();
        }
        let mut portions = Vec::new();
        *members = match (self.method, self.place) {
            (SubsetMethod::Rocksteadier, Some(place)) => {
                rocksteadier::choose(self.size, place, members, id)
            }
            (SubsetMethod::DeterministicAperture, Some(place)) => {
                let chosen = aperture::choose(self.size, place, members, id);
                let parts = |(index, part): &(u32, u32)| (*index, *part, place.of);
                portions = chosen.iter().map(parts).collect();
                portions.retain(|(_, part, of)| part < of);
                chosen.into_iter().map(|(index, _)| index).collect()
            }
            _ => self.lowest(members, id),
        };
        members.sort_unstable();
        portions
    }

    /// Those with the lowest hashes.
    fn lowest<'a>(&self, members: &[u32], id: impl Fn(u32) -> &'a str) -> Vec<u32> {
        let seed = Hasher::new(Algorithm::Xxh64, 0).hash(self.caller.as_bytes());
        let hasher = Hasher::new(Algorithm::Xxh64, seed);
        let mut ranked: Vec<(u64, u32)> = members
            .iter()
            .map(|index| (hasher.hash(id(*index).as_bytes()), *index))
            .collect();
        ranked.select_nth_unstable(self.size - 1);
        ranked.truncate(self.size);
        ranked.into_iter().map(|(_, index)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// By any method, for any place among however many callers, whatever endpoints are called: nobody is left
        /// without endpoints, and none is there twice, or in part that has no part.
        #[test]
        fn nobody_is_left_without_endpoints(
            ids in prop::collection::btree_set("\\PC{0,4}|[/%\n ]{1,3}", 1..60),
            apart in 1_u32..4,
            size in 0_usize..40,
            caller in "\\PC{0,6}",
            place in prop_oneof![Just(None), (any::<u32>(), any::<u32>()).prop_map(Some), (0_u32..40, 0_u32..40).prop_map(Some)],
        ) {
            let ids: Vec<String> = ids.into_iter().collect();
            // Those that are out of service leave gaps.
            let all: Vec<u32> = (0..ids.len() as u32).map(|at| at * apart).collect();
            let place = place.and_then(|(index, of)| CallerPlace::new(index, of));
            for method in SubsetMethod::ALL {
                let subset = Subset::new(size, &*caller).by(method, place);
                let mut members = all.clone();
                let portions = subset.choose(&mut members, |index| &*ids[(index / apart) as usize]);
                let wanted = subset.size().min(all.len());
                prop_assert!(members.len() >= wanted, "{:?}: {:?}", method, members);
                if method != SubsetMethod::DeterministicAperture {
                    prop_assert_eq!(members.len(), wanted);
                }
                prop_assert!(members.is_sorted() && members.iter().all(|one| all.contains(one)));
                let different: BTreeSet<u32> = members.iter().copied().collect();
                prop_assert_eq!(different.len(), members.len());
                for (index, part, of) in portions {
                    prop_assert!(members.contains(&index) && (1..of).contains(&part));
                }
            }
        }
    }

    fn subset(caller: &str, count: u32) -> Vec<u32> {
        let ids: Vec<String> = (0..count).map(|at| format!("e{at}")).collect();
        let mut members: Vec<u32> = (0..count).collect();
        let portions = Subset::new(20, caller).choose(&mut members, |index| &*ids[index as usize]);
        assert!(portions.is_empty());
        members
    }

    #[test]
    fn it_is_stable_and_each_caller_has_its_own() {
        let mine = subset("gw-1", 200);
        assert_eq!(mine.len(), 20);
        assert!(mine.is_sorted());
        assert_eq!(mine, subset("gw-1", 200));
        assert_ne!(mine, subset("gw-2", 200));
        assert_eq!(subset("gw-1", 12).len(), 12);
    }

    #[test]
    fn one_endpoint_more_changes_at_most_one_place() {
        for count in 21..200 {
            let (before, after) = (subset("gw-7", count), subset("gw-7", count + 1));
            let gone = before.iter().filter(|index| !after.contains(index)).count();
            assert!(gone <= 1, "{gone} of {before:?} are gone in {after:?}");
        }
    }

    /// 400 callers of 20 of 100 endpoints: 80 for each; a Poisson count deviates by some 9.
    #[test]
    fn no_endpoint_is_left_out_or_crowded() {
        let mut counts = [0; 100];
        for caller in 0..400 {
            for index in subset(&format!("gw-{caller}"), 100) {
                counts[index as usize] += 1;
            }
        }
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(least >= Some(&45) && most <= Some(&120), "{counts:?}");
    }

    #[test]
    fn a_caller_that_does_not_know_its_place_goes_by_hashes() {
        let ids: Vec<String> = (0..60).map(|at| format!("e{at}")).collect();
        for method in SubsetMethod::ALL {
            let mut members: Vec<u32> = (0..60).collect();
            let subset = Subset::new(20, "gw-1").by(method, None);
            assert_eq!((subset.size(), subset.caller()), (20, "gw-1"));
            assert_eq!((subset.method(), subset.place()), (method, None));
            let portions = subset.choose(&mut members, |index| &*ids[index as usize]);
            assert_eq!((members, portions), (tests::subset("gw-1", 60), vec![]));
            assert_eq!(SubsetMethod::named(method.as_str()), Some(method));
        }
        assert_eq!(CallerPlace::new(3, 3), None);
    }
}
