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
use crate::endpoint::Endpoint;
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

/// The endpoints that hold a key, the first one first: those that score highest for it under `rendezvous`.
///
/// For replica sets: the first is where the strategy sends the key as long as all are well, the
/// next where it goes when that one is not. One endpoint more or less changes at most one place of each key's
/// set. Endpoints of weight 0 hold nothing. At most `count` of them; O(n log n).
///
/// # Examples
///
/// ```
/// use evenkeel_core::Endpoint;
/// use evenkeel_core::hash::Hasher;
/// use evenkeel_core::strategy::replicas;
///
/// let nodes = ["a", "b", "c", "d"].map(|id| Endpoint::new(id, format!("{id}.internal:80")));
/// let hasher = Hasher::default();
/// let key = hasher.hash(b"user-42");
/// let holders = replicas(&nodes, hasher, key, 2);
/// assert_eq!(holders.len(), 2);
/// // Without the first one the second takes its place, and one more joins.
/// let left: Vec<Endpoint> = nodes.iter().filter(|node| *node != holders[0]).cloned().collect();
/// assert_eq!(replicas(&left, hasher, key, 2)[0], holders[1]);
/// ```
#[must_use]
pub fn replicas<'e>(
    endpoints: impl IntoIterator<Item = &'e Endpoint>,
    hasher: Hasher,
    key: u64,
    count: usize,
) -> Vec<&'e Endpoint> {
    let holders = endpoints
        .into_iter()
        .filter(|endpoint| endpoint.weight() > 0);
    let mut scored: Vec<(f64, u64, &Endpoint)> = holders
        .map(|endpoint| {
            let bits = finalise(key ^ hasher.hash(endpoint.id().as_bytes()));
            let score = -f64::from(endpoint.weight()) / ln(unit(bits));
            (score, bits, endpoint)
        })
        .collect();
    // Scores that differ in the last bits only are told apart by those.
    let rank = |of: &(f64, u64, &Endpoint), other: &(f64, u64, &Endpoint)| {
        let (score, bits, endpoint) = of;
        let by_score = other.0.total_cmp(score).then(other.1.cmp(bits));
        by_score.then_with(|| endpoint.id().cmp(other.2.id()))
    };
    scored.sort_unstable_by(rank);
    scored
        .into_iter()
        .take(count)
        .map(|(_, _, endpoint)| endpoint)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn scores(weights: &[u16]) -> Scores {
        Scores::new(&Roster::weighing(weights), Hasher::default())
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

    fn nodes(weights: &[u16]) -> Vec<Endpoint> {
        (0..)
            .zip(weights)
            .map(|(at, weight)| Endpoint::new(format!("e{at:05}"), "x:1").with_weight(*weight))
            .collect()
    }

    fn ids(of: &[&Endpoint]) -> Vec<String> {
        of.iter().map(|endpoint| endpoint.id().to_owned()).collect()
    }

    /// The first holder is where the strategy sends the key, with and without weights.
    #[test]
    fn the_first_replica_is_the_home() {
        let mut rng = Rng::new(4);
        for weights in [&[1u16; 7][..], &[1, 2, 3, 2, 9, 1, 1]] {
            let (nodes, scores) = (nodes(weights), scores(weights));
            for _ in 0..5_000 {
                let key = rng.next_u64();
                let first = replicas(&nodes, Hasher::default(), key, 1)[0];
                assert_eq!(first, &nodes[scores.home(key)]);
            }
        }
    }

    /// Who leaves is replaced by one, the others stay in their order.
    #[test]
    fn one_endpoint_less_changes_one_place() {
        let all = nodes(&[1, 2, 3, 2, 9, 1, 1]);
        let left: Vec<Endpoint> = all
            .iter()
            .filter(|node| node.id() != "e00004")
            .cloned()
            .collect();
        let mut rng = Rng::new(5);
        let mut changed = 0;
        for _ in 0..5_000 {
            let key = rng.next_u64();
            let before = ids(&replicas(&all, Hasher::default(), key, 3));
            let after = ids(&replicas(&left, Hasher::default(), key, 3));
            let kept: Vec<String> = before
                .iter()
                .filter(|id| *id != "e00004")
                .cloned()
                .collect();
            assert_eq!(after[..kept.len()], kept[..], "{before:?} {after:?}");
            changed += usize::from(before != after);
        }
        assert!(changed > 2_500, "the heaviest holds most keys: {changed}");
    }

    #[test]
    fn replicas_are_as_many_as_there_are() {
        let some = nodes(&[1, 0, 2]);
        let holders = ids(&replicas(&some, Hasher::default(), 7, 9));
        assert_eq!(holders.len(), 2);
        assert!(
            !holders.contains(&"e00001".to_owned()),
            "weight 0 holds nothing"
        );
        assert!(replicas(&some, Hasher::default(), 7, 0).is_empty());
        assert!(replicas(&[], Hasher::default(), 7, 3).is_empty());
    }
}
