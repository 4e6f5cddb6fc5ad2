//! The less loaded of a few, drawn by weight.
//!
//! Few endpoints are all compared; of many, some are drawn in proportion to weight and the one with
//! the least load over weight wins. Both steps need the weight: drawing by it serves the idle
//! cluster, comparing by it the loaded one.

use std::sync::Arc;

use super::alias::AliasTable;
use super::params::{Kind, Param};
use super::registry::{Descriptor, Traits};
use super::{Cursor, Inputs, Members, Params, Place, Strategy, Table, Value, gcd};
use crate::pick::scratch::SCORES_MAX;

/// Describes `least_request`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "least_request",
    aliases: &["least_connections"],
    summary: "the less loaded of a few, drawn by weight; all are compared when there are few",
    advice: "The default. It uses only what the caller knows, needs no timers, follows weights on an \
             idle cluster too, and keeps away from slow endpoints because requests pile up there. \
             With many callers that each have less than one request in flight for each endpoint it \
             knows too little: give each caller a subset, or use reported load.",
    cost: "O(choices), or O(n) up to `scan` endpoints",
    source: "Mitzenmacher 2001 (power of two choices); weights as in nginx, HAProxy and Finagle",
    params: &[
        Param {
            name: "choices",
            kind: Kind::Integer(2, CHOICES_MAX as u64),
            default: "2",
            doc: "how many are drawn and compared",
        },
        Param {
            name: "scan",
            kind: Kind::Integer(0, SCAN_MAX as u64),
            default: "16",
            doc: "up to so many endpoints all are compared",
        },
    ],
    traits: Traits {
        weighted: true,
        load_aware: true,
        ..Traits::NONE
    },
    build: |params: &Params| {
        Arc::new(LeastRequest {
            choices: params.integer("choices", 2) as usize,
            scan: params.integer("scan", 16) as usize,
        })
    },
};

/// The most endpoints that are drawn and compared.
const CHOICES_MAX: usize = 10;

/// The most endpoints that are all compared.
const SCAN_MAX: usize = SCORES_MAX;

/// Up to so many endpoints all are compared, whatever the parameter: drawing distinct ones by weight
/// distorts the shares of small sets (Finagle's table: a half-weight endpoint of two would get as
/// much as the full one).
const SCAN_MIN: usize = 4;

/// How often an endpoint that was drawn before is drawn again, before it is accepted.
const REDRAWS: usize = 4;

#[derive(Debug)]
struct LeastRequest {
    choices: usize,
    scan: usize,
}

impl Strategy for LeastRequest {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("choices", Value::Integer(self.choices as u64)),
            ("scan", Value::Integer(self.scan as u64)),
        ]
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        self.table_of(members)
    }
}

/// A table with default parameters, for strategies that have nothing better to go by.
pub(super) fn least_request(members: &Members<'_>) -> Box<dyn Table> {
    let strategy = LeastRequest {
        choices: 2,
        scan: 16,
    };
    strategy.table_of(members)
}

impl LeastRequest {
    fn table_of(&self, members: &Members<'_>) -> Box<dyn Table> {
        if members.eligible().len() <= self.scan.max(SCAN_MIN) {
            return Box::new(ScanTable::new(members));
        }
        Box::new(ChoicesTable {
            alias: AliasTable::new(members),
            choices: self.choices,
        })
    }
}

/// Compares all.
#[derive(Debug)]
struct ScanTable {
    eligible: Box<[u32]>,
    scales: Box<[Scale]>,
}

/// What makes loads over weights comparable: load times `factor` is smaller for the less loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    weight: u32,
    /// A common multiple of the weights divided by this one.
    factor: u32,
}

impl ScanTable {
    fn new(members: &Members<'_>) -> Self {
        Self {
            eligible: members.eligible().into(),
            scales: scales(&members.reduced_weights()),
        }
    }
}

/// Exact if the least common multiple of `weights` is below 2^32; else to one part in 2^32 over the
/// ratio of the heaviest to the lightest.
fn scales(weights: &[u32]) -> Box<[Scale]> {
    let multiple = weights.iter().try_fold(1u32, |multiple, weight| {
        (multiple / gcd(multiple, *weight)).checked_mul(*weight)
    });
    let lightest = weights.iter().min().copied().unwrap_or(1);
    let multiple = multiple.map_or(u64::from(u32::MAX) * u64::from(lightest), u64::from);
    let scale = |weight: &u32| Scale {
        weight: *weight,
        factor: (multiple / u64::from(*weight)) as u32,
    };
    weights.iter().map(scale).collect()
}

impl Table for ScanTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    /// Ties go by weight: one draw over the weights of those that tie.
    ///
    /// Which endpoint is the lightest, and which ones tie, is not to be guessed: so no branch asks
    /// for it until the winner is known.
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let least = inputs.score_all(&self.eligible, |at, load| {
            load.total() * u64::from(self.scales[at].factor)
        });
        if least == u64::MAX {
            return None;
        }
        let tied_weight = |at: usize, scale: &Scale, inputs: &Inputs<'_>| {
            u64::from(inputs.score(at) == least) * u64::from(scale.weight)
        };
        let mut total = 0;
        for (at, scale) in self.scales.iter().enumerate() {
            total += tied_weight(at, scale, inputs);
        }
        let (ticket, _) = inputs.draw(total);
        // The winner is the first up to which the tied weights add up to more than the ticket.
        let mut sum = 0;
        let winner = self.scales.iter().enumerate().position(|(at, scale)| {
            sum += tied_weight(at, scale, inputs);
            sum > ticket
        });
        self.eligible.get(winner?).copied()
    }
}

/// Compares a few that are drawn by weight.
#[derive(Debug)]
struct ChoicesTable {
    alias: AliasTable,
    choices: usize,
}

impl Table for ChoicesTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    /// Ties go to the one drawn first, so shares follow weights on an idle cluster.
    #[inline]
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let mut best = self.alias.draw(inputs);
        let mut drawn = [best; CHOICES_MAX];
        let (mut load, mut weight) = (inputs.load(best), inputs.weight(best));
        for count in 1..self.choices {
            let other = self.draw_other(&drawn[..count], inputs);
            if drawn[..count].contains(&other) {
                continue;
            }
            drawn[count] = other;
            let (other_load, other_weight) = (inputs.load(other), inputs.weight(other));
            let wins = other_load.is_lighter(other_weight, load, weight) || inputs.is_refused(best);
            if wins && !inputs.is_refused(other) {
                (best, load, weight) = (other, other_load, other_weight);
            }
        }
        Some(best)
    }
}

impl ChoicesTable {
    /// Draws an endpoint that has not been drawn, as far as a few tries go.
    #[inline]
    fn draw_other(&self, drawn: &[u32], inputs: &mut Inputs<'_>) -> u32 {
        let mut other = self.alias.draw(inputs);
        for _ in 0..REDRAWS {
            if !drawn.contains(&other) {
                break;
            }
            other = self.alias.draw(inputs);
        }
        other
    }
}
