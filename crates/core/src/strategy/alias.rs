//! Draws in proportion to weight in constant time: the alias method in integers.
//!
//! Source: Vose, "A linear algorithm for generating random numbers with a given distribution", IEEE
//! Transactions on Software Engineering, 1991. Each slot is shared by at most two endpoints; exact to
//! 2^-64.

use super::{Inputs, Members};

/// A slot: its own endpoint below the threshold, the other one from it on.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// As a fraction of 2^64.
    threshold: u64,
    own: u32,
    other: u32,
}

/// The eligible endpoints of a group, ready to be drawn by weight.
#[derive(Debug)]
pub(super) struct AliasTable {
    slots: Box<[Slot]>,
}

impl AliasTable {
    /// O(n).
    pub(super) fn new(members: &Members<'_>) -> Self {
        let eligible = members.eligible();
        let count = eligible.len() as u128;
        let total: u128 = eligible
            .iter()
            .map(|index| u128::from(members.weight(*index)))
            .sum();
        // In units in which every slot holds `total`.
        let mut left: Vec<u128> = eligible
            .iter()
            .map(|index| u128::from(members.weight(*index)) * count)
            .collect();
        let mut slots: Vec<Slot> = eligible
            .iter()
            .map(|index| Slot {
                threshold: u64::MAX,
                own: *index,
                other: *index,
            })
            .collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..left.len()).partition(|at| left[*at] < total);
        while let (Some(a), Some(b)) = (small.pop(), large.last().copied()) {
            slots[a].threshold = ((left[a] << 64) / total) as u64;
            slots[a].other = eligible[b];
            left[b] -= total - left[a];
            if left[b] < total {
                large.pop();
                small.push(b);
            }
        }
        Self {
            slots: slots.into(),
        }
    }

    /// Draws an endpoint: one draw.
    #[inline]
    pub(super) fn draw(&self, inputs: &mut Inputs<'_>) -> u32 {
        let (at, rest) = inputs.draw(self.slots.len() as u64);
        let slot = &self.slots[at as usize];
        if rest < slot.threshold {
            slot.own
        } else {
            slot.other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Facts;

    /// The probability of each endpoint, summed over the slots.
    fn shares(weights: &[u32]) -> Vec<f64> {
        let eligible: Vec<u32> = (0..weights.len() as u32).collect();
        let table = AliasTable::new(&Members::new(
            weights,
            &eligible,
            &eligible,
            Facts::default(),
        ));
        let mut shares = vec![0.0; weights.len()];
        for slot in &table.slots {
            let own = slot.threshold as f64 / u64::MAX as f64;
            shares[slot.own as usize] += own / weights.len() as f64;
            shares[slot.other as usize] += (1.0 - own) / weights.len() as f64;
        }
        shares
    }

    /// Golden vector `wrand_2_7_1`: exactly 2, 7 and 1 in ten.
    #[test]
    fn shares_are_the_weights() {
        for weights in [
            vec![2, 7, 1],
            vec![1],
            vec![1, u32::MAX],
            (1..=1000).collect(),
        ] {
            let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            for (share, weight) in shares(&weights).iter().zip(&weights) {
                let expected = f64::from(*weight) / total;
                assert!((share - expected).abs() < 1e-12, "{share} {expected}");
            }
        }
    }
}
