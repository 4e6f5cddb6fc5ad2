//! What a recorded log would have come to under other decisions: service laws are fitted to it, and its own
//! arrivals are run again.

mod fit;
mod json;
mod log;
mod time;
mod what_if;

pub use json::answer_to_json;
pub use log::{LogError, Recorded, read_log};
pub use what_if::{Answer, Interval, Question, Row, what_if};
