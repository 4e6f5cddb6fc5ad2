//! The load-balancing decision core of Evenkeel.
//!
//! Every decision is a pure function: of an immutable [`Snapshot`] of a cluster, of a
//! [`PickContext`], and of the loads that the endpoints carry at that moment. The crate knows no
//! sockets, threads, clocks or global random numbers; the host hands in what changes. That is why
//! the same code runs in a gateway, in a client and in a simulator, and why each decision can be
//! derived again from its [`Receipt`].
//!
//! Whoever calls services from a Rust program wants `evenkeel-client`, which is this behind a
//! `tower::Service`. This crate is for those who build something else on the decision: a proxy, a
//! connection pool, a scheduler, a simulation.
//!
//! # In two minutes
//!
//! [`Membership`] is the writer's side: endpoints come, go and change weight; each change ends in a
//! new [`Snapshot`], [`Published`] whole. [`Picker`] is the reader's side, one per thread:
//! [`Picker::pick`] returns a [`Lease`], which counts the request in flight until it is finished or
//! dropped.
//!
//! ```
//! use evenkeel_core::{
//!     Endpoint, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, strategy::registry,
//! };
//!
//! let strategy = registry::build("least_request", &[])?;
//! let mut members = Membership::new("web", strategy);
//! members.upsert(Endpoint::new("a", "127.0.0.1:9001"));
//! members.upsert(Endpoint::new("b", "127.0.0.1:9002").with_weight(2));
//! let snapshot = members.snapshot();
//!
//! let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
//! let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?;
//! println!("send it to {}", snapshot.endpoint(lease.index()).address());
//! lease.finish(Outcome::Success, Nanos::from_millis(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Time is an argument.** [`Nanos`] of the host's own monotonic clock goes into every call that
//! needs it, so tests and simulations run on whatever time they like.
//!
//! **A request that failed goes elsewhere.** [`PickContext::attempts`] says where it has been;
//! [`RetryRules`] says what may be tried again, [`RetryBudget`] how often.
//!
//! ```
//! # use evenkeel_core::{Endpoint, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, strategy::registry};
//! # let mut members = Membership::new("web", registry::build("least_request", &[])?);
//! # members.upsert(Endpoint::new("a", "127.0.0.1:9001"));
//! # members.upsert(Endpoint::new("b", "127.0.0.1:9002"));
//! # let snapshot = members.snapshot();
//! # let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
//! let mut ctx = PickContext::at(Nanos(0));
//! let first = picker.pick(&snapshot, &ctx)?;
//! let first_at = first.index();
//! ctx.attempts.push(first.state().serial());
//! first.finish(Outcome::Failure, Nanos::from_millis(1));
//! let second = picker.pick(&snapshot, &ctx)?;
//! assert_ne!(second.index(), first_at);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Endpoints that fail are taken out**, and warm up when they return: [`health::ClusterHealth`]
//! hears what checks and requests come to, and changes the membership.
//!
//! **Full endpoints are spared**: [`Endpoint::with_capacity`] is exact over all threads, and requests
//! wait in a [`WaitingRoom`] until a slot opens.
//!
//! **Every decision can be explained**: [`Picker::pick_traced`] writes a [`Receipt`], and
//! [`Receipt::derive`] makes the decision again.
//!
//! **Strategies** are listed in [`strategy::registry`]; one of your own is an implementation of
//! [`strategy::Strategy`], and `evenkeel-testkit` has the law suite that the built-in ones are held to.
//!
//! # Stability
//!
//! Versions follow semver. A seed gives the same choices on every platform; a release that changes
//! them says so. Rust 1.90 or later; a rise of that is a minor version.

#![deny(missing_docs)]

mod ascending;
mod assembly;
mod candidate;
mod clock;
mod comparison;
mod due;
mod endpoint;
mod gate;
pub mod hash;
pub mod health;
mod load;
pub mod math;
mod membership;
#[cfg(all(test, loom))]
mod models;
mod nearest;
mod pick;
mod published;
mod record;
pub mod reference;
mod report;
mod rng;
mod shadow;
mod snapshot;
pub mod strategy;
mod sync;
mod tier;
mod weight;

pub use ascending::{Ascending, NewAndGone, follow_list};
pub use candidate::Candidate;
pub use clock::Nanos;
pub use comparison::Aside;
pub use endpoint::{Admin, Endpoint, EndpointMemory, EndpointState, Serial};
pub use gate::{
    Ask, Doors, FailurePoint, LearnedLimit, Levels, Line, Priority, QueuePlace, QueuePolicy,
    Refused, Repeatable, RequestWindow, RetryBudget, RetryPolicy, RetryRules, Samples, ShedReason,
    Slot, Waiting, WaitingRoom, Watermarks,
};
pub use health::panic::{NotAThreshold, PanicThreshold};
pub use load::{Cost, InFlight, LatencyAtLoad, Load, PeakEwma};
pub use membership::{
    DuplicateId, FULL_WEIGHT, KeyPolicy, Membership, MissingKey, UnknownEndpoint,
};
pub use nearest::{did_you_mean, nearest};
pub use pick::context::{Attempts, NoEndpoint, PickContext};
pub use pick::lease::{Lease, Outcome, OwnedLease};
pub use pick::picker::{LoadReport, Picker, PickerSeed};
pub use pick::receipt::{Compared, DerivationError, Exclusion, Fallback, Receipt, Refusal, Score};
pub use published::{Published, Reader};
pub use record::{RecordedEndpoint, SnapshotRecord};
#[doc(hidden)]
pub use report::fuzz_load_report;
pub use report::{AgentLine, AgentWish, BadReport, HealthBody, OrcaReport, ProbeAnswer};
pub use rng::Rng;
pub use shadow::{Shadow, ShadowPicker, Witness};
pub use snapshot::{Group, Snapshot, Standing};
pub use sync::unpoisoned;
pub use tier::balance::SubsetBalance;
pub use tier::labels::LabelSelector;
pub use tier::shares::{TierHealth, TierShare, tier_shares};
pub use tier::subset::{CallerPlace, Subset, SubsetMethod};
pub use weight::{
    DynamicWeights, Observation, Signal, SignalSum, WeightLaw, WeightMemory, WeightRules,
};
