//! Every endpoint scores every key; the highest score wins.
//!
//! Source: Thaler and Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998; weights as
//! in Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", SPAA 2005. No table, perfect
//! weights, and no key moves that need not; but each pick looks at all endpoints.

use std::sync::Arc;

use super::keyed::{Homes, HomesOf, KeyedTable};
use super::params::{HASH, HASH_SEED, hasher};
use super::registry::{Descriptor, Traits};
use super::roster::{Memo, Roster};
use super::{Members, Params, Strategy, Table, Value};
use crate::hash::Hasher;
use crate::math::ln;
use crate::rng::finalise;

/// Describes `rendezvous`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "rendezvous",
    aliases: &[],
    summary: "keeps a key on the endpoint that scores highest for it",
    advice: "For caches and sessions with up to about a hundred endpoints: shares follow the weights \
             exactly and no key moves that need not. Its cost grows with the number of endpoints; beyond \
             a hundred use maglev, or ring_hash where no key may move. It is blind to load: keys that \
             are asked for more than others need bounded_load.",
    cost: "O(n), 2 ns for each endpoint, more with weights",
    source: "Thaler and Ravishankar 1998; Schindelhauer and Schomaker, SPAA 2005",
    params: &[HASH, HASH_SEED],
    traits: Traits {
        weighted: true,
        keyed: true,
        ..Traits::NONE
    },
    build: |params: &Params| {
        Arc::new(Rendezvous {
            hasher: hasher(params),
            memo: Memo::default(),
        })
    },
};

#[derive(Debug)]
struct Rendezvous {
    hasher: Hasher,
    memo: Memo<HomesOf<Scores>>,
}

impl Strategy for Rendezvous {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        super::params::hasher_values(self.hasher).into()
    }

    fn hasher(&self) -> Option<Hasher> {
        Some(self.hasher)
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        KeyedTable::boxed(members, &self.memo, self.hasher, |roster: &Roster| {
            Scores::new(roster, self.hasher)
        })
    }
}

/// What scores a key.
#[derive(Debug)]
pub(super) struct Scores {
    identities: Box<[u64]>,
    /// Empty if all weigh the same: then no logarithm is needed.
    weights: Box<[f64]>,
}

impl Scores {
    fn new(roster: &Roster, hasher: Hasher) -> Self {
        let even = roster.weights.windows(2).all(|pair| pair[0] == pair[1]);
        let weights = if even { &[][..] } else { &roster.weights };
        let identity = |id: &Arc<str>| hasher.hash(id.as_bytes());
        Self {
            identities: roster.ids.iter().map(identity).collect(),
            weights: weights.iter().map(|weight| f64::from(*weight)).collect(),
        }
    }

    /// The place with the highest score among those that `admits` lets in. Each is asked only if it
    /// would win.
    #[inline]
    fn highest(&self, key: u64, mut admits: impl FnMut(usize) -> bool) -> Option<usize> {
        if !self.weights.is_empty() {
            return self.highest_weighted(key, admits);
        }
        let mut best = None;
        for (place, identity) in self.identities.iter().enumerate() {
            let score = finalise(key ^ identity);
            if best.is_none_or(|(highest, _)| score > highest) && admits(place) {
                best = Some((score, place));
            }
        }
        best.map(|(_, place)| place)
    }

    /// By -w / ln(u): the chance to win is in proportion to w.
    fn highest_weighted(&self, key: u64, mut admits: impl FnMut(usize) -> bool) -> Option<usize> {
        let mut best = None;
        for (place, (identity, weight)) in self.identities.iter().zip(&self.weights).enumerate() {
            let score = -weight / ln(unit(finalise(key ^ identity)));
            if best.is_none_or(|(highest, _)| score > highest) && admits(place) {
                best = Some((score, place));
            }
        }
        best.map(|(_, place)| place)
    }
}

/// 64 bits as a number between 0 and 1, neither of them.
#[inline]
fn unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

impl Homes for Scores {
    const RULE: &'static str = "rendezvous-1";

    #[inline]
    fn home(&self, key: u64) -> usize {
        self.highest(key, |_| true).unwrap_or_default()
    }

    fn find(&self, key: u64, admits: impl FnMut(usize) -> bool) -> Option<usize> {
        self.highest(key, admits)
    }

    fn size(&self) -> u64 {
        self.identities.len() as u64
    }

    fn entries(&self) -> impl Iterator<Item = u64> {
        let weights = self.weights.iter().map(|weight| *weight as u64);
        self.identities.iter().copied().chain(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn scores(weights: &[u16]) -> Scores {
        let roster = Roster {
            ids: (0..weights.len())
                .map(|at| Arc::from(format!("e{at:05}")))
                .collect(),
            weights: weights.into(),
        };
        Scores::new(&roster, Hasher::default())
    }

    #[test]
    fn shares_are_the_weights() {
        let weights = [1, 2, 3, 10, 100];
        let scores = scores(&weights);
        let mut counts = [0u32; 5];
        let mut rng = Rng::new(2);
        for _ in 0..200_000 {
            counts[scores.home(rng.next_u64())] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let due = 200_000.0 * f64::from(weight) / 116.0;
            assert!(
                (f64::from(*count) - due).abs() < 5.0 * due.sqrt(),
                "{counts:?}"
            );
        }
    }

    /// A weight that goes up draws keys, and no others move.
    #[test]
    fn a_weight_moves_only_what_it_draws() {
        let (before, after) = (scores(&[1, 2, 3, 2]), scores(&[1, 2, 3, 4]));
        let mut rng = Rng::new(3);
        for _ in 0..20_000 {
            let key = rng.next_u64();
            let (from, to) = (before.home(key), after.home(key));
            assert!(from == to || to == 3, "{from} to {to}");
        }
    }

    #[test]
    fn the_extremes_are_numbers() {
        for bits in [0, u64::MAX] {
            let score = -1.0 / ln(unit(bits));
            assert!(score.is_finite() && score > 0.0, "{score}");
        }
    }
}
