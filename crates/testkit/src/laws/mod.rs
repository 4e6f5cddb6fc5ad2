//! The laws that every strategy is held to.
//!
//! A [`Law`] is a check of one property over clusters of its own making; it takes any
//! [`Subject`], so a strategy of one's own is held to the same laws as the registered ones. Where
//! strategies may differ, a law asks the strategy's [`Traits`]. All seeds are fixed: a law that holds
//! once always does, and statistical bounds are set so that only a wrong strategy breaks them.
//!
//! # Examples
//!
//! ```
//! use evenkeel_core::strategy::registry;
//! use evenkeel_testkit::laws::{self, Subject};
//!
//! let subject = Subject::registered(registry::find("round_robin").expect("registered"));
//! assert_eq!(laws::ORDER_DOES_NOT_MATTER.check(&subject), Ok(()));
//! ```

mod black_hole;
mod bounded;
mod caps;
mod cluster;
mod determinism;
mod eligible;
mod forms;
mod keys;
mod leases;
mod loaded;
mod marks;
mod order;
mod panics;
mod phase;
mod ramp;
mod receipts;
mod shares;
mod statistics;
mod tiers;
mod tried;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use evenkeel_core::strategy::{Descriptor, Params, Strategy, Traits};
use evenkeel_core::{Endpoint, Membership, Watermarks};

pub use black_hole::FAILURES_WEIGH;
pub use bounded::A_BOUND_HOLDS;
pub use caps::CAPS_ARE_EXACT;
pub use cluster::{cluster, counts, endpoint, id, pick};
pub use determinism::{SAME_SEED_SAME_CHOICES, sequence};
pub use eligible::{ALL_ZERO_WEIGHTS_ARE_NONE_IN_SERVICE, ONLY_ELIGIBLE_ENDPOINTS};
pub use forms::{form, forms};
pub use keys::{
    A_KEY_STAYS, EVERY_KEY_IS_SERVED, HEALTH_MOVES_ITS_OWN_KEYS, KEYS_MOVE_ONCE_TO_WHO_WARMS_UP,
    MEMBERSHIP_MOVES_ITS_OWN_KEYS, REQUESTS_WITHOUT_A_KEY,
};
pub use leases::LEASES_COME_BACK;
pub use loaded::{A_COLD_ENDPOINT_GETS_ITS_SHARE, SHARES_UNDER_LOAD};
pub use marks::{
    A_KEY_STAYS_UP_TO_THE_CAP, BUSY_ENDPOINTS_ARE_LEFT_ALONE, SLOTS_ARE_FOUND_IN_ANY_TIER,
};
pub use order::ORDER_DOES_NOT_MATTER;
pub use panics::NO_INPUT_PANICS;
pub use phase::{CHANGES_KEEP_SHARES, FRESH_PICKERS_ARE_OUT_OF_STEP, REBUILD_KEEPS_THE_PHASE};
pub use ramp::SHARE_STAYS_BELOW_ITS_RAMP;
pub use receipts::RECEIPTS_LEAD_TO_THEIR_CHOICE;
pub use shares::{MISSING_SHARE_IS_SPREAD_EVENLY, SHARE_FOLLOWS_WEIGHT};
pub use statistics::{fits, fits_within};
pub use tiers::TIERS_SHARE_BY_HEALTH;
pub use tried::EACH_IS_TRIED_ONCE;

/// Every law.
pub const LAWS: &[&Law] = &[
    &SHARE_FOLLOWS_WEIGHT,
    &MISSING_SHARE_IS_SPREAD_EVENLY,
    &ONLY_ELIGIBLE_ENDPOINTS,
    &ALL_ZERO_WEIGHTS_ARE_NONE_IN_SERVICE,
    &EACH_IS_TRIED_ONCE,
    &ORDER_DOES_NOT_MATTER,
    &NO_INPUT_PANICS,
    &REBUILD_KEEPS_THE_PHASE,
    &CHANGES_KEEP_SHARES,
    &FRESH_PICKERS_ARE_OUT_OF_STEP,
    &SHARE_STAYS_BELOW_ITS_RAMP,
    &SAME_SEED_SAME_CHOICES,
    &CAPS_ARE_EXACT,
    &BUSY_ENDPOINTS_ARE_LEFT_ALONE,
    &A_KEY_STAYS_UP_TO_THE_CAP,
    &SLOTS_ARE_FOUND_IN_ANY_TIER,
    &TIERS_SHARE_BY_HEALTH,
    &LEASES_COME_BACK,
    &FAILURES_WEIGH,
    &RECEIPTS_LEAD_TO_THEIR_CHOICE,
    &SHARES_UNDER_LOAD,
    &A_COLD_ENDPOINT_GETS_ITS_SHARE,
    &A_KEY_STAYS,
    &MEMBERSHIP_MOVES_ITS_OWN_KEYS,
    &HEALTH_MOVES_ITS_OWN_KEYS,
    &EVERY_KEY_IS_SERVED,
    &KEYS_MOVE_ONCE_TO_WHO_WARMS_UP,
    &REQUESTS_WITHOUT_A_KEY,
    &A_BOUND_HOLDS,
];

