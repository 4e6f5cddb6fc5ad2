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
mod claims;
mod engine;
mod fuzz;
mod load_check;
mod replay;
mod report;
mod run;
mod sweep;
mod tally;
mod world;

pub use assertion::Assertion;
pub use builtin::{BUILT_IN, BuiltIn};
pub use claims::{CapacityAt, Claim, capacities, claims};
pub use fuzz::random_scenario;
pub use load_check::impossible_load;
pub use replay::{
    Answer, Interval, LogError, Question, Recorded, Row, answer_to_json, read_log, what_if,
};
pub use report::{
    Figures, Imbalance, Page, Picture, ResultRow, ResultTable, in_ms, latency_table, pictures,
    spread_table, stage_tables, to_html, to_json,
};
pub use run::{CLAIRVOYANT, Comparison, Options, compare};
pub use sweep::{Point, Sweep, SweepResult};
pub use tally::{Counts, EndpointCounts, Happening, Histogram, Sample, StageCounts, Tally};
