//! The less loaded of a few, drawn by weight.
//!
//! Few endpoints are all compared; of many, some are drawn in proportion to weight and the one with
//! the least load over weight wins. Both steps need the weight: drawing by it serves the idle
//! cluster, comparing by it the loaded one.

use std::sync::Arc;

use super::alias::AliasTable;
use super::params::{Kind, Param};
use super::registry::{Descriptor, Traits};
use super::{Cursor, Inputs, Members, Params, Place, Strategy, Table, Value};
use crate::load::Load;

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
            kind: Kind::Integer(2, 10),
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
        exact: false,
        load_aware: true,
        keyed: false,
    },
    build: |params: &Params| {
        Arc::new(LeastRequest {
            choices: params.integer("choices", 2) as u32,
            scan: params.integer("scan", 16) as usize,
        })
    },
};

/// The most endpoints that are all compared.
const SCAN_MAX: usize = 64;

/// Up to so many endpoints all are compared, whatever the parameter: drawing distinct ones by weight
/// distorts the shares of small sets (Finagle's table: a half-weight endpoint of two would get as
/// much as the full one).
const SCAN_MIN: usize = 4;

/// How often an endpoint that was drawn before is drawn again, before it is accepted.
const REDRAWS: usize = 4;

#[derive(Debug)]
struct LeastRequest {
    choices: u32,
    scan: usize,
}

impl Strategy for LeastRequest {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("choices", Value::Integer(u64::from(self.choices))),
            ("scan", Value::Integer(self.scan as u64)),
        ]
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        if members.eligible().len() <= self.scan.max(SCAN_MIN) {
            return Box::new(ScanTable {
                eligible: members.eligible().into(),
            });
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
}

impl Table for ScanTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    /// Ties go by weight: one draw over the weights of those that tie.
    #[inline]
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let mut tied = [(0u32, 0u32); SCAN_MAX];
        let mut count = 0;
        let mut tied_weight = 0;
        let mut best = (Load::default(), 1);
        for index in self.eligible.iter().copied() {
            if inputs.is_refused(index) {
                continue;
            }
            let (load, weight) = (inputs.load(index), inputs.weight(index));
            if count > 0 && best.0.is_lighter(best.1, load, weight) {
                continue;
            }
            if count == 0 || load.is_lighter(weight, best.0, best.1) {
                (best, count, tied_weight) = ((load, weight), 0, 0);
            }
            tied[count] = (index, weight);
            count += 1;
            tied_weight += u64::from(weight);
        }
        draw_tied(&tied[..count], tied_weight, inputs)
    }
}

/// Draws one of those that tie, in proportion to weight; a single one needs no draw.
#[inline]
fn draw_tied(tied: &[(u32, u32)], total: u64, inputs: &mut Inputs<'_>) -> Option<u32> {
    if let [(index, _)] = tied {
        return Some(*index);
    }
    let (mut ticket, _) = inputs.draw(total.max(1));
    for (index, weight) in tied {
        match ticket.checked_sub(u64::from(*weight)) {
            Some(left) => ticket = left,
            None => return Some(*index),
        }
    }
    None
}

/// Compares a few that are drawn by weight.
#[derive(Debug)]
struct ChoicesTable {
    alias: AliasTable,
    choices: u32,
}

impl Table for ChoicesTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    /// Ties go to the one drawn first, so shares follow weights on an idle cluster.
    #[inline]
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let mut best = self.alias.draw(inputs);
        let (mut load, mut weight) = (inputs.load(best), inputs.weight(best));
        for _ in 1..self.choices {
            let other = self.draw_other(best, inputs);
            if other == best {
                continue;
            }
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
    /// Draws an endpoint other than `best`, as far as a few tries go.
    #[inline]
    fn draw_other(&self, best: u32, inputs: &mut Inputs<'_>) -> u32 {
        let mut other = self.alias.draw(inputs);
        for _ in 0..REDRAWS {
            if other != best {
                break;
            }
            other = self.alias.draw(inputs);
        }
        other
    }
}
