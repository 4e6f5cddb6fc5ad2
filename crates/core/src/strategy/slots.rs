//! Maglev's table.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::roster::Roster;
use crate::hash::Hasher;
use crate::rng::scale;

/// Sizes by the number of endpoints: at least 100 slots for each keep the imbalance at 1 %. The second
/// one is the largest whose table stays in the second cache of a usual core.
const LADDER: [(usize, u64); 4] = [
    (655, 65_537),
    (2_621, 262_147),
    (6_553, 655_373),
    (10_485, 1_048_583),
];

/// The largest table, Envoy's maximum.
const LARGEST: u64 = 5_000_011;

/// The size of a table for so many endpoints.
pub(super) fn table_size(endpoints: usize) -> u64 {
    let rung = LADDER.iter().find(|(most, _)| endpoints <= *most);
    rung.map_or(LARGEST, |(_, size)| *size)
}

/// Who owns each slot, as places in the roster; half the memory where that is enough.
#[derive(Debug)]
enum Owners {
    Narrow(Box<[u16]>),
    Wide(Box<[u32]>),
}

/// A table of slots.
#[derive(Debug)]
pub(super) struct Slots {
    owners: Owners,
    size: usize,
    count: usize,
}

impl Slots {
    /// Fills `size` slots, a prime, by weight.
    ///
    /// All take turns, the heavier ones more often; in its turn each takes the next free slot of its
    /// own permutation. O(size log size) on average, plus a heap step for each distinct weight.
    pub(super) fn fill(roster: &Roster, hasher: Hasher, size: usize) -> Self {
        let walk = |id: &[u8]| Walk::new(id, hasher, size as u32);
        let mut walks: Vec<Walk> = roster.ids.iter().map(|id| walk(id.as_bytes())).collect();
        let owners = if roster.len() <= usize::from(u16::MAX) {
            let mut owners = vec![0u16; size].into_boxed_slice();
            deal(roster, &mut walks, size, |slot, place| {
                owners[slot] = place as u16
            });
            Owners::Narrow(owners)
        } else {
            let mut owners = vec![0u32; size].into_boxed_slice();
            deal(roster, &mut walks, size, |slot, place| owners[slot] = place);
            Owners::Wide(owners)
        };
        Self {
            owners,
            size,
            count: roster.len(),
        }
    }

    /// The slot of a key: by its high bits, so no division.
    #[inline]
    pub(super) fn slot(&self, key: u64) -> usize {
        scale(key, self.size as u64).0 as usize
    }

    /// The place in the roster of a slot's owner.
    #[inline]
    pub(super) fn owner(&self, slot: usize) -> usize {
        match &self.owners {
            Owners::Narrow(owners) => usize::from(owners[slot]),
            Owners::Wide(owners) => owners[slot] as usize,
        }
    }

    /// The slots.
    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// The endpoints.
    pub(super) fn owners(&self) -> usize {
        self.count
    }
}

/// An endpoint's own order of all slots: an offset and a step.
struct Walk {
    at: u32,
    skip: u32,
}

impl Walk {
    fn new(id: &[u8], hasher: Hasher, size: u32) -> Self {
        let size = u64::from(size);
        Self {
            at: (hasher.hash(id) % size) as u32,
            skip: (hasher.nth(1).hash(id) % (size - 1) + 1) as u32,
        }
    }

    /// Takes the next free slot; there must be one.
    #[inline]
    fn take(&mut self, taken: &mut [u64], size: u32) -> u32 {
        loop {
            let slot = self.at;
            // Below 2^23 both, so the sum fits.
            self.at += self.skip;
            if self.at >= size {
                self.at -= size;
            }
            let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
            if taken[word] & bit == 0 {
                taken[word] |= bit;
                return slot;
            }
        }
    }
}

