//! No endpoint of a hashing strategy takes much more than its share.
//!
//! Source: Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016; the
//! exact split is HAProxy's `hash-balance-factor`, the next candidates are Envoy's: a permutation that
//! follows from the key, since the neighbour's neighbour would be flooded by the neighbour's overflow.

use super::{Members, gcd};

/// How many candidates of a key are looked at.
pub(super) const TRIES: usize = 32;

/// How many requests each endpoint may have in flight, given how many there are in all.
#[derive(Debug)]
pub(super) struct Bound {
    /// How much more than its share an endpoint may have, in 1/256.
    factor: u64,
    /// The weights of those before, and up to, each place of the roster; equal where nobody is.
    up_to: Box<[u64]>,
    total: u64,
}

impl Bound {
    /// A bound of `factor` times the share by weight; `open` says who may be chosen.
    pub(super) fn new(
        factor: f64,
        members: &Members<'_>,
        open: impl Iterator<Item = bool>,
    ) -> Self {
        let weigh = |(index, open): (&u32, bool)| {
            if open {
                u64::from(members.weight(*index))
            } else {
                0
            }
        };
        let weights: Vec<u64> = members.in_service().iter().zip(open).map(weigh).collect();
        let mut bound = Self::of(&reduce(weights));
        bound.factor = (factor * 256.0) as u64;
        bound
    }

    fn of(weights: &[u64]) -> Self {
        let mut sum = 0;
        let mut up_to = vec![0];
        for weight in weights {
            sum += weight;
            up_to.push(sum);
        }
        Self {
            factor: 256,
            up_to: up_to.into(),
            total: sum.max(1),
        }
    }

    /// The requests that the endpoint at a place of the roster may have in flight when there are
    /// `in_flight` in all, at least 1. The caps add up to exactly `factor` times all, rounded up.
    #[inline]
    pub(super) fn cap(&self, place: usize, in_flight: u64) -> u32 {
        let slots = ((in_flight.min(u64::from(u32::MAX)) + 1) * self.factor).div_ceil(256);
        let (before, up_to) = (self.up_to[place], self.up_to[place + 1]);
        let (whole, rest) = (slots / self.total, slots % self.total);
        // Rounding is carried along the list, so that no slot is lost or given twice.
        let share =
            whole * (up_to - before) + up_to * rest / self.total - before * rest / self.total;
        u32::try_from(share.max(1)).unwrap_or(u32::MAX)
    }
}

/// The same proportions with a sum of at most 2^24, so that products stay within 64 bits.
fn reduce(mut weights: Vec<u64>) -> Vec<u64> {
    const SUM_BITS: u32 = 24;
    let divisor = weights
        .iter()
        .fold(0, |divisor, weight| gcd(divisor, *weight as u32));
    let divisor = u64::from(divisor.max(1));
    let sum: u64 = weights.iter().map(|weight| weight / divisor).sum();
    let shift = (u64::BITS - sum.leading_zeros()).saturating_sub(SUM_BITS);
    for weight in &mut weights {
        if *weight > 0 {
            *weight = ((*weight / divisor) >> shift).max(1);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(weights: &[u64], factor: u64, in_flight: u64) -> Vec<u32> {
        let bound = Bound {
            factor,
            ..Bound::of(&reduce(weights.to_vec()))
        };
        let places = 0..weights.len();
        places.map(|place| bound.cap(place, in_flight)).collect()
    }

    #[test]
    fn caps_add_up_to_all_slots() {
        for in_flight in 0..500 {
            for weights in [&[1, 1, 1][..], &[5, 0, 2, 1], &[256, 512, 26, 768]] {
                // Below one slot each, the least of 1 adds to the sum.
                let caps = caps(weights, 384, in_flight + 2_000);
                let zero = weights.iter().filter(|weight| **weight == 0).count() as u64;
                let sum: u64 = caps.iter().map(|cap| u64::from(*cap)).sum();
                assert_eq!(
                    sum - zero,
                    ((in_flight + 2_001) * 3).div_ceil(2),
                    "{weights:?}"
                );
            }
        }
    }

    #[test]
    fn caps_follow_weights() {
        assert_eq!(caps(&[1, 1, 2], 256, 39), [10, 10, 20]);
        assert_eq!(caps(&[1, 1, 1], 384, 0), [1, 1, 1]);
        assert_eq!(caps(&[65_535 << 8, 1 << 8], 256, 9), [9, 1]);
    }

    #[test]
    fn large_sums_are_scaled_down() {
        let weights = vec![65_535 * 255; 10_000];
        assert_eq!(caps(&weights, 256, 99_999)[0], 10);
        let mut uneven = weights;
        uneven[0] = 1;
        let caps = caps(&uneven, 512, u64::from(u32::MAX));
        assert_eq!(caps[1] / 1_000, 859);
    }
}
