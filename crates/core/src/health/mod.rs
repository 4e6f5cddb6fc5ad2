//! May an endpoint be used, as far as its condition goes?
//!
//! Pure state machines, fed with what happened and the time. [`ClusterHealth`] holds those of a
//! cluster: what its checks say (`active`), what its requests say (`outlier`), and how far it has
//! warmed up since it came or returned (`slow_start`). What an endpoint may do follows from the
//! worst of these, of what a quorum of other gateways holds (`fleet`), and of what operators want of it.

mod active;
mod attempts;
mod cluster;
mod ejection;
mod flap;
mod fleet;
mod memory;
mod outlier;
pub(crate) mod panic;
mod passive;
mod record;
mod schedule;
mod slow_start;
mod state;
mod verdict;
mod warmth;

pub use active::{ActivePolicy, Initial, ProbeResult};
pub use attempts::{AttemptTimes, AttemptTotals};
pub use cluster::{ClusterHealth, HealthPolicy};
pub use fleet::Votes;
pub use memory::HealthMemory;
pub use outlier::{Observed, OutlierPolicy};
pub use schedule::ProbeSchedule;
pub use slow_start::SlowStart;
pub use state::{Cause, Condition, Health, Transition};
pub use verdict::{Happening, Listed, Verdict};
