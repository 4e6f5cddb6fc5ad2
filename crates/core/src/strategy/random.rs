//! A uniform draw, regardless of weights.

use std::sync::Arc;

use super::registry::{Descriptor, Traits};
use super::weighted_random::WeightedTable;
use super::{Cursor, Inputs, Members, Params, Place, Strategy, Table, Value};

/// Describes `random`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "random",
    aliases: &[],
    summary: "a uniform draw, regardless of weights",
    advice: "For many independent callers with equal endpoints: it needs no state and cannot fall \
             in step. Short runs are uneven (of six endpoints, one in a hundred is missed by 25 \
             requests in a row), and it is blind to load.",
    cost: "O(1), one draw",
    source: "folklore",
    params: &[],
    traits: Traits::NONE,
    build: |_: &Params| Arc::new(Random),
};

#[derive(Debug)]
struct Random;

impl Strategy for Random {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        if members.weigh_the_same() {
            return Box::new(UniformTable {
                eligible: members.eligible().into(),
            });
        }
        Box::new(WeightedTable::new(members))
    }
}

#[derive(Debug)]
struct UniformTable {
    eligible: Box<[u32]>,
}

impl Table for UniformTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    #[inline]
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let (at, _) = inputs.draw(self.eligible.len() as u64);
        self.eligible.get(at as usize).copied()
    }
}
