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
    let text = text.trim_ascii();
    if let Some(value) = decimal(text) {
        return Ok(value);
    }
    let text = std::str::from_utf8(text).ok();
    let value = text.and_then(|text| text.parse().ok());
    measure(value.ok_or(NO_NUMBER)?)
}

/// The number that a few digits and perhaps a point are, as most reports have them; none: it has to be looked at more
/// closely.
///
/// Digits below 2^53 and these powers of ten are exact, and their quotient is rounded once: so it is the very number
/// that reading with all care comes to (Clinger, 1990).
fn decimal(text: &[u8]) -> Option<f64> {
    const DIGITS_MAX: usize = 15;
    const TENS: [f64; DIGITS_MAX + 1] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (mut value, mut digits, mut point) = (0_u64, 0, None);
    for byte in text {
        match byte {
            b'0'..=b'9' if digits < DIGITS_MAX => {
                value = value * 10 + u64::from(byte - b'0');
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => return None,
        }
    }
    let behind = digits - point.unwrap_or(digits);
    (digits > 0).then(|| value as f64 / TENS[behind])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_as_they_are() {
        for text in [
            "0.3",
            "120",
            "0",
            "1.",
            ".5",
            "999999999999999",
            "0.00000000000001",
        ] {
            assert_eq!(decimal(text.as_bytes()), text.parse().ok(), "{text}");
        }
        for text in [
            "",
            ".",
            "1.2.3",
            "-1",
            "1e3",
            "0x1",
            "1 2",
            "1234567890123456",
            "inf",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_measure(b" 1e3 "), Ok(1e3));
        assert_eq!(parse_measure(b"1234567890123456.5"), Ok(1234567890123456.5));
        for wrong in ["", ".", "-1", "inf", "NaN", "1.2.3"] {
            assert!(parse_measure(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    proptest! {
        /// To the last bit.
        #[test]
        fn a_short_way_to_a_number_leads_to_the_same(text in "[0-9]{0,9}\\.?[0-9]{0,9}") {
            if let Some(value) = decimal(text.as_bytes()) {
                prop_assert_eq!(Some(value.to_bits()), text.parse().ok().map(f64::to_bits));
            }
        }
    }
}
