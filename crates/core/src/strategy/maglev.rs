//! A table in which each endpoint has slots in proportion to its weight; a key goes to the slot it
//! hashes to.
//!
//! Source: Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016;
//! the weighted fill is Envoy's. One look into memory for each pick and nearly perfect balance, for
//! somewhat more keys moved than necessary when membership changes (under 1 % of all).

use std::sync::Arc;

use super::keyed::{Homes, HomesOf, KeyedTable, nth_key, scan};
use super::params::{HASH, HASH_SEED, Kind, Param, hasher};
use super::registry::{Descriptor, Traits};
use super::roster::{Memo, Roster};
use super::slots::{Slots, table_size};
use super::{Members, Params, Strategy, Table, Value};
use crate::hash::Hasher;

/// Describes `maglev`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "maglev",
    aliases: &[],
    summary: "keeps a key on an endpoint by a table of slots, in proportion to weight",
    advice: "For caches and sessions: the default among the hashing strategies, at any size. Shares \
             follow the weights to a percent. When an endpoint comes or goes, up to 1 % of the keys of \
             others move too; where none may, use ring_hash or rendezvous. It is blind to load: keys \
             that are asked for more than others need bounded_load.",
    cost: "O(1), one look into a table of 128 KiB to 20 MiB",
    source: "Eisenbud et al., NSDI 2016; weights as in Envoy",
    params: &[
        Param {
            name: "table_size",
            kind: Kind::Prime(SIZE_MIN, SIZE_MAX),
            default: "",
            doc: "slots, a prime, at least 100 for each endpoint; absent: by the number of endpoints",
        },
        HASH,
        HASH_SEED,
    ],
    traits: Traits {
        weighted: true,
        keyed: true,
        neighbours: true,
        uneven_percent: 2,
        stray_percent: 2,
        ..Traits::NONE
    },
    build: |params: &Params| {
        Arc::new(Maglev {
            size: params.given_integer("table_size"),
            hasher: hasher(params),
            memo: Memo::default(),
        })
    },
};

const SIZE_MIN: u64 = 2;
const SIZE_MAX: u64 = 5_000_011;

/// How many other slots a key tries when its own takes it not, before it walks.
const PROBES: u64 = 8;

/// How many slots it walks before all endpoints are looked at.
const STEPS: usize = 64;

#[derive(Debug)]
struct Maglev {
    size: Option<u64>,
    hasher: Hasher,
    memo: Memo<HomesOf<Slots>>,
}

impl Strategy for Maglev {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        let size = self.size.map(|size| ("table_size", Value::Integer(size)));
        let hash = super::params::hasher_values(self.hasher);
        size.into_iter().chain(hash).collect()
    }

    fn hasher(&self) -> Option<Hasher> {
        Some(self.hasher)
    }

    fn endpoints_max(&self) -> usize {
        self.size.unwrap_or(SIZE_MAX) as usize
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        KeyedTable::boxed(members, &self.memo, self.hasher, |roster: &Roster| {
            let size = self.size.unwrap_or_else(|| table_size(roster.len()));
            Slots::fill(roster, self.hasher, size as usize)
        })
    }
}

impl Homes for Slots {
    const RULE: &'static str = "maglev-1";

    #[inline]
    fn home(&self, key: u64) -> usize {
        self.owner(self.slot(key))
    }

    fn find(&self, key: u64, mut admits: impl FnMut(usize) -> bool) -> Option<usize> {
        let mut slot = 0;
        for attempt in 0..=PROBES {
            slot = self.slot(nth_key(key, attempt));
            let place = self.owner(slot);
            if admits(place) {
                return Some(place);
            }
        }
        for step in 1..=STEPS.min(self.len()) {
            let place = self.owner((slot + step) % self.len());
            if admits(place) {
                return Some(place);
            }
        }
        scan(self.owners(), key, admits)
    }

    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn entries(&self) -> impl Iterator<Item = u64> {
        (0..self.len()).map(|slot| self.owner(slot) as u64)
    }
}
