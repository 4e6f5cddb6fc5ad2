//! Subsets by arcs of a circle, as Finagle's deterministic aperture.
//!
//! Source: Finagle's `DeterministicAperture`. The endpoints share a circle in equal arcs, and so do the callers. A
//! caller uses what its arc covers, widened to so many callers' arcs that it covers `size` endpoints; what it covers
//! of an endpoint is the endpoint's weight. As every point is under equally many callers, endpoints get exactly
//! equal shares of what callers send alike.
//!
//! The endpoints stand in the order of a hash of their ids, so that those of one rack, or one rolling update, are
//! not neighbours.

use super::subset::CallerPlace;
use crate::hash::{Algorithm, Hasher};

/// The endpoints of the caller at a place, in no order, each with how much of it is used, in parts of as many as
/// there are callers. At least `size`, unless there are fewer. O(n log n).
pub(super) fn choose<'a>(
    size: usize,
    place: CallerPlace,
    members: &[u32],
    id: impl Fn(u32) -> &'a str,
) -> Vec<(u32, u32)> {
    let hasher = Hasher::new(Algorithm::Xxh64, 0);
    let mut ring: Vec<(u64, u32)> = members
        .iter()
        .map(|index| (hasher.hash(id(*index).as_bytes()), *index))
        .collect();
    ring.sort_unstable();
    let (callers, count) = (u64::from(place.of()), members.len() as u64);
    // The circle in units of which each endpoint has as many as there are callers, and each caller as many as there
    // are endpoints.
    let whole = callers * count;
    let arcs = (size as u64 * callers).div_ceil(count).min(callers);
    let from = u64::from(place.index()) * count;
    let to = from + arcs * count;
    let covered = |at: u64| {
        let (begin, end) = (at * callers, (at + 1) * callers);
        let overlap = |turn: u64| (to.min(end + turn)).saturating_sub(from.max(begin + turn));
        // An arc that goes round may reach its first endpoint again, from behind.
        overlap(0) + overlap(whole)
    };
    (0..)
        .zip(&ring)
        .map(|(at, (_, index))| (*index, covered(at) as u32))
        .filter(|(_, part)| *part > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subset(endpoints: usize, size: usize, index: u32, of: u32) -> Vec<(u32, u32)> {
        let ids: Vec<String> = (0..endpoints).map(|at| format!("e{at}")).collect();
        let members: Vec<u32> = (0..endpoints as u32).collect();
        let place = CallerPlace::new(index, of).expect("a place");
        choose(size, place, &members, |at| &*ids[at as usize])
    }

    proptest! {
        /// To the last part: what callers use of each endpoint adds up to the same.
        #[test]
        fn all_endpoints_are_covered_exactly_alike(
            endpoints in 2_usize..300, size in 1_usize..60, callers in 1_u32..60,
        ) {
            let size = size.min(endpoints - 1);
            let mut sums = vec![0_u64; endpoints];
            for caller in 0..callers {
                let subset = subset(endpoints, size, caller, callers);
                prop_assert!(subset.len() >= size, "{:?}", subset);
                for (index, part) in subset {
                    prop_assert!(part <= callers);
                    sums[index as usize] += u64::from(part);
                }
            }
            let arcs = (size * callers as usize).div_ceil(endpoints).min(callers as usize);
            prop_assert!(sums.iter().all(|sum| *sum == arcs as u64 * u64::from(callers)), "{:?}", sums);
        }

        /// No more endpoints than the arc needs: as many arcs of callers as cover `size`, and one that is cut in two.
        #[test]
        fn a_subset_is_no_larger_than_it_must_be(
            endpoints in 2_usize..300, size in 1_usize..60, callers in 1_u32..60,
        ) {
            let size = size.min(endpoints - 1);
            let most = size + endpoints.div_ceil(callers as usize) + 1;
            for caller in 0..callers {
                prop_assert!(subset(endpoints, size, caller, callers).len() <= most);
            }
        }

        /// An endpoint that comes moves the ends of arcs by less than its own length.
        #[test]
        fn one_endpoint_more_moves_little(endpoints in 2_usize..300, size in 1_usize..60, caller in 0_u32..20) {
            // So many that the arc stays as wide.
            let size = size.min(endpoints - 1);
            let arcs = |endpoints: usize| (size * 20).div_ceil(endpoints).min(20);
            prop_assume!(arcs(endpoints) == arcs(endpoints + 1));
            let (before, after) = (subset(endpoints, size, caller, 20), subset(endpoints + 1, size, caller, 20));
            let stays = |(index, _): &&(u32, u32)| after.iter().any(|(other, _)| other == index);
            let gone = before.len() - before.iter().filter(stays).count();
            prop_assert!(gone <= 2, "{} of {} are gone", gone, before.len());
        }
    }

    /// Worked out by hand: three callers of two of four endpoints have two arcs each, of 4/3 endpoints.
    #[test]
    fn ends_are_used_in_part() {
        let parts = |caller| -> Vec<u32> {
            let subset = subset(4, 2, caller, 3);
            subset.into_iter().map(|(_, part)| part).collect()
        };
        assert_eq!(parts(0), [3, 3, 2]);
        assert_eq!(parts(1), [2, 3, 3]);
        assert_eq!(parts(2), [3, 1, 1, 3]);
    }

    /// A caller that joins turns the others' arcs by less than its own.
    #[test]
    fn one_caller_more_keeps_most() {
        let moved: usize = (0..20)
            .map(|caller| {
                let (before, after) = (subset(200, 40, caller, 20), subset(200, 40, caller, 21));
                let gone = |(index, _): &&(u32, u32)| after.iter().all(|(other, _)| other != index);
                before.iter().filter(gone).count()
            })
            .sum();
        assert!(moved < 20 * 40 / 4, "{moved} of 800 move");
    }
}
