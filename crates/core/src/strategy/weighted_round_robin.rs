//! Smooth weighted round robin: exact shares over a cycle, spread as evenly as they go.

use std::sync::Arc;

use super::params::{Kind, Param};
use super::registry::{Descriptor, Traits};
use super::round_robin::CycleTable;
use super::spread::SpreadTable;
use super::{Cursor, Inputs, Members, Params, Place, Strategy, Table, Value};
use crate::reference::smooth_cycle;

/// Describes `weighted_round_robin`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "weighted_round_robin",
    aliases: &["smooth_weighted_round_robin"],
    summary: "in turn, each as often as its weight says, spread evenly",
    advice: "For endpoints of different size and requests of equal cost, where shares must be exact \
             also in the short run. It is blind to load and to slow endpoints; where requests differ \
             use least_request.",
    cost: "O(1) for cycles up to 65,536 picks, O(log n) beyond",
    source: "nginx, smooth weighted round robin (May 2012); earliest deadline first with spread \
             phases beyond small cycles",
    params: &[Param {
        name: "smooth",
        kind: Kind::Bool,
        default: "true",
        doc: "false: the plain interval form, which sends a heavy endpoint its whole share in a row",
    }],
    traits: Traits {
        weighted: true,
        exact: true,
        ..Traits::NONE
    },
    build: |params: &Params| {
        Arc::new(WeightedRoundRobin {
            smooth: params.flag("smooth", true),
        })
    },
};

/// The longest cycle that is worked out beforehand, in picks.
const CYCLE_MAX: u64 = 65_536;

/// The most steps that working out a cycle may take: some 5 ms.
const CYCLE_WORK_MAX: u64 = 4 << 20;

#[derive(Debug)]
struct WeightedRoundRobin {
    smooth: bool,
}

impl Strategy for WeightedRoundRobin {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        vec![("smooth", Value::Bool(self.smooth))]
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        if self.smooth {
            return smooth_table(members);
        }
        let weights = members.reduced_weights();
        Box::new(IntervalTable::new(members.eligible(), &weights))
    }
}

/// The smooth form: written down when the cycle is short, else worked out pick by pick.
pub(super) fn smooth_table(members: &Members<'_>) -> Box<dyn Table> {
    if members.weigh_the_same() {
        return Box::new(CycleTable::new(members.eligible().into()));
    }
    let weights = members.reduced_weights();
    let length: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    if length <= CYCLE_MAX && length * weights.len() as u64 <= CYCLE_WORK_MAX {
        let cycle = smooth_cycle(&weights);
        let cycle = cycle.iter().map(|at| members.eligible()[*at]).collect();
        return Box::new(CycleTable::new(cycle));
    }
    Box::new(SpreadTable::new(members.eligible(), &weights))
}

/// The plain form: each endpoint holds an interval of the cycle.
#[derive(Debug)]
struct IntervalTable {
    eligible: Box<[u32]>,
    /// Where each interval ends.
    ends: Box<[u64]>,
}

impl IntervalTable {
    fn new(eligible: &[u32], weights: &[u32]) -> Self {
        let ends = weights.iter().scan(0, |end, weight| {
            *end += u64::from(*weight);
            Some(*end)
        });
        Self {
            eligible: eligible.into(),
            ends: ends.collect(),
        }
    }
}

impl Table for IntervalTable {
    fn cursor(&self, place: Place) -> Cursor {
        let length = self.ends.last().copied().unwrap_or(1);
        Cursor::Cycle(place.scaled(length))
    }

    #[inline]
    fn choose(&self, cursor: &mut Cursor, _inputs: &mut Inputs<'_>) -> Option<u32> {
        let ticket = cursor.step()?;
        let at = self.ends.partition_point(|end| *end <= ticket);
        self.eligible.get(at).copied()
    }
}
