//! One after the other, regardless of weights.

use std::sync::Arc;

use super::registry::{Descriptor, Traits};
use super::weighted_round_robin::smooth_table;
use super::{Cursor, Inputs, Members, Params, Place, Strategy, Table, Value};

/// Describes `round_robin`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "round_robin",
    aliases: &[],
    summary: "one endpoint after the other, regardless of weights",
    advice: "For equal endpoints and equal requests. It is blind to slow endpoints and to load: a \
             slow one gets as much as the others. Where endpoints differ use weighted_round_robin, \
             where requests differ least_request.",
    cost: "O(1)",
    source: "folklore; the phase rule is our own",
    params: &[],
    traits: Traits {
        exact: true,
        ..Traits::NONE
    },
    build: |_: &Params| Arc::new(RoundRobin),
};

#[derive(Debug)]
struct RoundRobin;

impl Strategy for RoundRobin {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        smooth_table(members)
    }
}

/// A cycle of endpoints that is walked over and over.
#[derive(Debug)]
pub(super) struct CycleTable {
    cycle: Box<[u32]>,
}

impl CycleTable {
    pub(super) fn new(cycle: Box<[u32]>) -> Self {
        debug_assert!(!cycle.is_empty(), "a group has an endpoint to choose");
        Self { cycle }
    }
}

impl Table for CycleTable {
    fn cursor(&self, place: Place) -> Cursor {
        Cursor::Cycle(place.scaled(self.cycle.len() as u64))
    }

    #[inline]
    fn choose(&self, cursor: &mut Cursor, _inputs: &mut Inputs<'_>) -> Option<u32> {
        let at = cursor.step()?;
        self.cycle.get(at as usize).copied()
    }
}
