//! A draw in proportion to weight.

use std::sync::Arc;

use super::alias::AliasTable;
use super::registry::{Descriptor, Traits};
use super::{Cursor, Inputs, Members, Params, Place, Strategy, Table, Value};

/// Describes `weighted_random`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "weighted_random",
    aliases: &[],
    summary: "a draw in proportion to weight",
    advice: "For many independent callers with endpoints of different size. Shares are exact only \
             in the long run; for short ones use weighted_round_robin. It is blind to load.",
    cost: "O(1), one draw and one or two cache lines",
    source: "Walker 1974, Vose 1991 (alias method), in integers",
    params: &[],
    traits: Traits {
        weighted: true,
        ..Traits::NONE
    },
    build: |_: &Params| Arc::new(WeightedRandom),
};

#[derive(Debug)]
struct WeightedRandom;

impl Strategy for WeightedRandom {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        Box::new(WeightedTable::new(members))
    }
}

/// Draws in proportion to weight.
#[derive(Debug)]
pub(super) struct WeightedTable {
    alias: AliasTable,
}

impl WeightedTable {
    pub(super) fn new(members: &Members<'_>) -> Self {
        Self {
            alias: AliasTable::new(members),
        }
    }
}

impl Table for WeightedTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    #[inline]
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        Some(self.alias.draw(inputs))
    }
}
