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
mod bounded;
mod cursor;
mod keyed;
mod least_request;
mod maglev;
mod params;
mod peak_ewma;
mod pool;
mod prequal;
mod random;
pub mod registry;
mod rendezvous;
mod ring_hash;
mod roster;
mod round_robin;
mod slots;
mod spread;
mod weighted_random;
mod weighted_round_robin;

use std::fmt::Debug;
use std::sync::Arc;

use crate::clock::Nanos;
use crate::endpoint::Endpoint;
use crate::hash::Hasher;
use crate::membership::FULL_WEIGHT;
pub use crate::pick::inputs::{Inputs, Reading};
pub use cursor::{Cursor, OwnCursor, Place};
pub use params::{Kind, Param, ParamError, Params, Value};
pub use pool::Report;
pub use registry::{Descriptor, Traits};
pub use rendezvous::replicas;

/// A strategy with its parameters.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Cursor, Descriptor, Inputs, Members, Params, Place, Strategy, Table, Traits, Value};
/// # use std::sync::Arc;
///
/// /// Always the first endpoint that is open.
/// #[derive(Debug)]
/// struct First;
///
/// impl Strategy for First {
///     fn descriptor(&self) -> &'static Descriptor {
///         &FIRST
///     }
///
///     fn params(&self) -> Vec<(&'static str, Value)> {
///         Vec::new()
///     }
///
///     fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
///         Box::new(InOrder(members.eligible().to_vec()))
///     }
/// }
///
/// #[derive(Debug)]
/// struct InOrder(Vec<u32>);
///
/// impl Table for InOrder {
///     fn cursor(&self, _: Place) -> Cursor {
///         Cursor::None
///     }
///
///     fn choose(&self, _: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
///         self.0.iter().copied().find(|index| !inputs.is_refused(*index))
///     }
/// }
///
/// static FIRST: Descriptor = Descriptor {
///     name: "first",
///     aliases: &[],
///     summary: "the first one",
///     advice: "An example.",
///     cost: "O(n)",
///     source: "this page",
///     params: &[],
///     traits: Traits::NONE,
///     build: |_: &Params| Arc::new(First),
/// };
///
/// # use evenkeel_core::{Endpoint, Membership, Nanos, PickContext, Picker, PickerSeed};
/// let mut members = Membership::new("web", Arc::new(First));
/// members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
/// assert_eq!(picker.pick(&members.snapshot(), &PickContext::at(Nanos(0)))?.index(), 0);
/// # Ok::<(), evenkeel_core::NoEndpoint>(())
/// ```
pub trait Strategy: Debug + Send + Sync {
    /// The registered description.
    fn descriptor(&self) -> &'static Descriptor;

    /// The parameters in force, by name.
    fn params(&self) -> Vec<(&'static str, Value)>;

    /// What hashes the keys of requests, for a strategy that chooses by key.
    fn hasher(&self) -> Option<Hasher> {
        None
    }

    /// In what time what is known of an endpoint's latency fades by a factor of e, for a strategy that
    /// looks at it.
    fn latency_decay(&self) -> Option<Nanos> {
        None
    }

    /// Whether it goes by what endpoints report of their load: see [`crate::Picker::report`].
    fn takes_reports(&self) -> bool {
        false
    }

    /// Whether it goes by how long endpoints take at the load that they have: see
    /// [`crate::LatencyAtLoad`].
    fn goes_by_load(&self) -> bool {
        false
    }

    /// How endpoints are to be asked for their load, if they are.
    fn probing(&self) -> Option<Probing> {
        None
    }

    /// The most endpoints of a tier that it can choose between.
    fn endpoints_max(&self) -> usize {
        usize::MAX
    }

    /// Works out all that can be known before a request comes, off the request path.
    fn table(&self, members: &Members<'_>) -> Box<dyn Table>;
}

/// How endpoints are asked for their load, off the path of requests.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::Probing;
///
/// let probing = Probing { path: "/load".into(), rate: 3.0 };
/// assert_eq!(&*probing.path, "/load");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Probing {
    /// What is asked for, a path with its query.
    pub path: Arc<str>,
    /// How often for each request, fractions allowed.
    pub rate: f64,
}

/// What a strategy has worked out for one group of endpoints.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Cursor, Inputs, Place, Table};
///
/// /// By chance, all alike.
/// #[derive(Debug)]
/// struct Dice(Vec<u32>);
///
/// impl Table for Dice {
///     fn cursor(&self, _: Place) -> Cursor {
///         Cursor::None
///     }
///
///     fn choose(&self, _: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
///         let (drawn, _) = inputs.draw(self.0.len().max(1) as u64);
///         self.0.get(drawn as usize).copied()
///     }
/// }
/// ```
pub trait Table: Debug + Send + Sync {
    /// A cursor at `place` of this table's cycle. A table without a cycle ignores the place.
    fn cursor(&self, place: Place) -> Cursor;

    /// Proposes an endpoint, or nothing when it has no more to propose.
    ///
    /// Asked again within one decision, it should propose another one; `inputs` knows who refused.
    /// Must not allocate.
    fn choose(&self, cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32>;

    /// Where a key lives as long as all endpoints are well, as a place in the snapshot; nothing for a table
    /// without keys.
    fn home(&self, _key: u64) -> Option<u32> {
        None
    }

    /// Who takes a key as things stand, bounds and caps aside: its home, or whoever stands in for one that may
    /// not be chosen or warms up.
    fn taker(&self, _key: u64) -> Option<u32> {
        None
    }

    /// A checksum of all that decides where keys go, for a table of keys: two processes with the same
    /// one agree on every key as long as all endpoints are well.
    fn checksum(&self) -> Option<u64> {
        None
    }
}

/// What a table may be built from, beside weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts<'a> {
    pub(crate) endpoints: &'a [Arc<Endpoint>],
    pub(crate) factors: &'a [u16],
    pub(crate) median_latency: Option<Nanos>,
    pub(crate) bounded_load: Option<f64>,
}

/// The endpoints of a group, as a table is built from them.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::Members;
///
/// /// The heaviest endpoint that may be chosen.
/// fn heaviest(members: &Members<'_>) -> Option<u32> {
///     let eligible = members.eligible().iter().copied();
///     eligible.max_by_key(|index| members.weight(*index))
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    weights: &'a [u32],
    in_service: &'a [u32],
    eligible: &'a [u32],
    facts: Facts<'a>,
}

impl<'a> Members<'a> {
    pub(crate) fn new(
        weights: &'a [u32],
        in_service: &'a [u32],
        eligible: &'a [u32],
        facts: Facts<'a>,
    ) -> Self {
        Self {
            weights,
            in_service,
            eligible,
            facts,
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

    /// An endpoint as it is configured.
    ///
    /// # Panics
    ///
    /// When `index` is no place in the snapshot.
    #[must_use]
    pub fn endpoint(&self, index: u32) -> &'a Endpoint {
        &self.facts.endpoints[index as usize]
    }

    /// How far an endpoint has warmed up, in 1/256 of its configured weight.
    #[must_use]
    pub fn factor(&self, index: u32) -> u16 {
        let factors = self.facts.factors;
        factors.get(index as usize).copied().unwrap_or(FULL_WEIGHT)
    }

    /// The median of the latencies that are known of the cluster's endpoints.
    #[must_use]
    pub fn median_latency(&self) -> Option<Nanos> {
        self.facts.median_latency
    }

    /// How many times its share of the requests in flight an endpoint may have; above 1.
    #[must_use]
    pub fn bounded_load(&self) -> Option<f64> {
        self.facts.bounded_load
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
