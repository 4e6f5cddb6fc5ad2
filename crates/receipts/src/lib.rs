//! Receipts as lines of JSON: written by a gateway, read and verified by whoever has the file.
//!
//! A decision log has two kinds of lines. A `decision` is a [`evenkeel_core::Receipt`] with what is
//! known of its request ([`DecisionLine`]); a `snapshot` is all that the decisions of one generation
//! follow from ([`SnapshotLine`]) and stands before them. Both end with a checksum of themselves.
//! [`Verifier`] makes every decision again.
//!
//! No I/O, no clock: lines and times come as text.

#![deny(missing_docs)]

mod decision;
mod json;
mod read;
mod sample;
mod snapshot;
mod timestamp;
mod verify;

pub use decision::{DecisionLine, Outcome};
pub use json::{put_string, put_unsigned};
pub use read::{LineError, RecordedDecision, RecordedSnapshot};
pub use sample::Sample;
pub use snapshot::SnapshotLine;
pub use timestamp::{clf, parse_rfc3339, rfc3339};
pub use verify::{Difference, StrategyCount, Verifier};
