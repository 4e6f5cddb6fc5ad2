//! Strategies: how one of several endpoints is chosen.
//!
//! A [`Strategy`] is a name with parameters. For each generation of a cluster it works out a
//! [`Table`], immutable and shared by all pickers; a picker adds its own [`Cursor`]. The table
//! proposes; what must hold for every strategy (tiers, panic, endpoints already tried, caps, what to
//! do when a proposal is refused) is written once, in the pipeline around it.
//!
//! # The laws
//!
//! The law suite in `evenkeel-testkit` holds every registered strategy to them: the share follows
//! the weight; only eligible endpoints are proposed; input order does not matter; no weights, sizes
//! or cursors make it panic; a new table does not restart the phase; a thousand fresh pickers do not
//! start in step; the same seed gives the same choices. Where a strategy differs, its
//! [`Traits`] say so.
//!
//! # Adding one
//!
//! Write its file, end it with its [`Descriptor`], add one line to [`registry`], its page in the
//! guide, and its golden file.

mod alias;
mod cursor;
mod least_request;
mod params;
mod random;
pub mod registry;
mod round_robin;
mod spread;
mod weighted_random;
mod weighted_round_robin;

use std::fmt::Debug;

pub use crate::pick::inputs::Inputs;
pub use cursor::{Cursor, OwnCursor, Place};
pub use params::{Kind, Param, ParamError, Params, Value};
pub use registry::{Descriptor, Traits};

/// A strategy with its parameters.
pub trait Strategy: Debug + Send + Sync {
    /// The registered description.
    fn descriptor(&self) -> &'static Descriptor;

    /// The parameters in force, by name.
    fn params(&self) -> Vec<(&'static str, Value)>;

    /// Works out all that can be known before a request comes, off the request path.
    fn table(&self, members: &Members<'_>) -> Box<dyn Table>;
}

/// What a strategy has worked out for one group of endpoints.
pub trait Table: Debug + Send + Sync {
    /// A cursor at `place` of this table's cycle. A table without a cycle ignores the place.
    fn cursor(&self, place: Place) -> Cursor;

    /// Proposes an endpoint, or nothing when it has no more to propose.
    ///
    /// Asked again within one decision, it should propose another one; `inputs` knows who refused.
    /// Must not allocate.
    fn choose(&self, cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32>;
}

/// The endpoints of a group, as a table is built from them.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    weights: &'a [u32],
    in_service: &'a [u32],
    eligible: &'a [u32],
}

impl<'a> Members<'a> {
    pub(crate) fn new(weights: &'a [u32], in_service: &'a [u32], eligible: &'a [u32]) -> Self {
        Self {
            weights,
            in_service,
            eligible,
        }
    }

    /// The endpoints that may be chosen now, as places in the snapshot, in id order; never empty.
    #[must_use]
    pub fn eligible(&self) -> &'a [u32] {
        self.eligible
    }

    /// All endpoints of the group, healthy or not, in id order. Tables that give each key a home are
    /// built from these, so that a health change moves nobody else's keys.
    #[must_use]
    pub fn in_service(&self) -> &'a [u32] {
        self.in_service
    }

    /// The effective weight of an endpoint in 1/256, at least 1; for a strategy that is not
    /// [`Traits::weighted`] only how far it has warmed up, in 1/256.
    #[must_use]
    pub fn weight(&self, index: u32) -> u32 {
        self.weights[index as usize].max(1)
    }

    /// Whether all eligible endpoints weigh the same.
    #[must_use]
    pub fn weigh_the_same(&self) -> bool {
        let mut weights = self.eligible.iter().map(|index| self.weight(*index));
        let first = weights.next();
        weights.all(|weight| Some(weight) == first)
    }

    /// The weights of the eligible endpoints, divided by their greatest common divisor.
    #[must_use]
    pub fn reduced_weights(&self) -> Vec<u32> {
        let divisor = self
            .eligible
            .iter()
            .fold(0, |divisor, index| gcd(divisor, self.weight(*index)));
        self.eligible
            .iter()
            .map(|index| self.weight(*index) / divisor.max(1))
            .collect()
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
