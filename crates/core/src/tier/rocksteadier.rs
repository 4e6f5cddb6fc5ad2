//! Subsets by places in lots.
//!
//! Source: Ward, Wankadia, Guliani, "Reinventing Backend Subsetting at Google" (ACM Queue, 2022). Endpoints and
//! callers are cut into lots of ten. A lot of callers shuffles each lot of endpoints in its own way and lays them
//! side by side as the columns of a table; a caller begins at a row of its own and reads row by row. So the ten
//! callers of a lot share the ten endpoints of each lot among them evenly. Both the columns and the rows are
//! ordered by the binary van der Corput sequence, which stays even however many there are.
//!
//! What differs from the source: within a lot, endpoints are ordered by a hash of their ids and not of their places,
//! so that those of a lot keep their order when one before them goes.

use super::subset::CallerPlace;
use crate::hash::{Algorithm, Hasher};

/// How many endpoints, or callers, make a lot.
const LOT: usize = 10;

/// At which row each caller of a lot begins: the rank of the reversed bits of 0 to 9.
const ROWS: [usize; LOT] = [0, 5, 3, 8, 2, 7, 4, 9, 1, 6];

/// The endpoints of the caller at a place, in no order: `size` of more than so many. O(n log n) for n endpoints, as
/// their lots are sorted.
pub(super) fn choose<'a>(
    size: usize,
    place: CallerPlace,
    members: &[u32],
    id: impl Fn(u32) -> &'a str,
) -> Vec<u32> {
    let (lot, first) = (
        place.index() / LOT as u32,
        ROWS[place.index() as usize % LOT],
    );
    let columns: Vec<[Option<u32>; LOT]> = order(members.len().div_ceil(LOT), lot)
        .into_iter()
        .map(|at| {
            let of = &members[at * LOT..members.len().min((at + 1) * LOT)];
            shuffled(of, u64::from(lot) << 32 | at as u64, &id)
        })
        .collect();
    let rows = (0..LOT).map(|row| (first + row) % LOT);
    let cells = rows.flat_map(|row| columns.iter().filter_map(move |column| column[row]));
    cells.take(size).collect()
}

/// The lots of endpoints in the order in which a lot of callers sees them: around the circle from its own position.
fn order(lots: usize, from: u32) -> Vec<usize> {
    let position = |lot: usize| (lot as u32).reverse_bits();
    let mut order: Vec<usize> = (0..lots).collect();
    order.sort_unstable_by_key(|lot| position(*lot));
    let first = order.partition_point(|lot| position(*lot) < from.reverse_bits());
    order.rotate_left(first % lots.max(1));
    order
}

