//! The load-balancing decision core of Evenkeel.
//!
//! Every decision is a pure function: of an immutable [`Snapshot`] of a cluster, of a
//! [`PickContext`], and of the loads that the endpoints carry at that moment. The crate knows no
//! sockets, threads, clocks or global random numbers; the host hands in what changes. That is why
//! the same code runs in a gateway, in a client and in a simulator, and why each decision can be
//! derived again from its [`Receipt`].
//!
//! # The pieces
//!
//! * [`Membership`] is the writer's side: endpoints come, go and change weight; each change ends in
//!   a new [`Snapshot`], [`Published`] whole.
//! * [`Picker`] is the reader's side, one per worker: [`Picker::pick`] returns a [`Lease`], which
//!   counts the request in flight until it is finished or dropped.
//! * [`health::ClusterHealth`] decides which endpoints may be used, and how warm they are.
//! * [`strategy`] holds the strategies and [`strategy::registry`] the one table that lists them.
//!
//! # Examples
//!
//! ```
//! use evenkeel_core::{
//!     Endpoint, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, strategy::registry,
//! };
//!
//! let strategy = registry::build("least_request", &[])?;
//! let mut members = Membership::new("web", strategy);
//! members.upsert(Endpoint::new("a", "127.0.0.1:9001"));
//! members.upsert(Endpoint::new("b", "127.0.0.1:9002"));
//! let snapshot = members.snapshot();
//!
//! let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
//! let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?;
//! println!("send it to {}", snapshot.endpoint(lease.index()).address());
//! lease.finish(Outcome::Success, Nanos::from_millis(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]

mod assembly;
mod candidate;
mod clock;
mod comparison;
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
pub use shadow::Shadow;
pub use snapshot::{Group, Snapshot, Standing};
pub use sync::unpoisoned;
pub use tier::labels::LabelSelector;
pub use tier::shares::{TierHealth, TierShare, tier_shares};
pub use tier::subset::Subset;
pub use weight::{
    DynamicWeights, Observation, Signal, SignalSum, WeightLaw, WeightMemory, WeightRules,
};