/// What a law says when it is broken.
pub type Verdict = Result<(), String>;

/// One property that every strategy has.
#[derive(Debug)]
pub struct Law {
    /// The name, as the test that runs it has it.
    pub name: &'static str,
    /// What it says, a sentence.
    pub says: &'static str,
    /// Why it says nothing about a strategy of those traits, if it does not.
    pub exempt: fn(Traits) -> Option<&'static str>,
    holds: fn(&Subject) -> Verdict,
}

/// For laws that concern every strategy.
const fn nobody(_: Traits) -> Option<&'static str> {
    None
}

/// For laws about keys.
fn unless_keyed(traits: Traits) -> Option<&'static str> {
    (!traits.keyed).then_some("it knows no keys")
}

/// For laws about shares on an idle cluster.
fn if_latency_decides(traits: Traits) -> Option<&'static str> {
    traits
        .latency_aware
        .then_some("on an idle cluster the heavier or faster endpoint wins: see shares_under_load")
}

/// For laws about load.
fn unless_load_aware(traits: Traits) -> Option<&'static str> {
    (!traits.load_aware).then_some("it does not look at load")
}

impl Law {
    /// Holds a strategy to the law.
    ///
    /// # Errors
    ///
    /// When the law is broken, with what was seen; also when the strategy panics.
    pub fn check(&self, subject: &Subject) -> Verdict {
        if (self.exempt)(subject.traits()).is_some() {
            return Ok(());
        }
        let verdict = catch_unwind(AssertUnwindSafe(|| (self.holds)(subject)));
        verdict.unwrap_or_else(|panic| Err(format!("it panics: {}", message(&*panic))))
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

/// Beyond this ratio the lightest endpoint has so few slots or points that one more is a large part.
const TABLE_RATIO: u16 = 10;

/// The cap of endpoints with gates.
const GATED_CAP: u32 = 1_000_000;

/// A strategy with its parameters, to be held to the laws.
#[derive(Clone, Debug)]
pub struct Subject {
    strategy: Arc<dyn Strategy>,
    gated: bool,
}

impl Subject {
    /// A strategy with its default parameters.
    #[must_use]
    pub fn registered(descriptor: &'static Descriptor) -> Self {
        Self::new((descriptor.build)(&Params::default()))
    }

    /// A strategy with parameters of one's choice.
    #[must_use]
    pub fn new(strategy: Arc<dyn Strategy>) -> Self {
        Self {
            strategy,
            gated: false,
        }
    }

    /// The same strategy among endpoints with caps and levels below them, which no law reaches: what
    /// holds without gates holds with them.
    #[must_use]
    pub fn gated(self) -> Self {
        Self {
            gated: true,
            ..self
        }
    }

    /// Puts gates on, if they are to be on.
    fn gate(&self, members: &mut Membership) {
        if !self.gated {
            return;
        }
        members.set_watermarks(Some(Watermarks::default()));
        let endpoints: Vec<_> = members
            .endpoints()
            .filter(|(endpoint, _)| endpoint.capacity().is_none())
            .map(|(endpoint, _)| Endpoint::clone(endpoint))
            .collect();
        for endpoint in endpoints {
            members.upsert(endpoint.with_capacity(GATED_CAP));
        }
    }

    /// The strategy.
    #[must_use]
    pub fn strategy(&self) -> Arc<dyn Strategy> {
        Arc::clone(&self.strategy)
    }

    /// Whether counts fit shares, as far as its table is even.
    ///
    /// # Errors
    ///
    /// When they do not, with both.
    pub fn fits(&self, counts: &[u64], shares: &[f64]) -> Verdict {
        match self.traits().uneven_percent {
            0 => fits(counts, shares),
            percent => fits_within(counts, shares, percent),
        }
    }

    /// Whether the ratio of such weights is one that its table can show.
    fn resolves(&self, weights: &[u16]) -> bool {
        let in_service = || weights.iter().filter(|weight| **weight > 0);
        let (least, most) = (in_service().min(), in_service().max());
        let ratio = most.zip(least).map_or(1, |(most, least)| most / least);
        self.traits().uneven_percent == 0 || ratio <= TABLE_RATIO
    }

    /// How it differs from others.
    #[must_use]
    pub fn traits(&self) -> Traits {
        self.strategy.descriptor().traits
    }
}

/// Returns from a law with what was seen, unless what it demands is so.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;
