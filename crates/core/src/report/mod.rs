//! What endpoints say of themselves, as bytes: read without allocation, and never a panic.
//!
//! Nothing is believed that a balancer could not act on: a value that is negative, not finite or not a
//! number makes the whole report a bad one, since half of it is no better known than none.

mod agent;
mod base64;
mod fuzz;
mod health_body;
mod json;
mod orca;
mod probe;
mod protobuf;

pub use agent::{AgentLine, AgentWish};
pub use fuzz::fuzz_load_report;
pub use health_body::HealthBody;
pub use orca::OrcaReport;
pub use probe::ProbeAnswer;

/// A report that says nothing that can be used.
///
/// # Examples
///
/// ```
/// use evenkeel_core::ProbeAnswer;
///
/// let bad = ProbeAnswer::parse(b"nonsense").expect_err("it is no JSON");
/// assert!(!bad.reason().is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadReport(pub(crate) &'static str);

impl BadReport {
    /// What is wrong with it, in a few words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        self.0
    }
}

const NO_NUMBER: BadReport = BadReport("a value is not a number");

/// A measure: finite and not negative.
fn measure(value: f64) -> Result<f64, BadReport> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(BadReport("a value is not a number from 0 on"))
    }
}

/// A measure that is written down.
fn parse_measure(text: &[u8]) -> Result<f64, BadReport> {
    let text = std::str::from_utf8(text).ok();
    let value = text.and_then(|text| text.trim().parse().ok());
    measure(value.ok_or(NO_NUMBER)?)
}