/// A lot in the order of one of callers; what it lacks to ten stands somewhere in it too.
fn shuffled<'a>(of: &[u32], seed: u64, id: &impl Fn(u32) -> &'a str) -> [Option<u32>; LOT] {
    let hasher = Hasher::new(Algorithm::Xxh64, seed);
    let mut slots: [(u64, Option<u32>); LOT] = std::array::from_fn(|at| match of.get(at) {
        Some(index) => (hasher.hash(id(*index).as_bytes()), Some(*index)),
        None => (hasher.hash(&[at as u8]), None),
    });
    slots.sort_unstable();
    slots.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("e{at:05}")).collect()
    }

    /// Else the same endpoints would be the first of all lots of callers.
    #[test]
    fn each_lot_of_callers_sees_another_order() {
        let ids = ids(LOT);
        let orders = [0, 10, 20].map(|caller| subset(&ids, LOT, caller));
        assert!(
            orders[0] != orders[1] && orders[1] != orders[2],
            "{orders:?}"
        );
    }

    /// The positions of 0, 1, 2 and 3 on the circle are 0, a half, a quarter and three quarters.
    #[test]
    fn a_lot_of_callers_begins_at_its_own_position() {
        assert_eq!(order(4, 0), [0, 2, 1, 3]);
        assert_eq!(order(4, 1), [1, 3, 0, 2]);
        assert_eq!(order(3, 3), [0, 2, 1], "round to the first");
        assert!(order(0, 1).is_empty());
    }

    fn subset(ids: &[String], size: usize, index: u32) -> Vec<u32> {
        let members: Vec<u32> = (0..ids.len() as u32).collect();
        let place = CallerPlace::new(index, index + 1).expect("a place");
        choose(size, place, &members, |at| &*ids[at as usize])
    }

    fn counts(endpoints: usize, size: usize, callers: u32) -> Vec<usize> {
        let ids = ids(endpoints);
        let mut counts = vec![0; endpoints];
        for index in (0..callers).flat_map(|caller| subset(&ids, size, caller)) {
            counts[index as usize] += 1;
        }
        counts
    }

    /// How many of `before` are not in `after`, by their ids.
    fn gone(before: (&[String], &[u32]), after: (&[String], &[u32])) -> usize {
        let names = |(ids, of): (&[String], &[u32])| -> std::collections::BTreeSet<String> {
            of.iter().map(|at| ids[*at as usize].clone()).collect()
        };
        names(before).difference(&names(after)).count()
    }

    #[test]
    fn rows_are_the_ranks_of_reversed_bits() {
        let mut order: Vec<u32> = (0..LOT as u32).collect();
        order.sort_unstable_by_key(|at| at.reverse_bits());
        for (rank, at) in order.into_iter().enumerate() {
            assert_eq!(ROWS[at as usize], rank);
        }
    }

    proptest! {
        #[test]
        fn a_subset_has_its_size_and_nobody_twice(
            endpoints in 2_usize..400, size in 1_usize..60, caller in 0_u32..100,
        ) {
            let size = size.min(endpoints - 1);
            let mut subset = subset(&ids(endpoints), size, caller);
            subset.sort_unstable();
            subset.dedup();
            prop_assert_eq!(subset.len(), size);
        }

        /// With lots that are full, each lot of callers gives an endpoint the mean rounded down or up, and all ten
        /// endpoints of a lot the same.
        #[test]
        fn full_lots_are_ideally_balanced(
            lots in 1_usize..30, size in 1_usize..80, caller_lots in 1_u32..8,
        ) {
            let endpoints = lots * LOT;
            let size = size.min(endpoints - 1);
            let counts = counts(endpoints, size, caller_lots * LOT as u32);
            let (low, high) = (size / lots, size.div_ceil(lots));
            for lot in counts.chunks(LOT) {
                prop_assert!(lot.iter().all(|count| *count == lot[0]), "{:?}", counts);
                let lots = caller_lots as usize;
                prop_assert!((low * lots..=high * lots).contains(&lot[0]), "{:?}", counts);
            }
        }

        /// Ten callers reach every endpoint as soon as each takes a row of the table.
        #[test]
        fn every_endpoint_is_covered(endpoints in 2_usize..400, more in 0_usize..20, callers in 10_u32..40) {
            let size = (endpoints.div_ceil(LOT) + more).min(endpoints - 1);
            prop_assert!(counts(endpoints, size, callers).iter().all(|count| *count > 0));
        }

        /// An endpoint that comes last changes a place of each row that a caller takes.
        #[test]
        fn one_endpoint_more_moves_little(endpoints in 2_usize..400, size in 1_usize..60, caller in 0_u32..100) {
            let (before, after) = (ids(endpoints), ids(endpoints + 1));
            let size = size.min(endpoints - 1);
            let rows = size / endpoints.div_ceil(LOT) + 2;
            let (one, other) = (subset(&before, size, caller), subset(&after, size, caller));
            let moved = gone((&before, &one), (&after, &other));
            prop_assert!(moved <= rows, "{} of {}", moved, size);
        }
    }

    /// Each lot behind it gives one to the lot before, whose rows between the two move by one: a third of the places,
    /// if it is the first, and fewer the later it is.
    #[test]
    fn one_endpoint_less_moves_a_part() {
        let before = ids(200);
        for at in [0, 57, 100, 199] {
            let mut after = before.clone();
            after.remove(at);
            let moved: usize = (0..20)
                .map(|caller| {
                    let (one, other) = (subset(&before, 20, caller), subset(&after, 20, caller));
                    gone((&before, &one), (&after, &other))
                })
                .sum();
            assert!(
                moved <= 20 * 20 * 2 / 5,
                "without e{at} {moved} of 400 places move"
            );
        }
    }
}
