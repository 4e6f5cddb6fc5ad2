//! The deterministic simulator of Evenkeel: the gateway's own decisions on virtual time.
//!
//! A [`evenkeel_config::Scenario`] says what traffic comes, who serves it and what befalls them. Each of its
//! variants is run on the same requests, and the decisions are made by the very membership, snapshot,
//! picker and lease that the gateway has. The same scenario and seed give the same bytes on every
//! platform.

#![deny(missing_docs)]

mod assertion;
mod builtin;
mod chance;
mod engine;
mod load_check;
mod report;
mod run;
mod sweep;
mod tally;
mod world;

pub use assertion::Assertion;
pub use builtin::{BUILT_IN, BuiltIn};
pub use load_check::impossible_load;
pub use report::{Figures, Imbalance, to_json};
pub use run::{CLAIRVOYANT, Comparison, Options, compare};
pub use sweep::{Point, Sweep, SweepResult};
pub use tally::{Counts, EndpointCounts, Happening, Histogram, Sample, StageCounts, Tally};
