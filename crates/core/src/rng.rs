//! Random numbers with a published sequence: the same seed gives the same draws on every platform
//! and in every release.
//!
//! xoshiro256++ by Blackman and Vigna (2018), seeded by SplitMix64 by Steele, Lea and Flood (2014).
//! Crates that offer a generator reserve the right to change its sequence, which would break
//! recorded receipts and simulator seeds.

/// A xoshiro256++ stream.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Rng;
///
/// let (mut one, mut other) = (Rng::new(7), Rng::new(7));
/// assert_eq!(one.next_u64(), other.next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A stream that `seed` alone determines.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut sequence = seed;
        let mut next = || {
            sequence = sequence.wrapping_add(GOLDEN_GAMMA);
            finalise(sequence)
        };
        Self {
            state: [next(), next(), next(), next()],
        }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }
}

/// 2^64 divided by the golden ratio: the step of SplitMix64, and of low-discrepancy phases.
pub(crate) const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finaliser: a bijection that spreads every input bit over all output bits.
#[inline]
pub(crate) fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One seed out of two values, so that neighbouring pairs share no structure.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    finalise(finalise(a.wrapping_add(GOLDEN_GAMMA)) ^ b.wrapping_mul(GOLDEN_GAMMA))
}

/// Maps 64 random bits onto `0..n`, and returns the bits left over as a fraction of 2^64.
///
/// The bias is at most n/2^64; there is no rejection loop, so a decision draws a known number of
/// times and can be replayed.
#[inline]
pub(crate) fn scale(bits: u64, n: u64) -> (u64, u64) {
    let product = u128::from(bits) * u128::from(n);
    ((product >> 64) as u64, product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference vectors of the authors' C code.
    #[test]
    fn xoshiro256_plus_plus_reference() {
        let mut rng = Rng {
            state: [1, 2, 3, 4],
        };
        let got: Vec<u64> = (0..10).map(|_| rng.next_u64()).collect();
        assert_eq!(
            got,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386,
                9_228_616_714_210_784_205,
                9_973_669_472_204_895_162,
                14_011_001_112_246_962_877,
                12_406_186_145_184_390_807,
                15_849_039_046_786_891_736,
                10_450_023_813_501_588_000,
            ]
        );
    }

    #[test]
    fn split_mix_reference() {
        assert_eq!(finalise(GOLDEN_GAMMA), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn scale_covers_the_range_and_nothing_else() {
        assert_eq!(scale(0, 7).0, 0);
        assert_eq!(scale(u64::MAX, 7).0, 6);
        assert_eq!(scale(u64::MAX, 1).0, 0);
    }
}
