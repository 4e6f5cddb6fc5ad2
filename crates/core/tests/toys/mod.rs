//! Strategies of one's own: one that obeys the laws, and some that each break one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::strategy::{
    Cursor, Descriptor, Inputs, Members, Params, Place, Strategy, Table, Traits, Value,
};

/// How a toy chooses.
#[derive(Clone, Copy, Debug)]
enum Toy {
    /// By weight, with a draw and a walk. Nothing is wrong with it.
    Honest,
    /// Says that it is weighted, and is not.
    Even,
    /// Proposes endpoints that are not in service, too.
    Careless,
    /// In turn, but each picker and each new table starts at the first.
    Forgetful,
    /// In turn for the whole process, so no run is like another.
    Global,
    /// Stops at the end of its list.
    Panicking,
    /// Its choice follows from nothing that is on the record.
    Secretive,
}

/// One that obeys every law.
pub(crate) fn honest() -> Arc<dyn Strategy> {
    Arc::new(Toy::Honest)
}

/// Those that break a law, with its name.
pub(crate) fn broken() -> Vec<(Arc<dyn Strategy>, &'static str)> {
    let toys = [
        (Toy::Even, "share_follows_weight"),
        (Toy::Even, "share_stays_below_its_ramp"),
        (Toy::Careless, "only_eligible_endpoints"),
        (Toy::Forgetful, "rebuild_keeps_the_phase"),
        (Toy::Forgetful, "fresh_pickers_are_out_of_step"),
        (Toy::Global, "same_seed_same_choices"),
        (Toy::Panicking, "no_input_panics"),
        (Toy::Secretive, "receipts_lead_to_their_choice"),
    ];
    toys.map(|(toy, law)| (Arc::new(toy) as Arc<dyn Strategy>, law))
        .into()
}

const fn describe(name: &'static str, weighted: bool, exact: bool) -> Descriptor {
    Descriptor {
        name,
        aliases: &[],
        summary: "a toy",
        advice: "None.",
        cost: "O(n)",
        source: "this test",
        params: &[],
        traits: Traits {
            weighted,
            exact,
            ..Traits::NONE
        },
        build: |_: &Params| honest(),
    }
}

static BY_CHANCE: Descriptor = describe("toy_by_chance", true, false);
static IN_TURN: Descriptor = describe("toy_in_turn", false, true);

impl Strategy for Toy {
    fn descriptor(&self) -> &'static Descriptor {
        match self {
            Self::Forgetful | Self::Global | Self::Panicking => &IN_TURN,
            _ => &BY_CHANCE,
        }
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        let weigh = |index: &u32| (*index, u64::from(members.weight(*index)));
        let known = match self {
            // Also those before and after that are not eligible.
            Self::Careless => (0..=members.eligible().iter().copied().max().unwrap_or(0)).collect(),
            _ => members.eligible().to_vec(),
        };
        Box::new(ToyTable {
            toy: *self,
            weights: known.iter().map(weigh).collect(),
        })
    }
}

#[derive(Debug)]
struct ToyTable {
    toy: Toy,
    weights: Vec<(u32, u64)>,
}

static TURN: AtomicU64 = AtomicU64::new(0);

impl Table for ToyTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::Cycle(Place::new(0, self.weights.len() as u64))
    }

    fn choose(&self, cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let size = self.weights.len() as u64;
        let at = match self.toy {
            Toy::Honest | Toy::Careless => return self.by_weight(inputs),
            Toy::Even => inputs.draw(size).0,
            Toy::Forgetful => cursor.step()?,
            Toy::Global => TURN.fetch_add(1, Ordering::Relaxed) % size,
            Toy::Panicking => cursor.step()? + size / 7,
            Toy::Secretive => (TURN.fetch_add(1, Ordering::Relaxed) * 7 + inputs.draw(2).0) % size,
        };
        Some(self.weights[at as usize].0)
    }
}

impl ToyTable {
    fn by_weight(&self, inputs: &mut Inputs<'_>) -> Option<u32> {
        let open = |(index, _): &&(u32, u64)| !inputs.is_refused(*index);
        let total: u64 = self.weights.iter().filter(open).map(|one| one.1).sum();
        if total == 0 {
            return None;
        }
        let (mut ticket, _) = inputs.draw(total);
        for (index, weight) in &self.weights {
            if inputs.is_refused(*index) {
                continue;
            }
            match ticket.checked_sub(*weight) {
                Some(left) => ticket = left,
                None => return Some(*index),
            }
        }
        None
    }
}
