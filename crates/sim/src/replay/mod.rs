//! What a recorded log would have come to under other decisions: service laws are fitted to it, and its own
//! arrivals are run again.

mod changes;
mod fit;
mod interval;
mod json;
mod log;
mod scenario;
mod taken;
mod time;
mod what_if;

pub use interval::Interval;
pub use json::answer_to_json;
pub use log::{LogError, Recorded, read_log};
pub use what_if::{Answer, Question, Row, what_if};