/// Gives out all slots: in round t, those with t w >= target take a turn, and their target goes up by
/// the largest weight. Endpoints of equal weight take their turns in id order, the heavier ones first.
fn deal(roster: &Roster, walks: &mut [Walk], size: usize, mut give: impl FnMut(usize, u32)) {
    // A bit for each slot: the search for a free one stays within the cache.
    let mut taken = vec![0u64; size.div_ceil(64)];
    let mut by_weight: BTreeMap<Reverse<u16>, Vec<u32>> = BTreeMap::new();
    for (place, weight) in (0..).zip(&roster.weights) {
        by_weight.entry(Reverse(*weight)).or_default().push(place);
    }
    let classes: Vec<(u64, Vec<u32>)> = by_weight
        .into_iter()
        .map(|(Reverse(weight), places)| (u64::from(weight), places))
        .collect();
    let Some(heaviest) = classes.first().map(|(weight, _)| *weight) else {
        return;
    };
    let mut next: BinaryHeap<Reverse<(u64, usize)>> = (0..classes.len())
        .map(|class| Reverse((1, class)))
        .collect();
    let mut targets = vec![0u64; classes.len()];
    let mut left = size;
    while let Some(Reverse((round, class))) = next.pop() {
        let (weight, places) = &classes[class];
        for place in places {
            if left == 0 {
                return;
            }
            let slot = walks[*place as usize].take(&mut taken, size as u32);
            give(slot as usize, *place);
            left -= 1;
        }
        targets[class] += heaviest;
        let due = targets[class].div_ceil(*weight).max(round + 1);
        next.push(Reverse((due, class)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::params::is_prime;

    fn counts(slots: &Slots) -> Vec<usize> {
        let mut counts = vec![0; slots.owners()];
        for slot in 0..slots.len() {
            counts[slots.owner(slot)] += 1;
        }
        counts
    }

    #[test]
    fn every_slot_has_an_owner_in_proportion_to_weight() {
        for weights in [vec![1; 7], vec![5, 1, 1], vec![100, 50, 1], vec![3; 100]] {
            let slots = Slots::fill(&Roster::weighing(&weights), Hasher::default(), 65_537);
            let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            for (count, weight) in counts(&slots).iter().zip(&weights) {
                let due = 65_537.0 * f64::from(*weight) / total;
                assert!((*count as f64 - due).abs() < 2.5, "{count} of {due}");
            }
        }
    }

    #[test]
    fn nobody_is_left_without_a_slot() {
        let mut weights = vec![1; 300];
        weights[17] = u16::MAX;
        let slots = Slots::fill(&Roster::weighing(&weights), Hasher::default(), 65_537);
        assert!(counts(&slots).iter().all(|count| *count > 0));
        let slots = Slots::fill(&Roster::weighing(&[1, 1]), Hasher::default(), 2);
        assert_eq!(counts(&slots), [1, 1]);
    }

    #[test]
    fn the_ladder_has_a_hundred_slots_for_each_and_only_primes() {
        for (most, size) in LADDER {
            assert!(is_prime(size) && size as usize >= most * 100);
            assert_eq!(table_size(most), size);
        }
        assert_eq!(table_size(10_486), LARGEST);
        assert!(is_prime(LARGEST) && is_prime(2) && !is_prime(1) && !is_prime(65_535));
    }

    /// B05: the bound of the design is 2 %; simulation gives 0.3 %.
    #[test]
    fn b05_removal_moves_few_keys_of_others() {
        let all = Roster::weighing(&[1; 10]);
        let mut fewer = all.clone();
        fewer.ids = fewer
            .ids
            .iter()
            .filter(|id| &***id != "e00004")
            .cloned()
            .collect();
        fewer.weights = vec![1; 9].into();
        let [before, after] =
            [&all, &fewer].map(|roster| Slots::fill(roster, Hasher::default(), 65_537));
        let moved = (0..65_537)
            .filter(|slot| {
                let id = &all.ids[before.owner(*slot)];
                &**id != "e00004" && *id != fewer.ids[after.owner(*slot)]
            })
            .count();
        assert!(moved * 100 < 65_537, "{moved} slots of others moved");
    }
}
