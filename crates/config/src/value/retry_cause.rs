//! After what a request is tried again.

use std::ops::RangeInclusive;

use super::mistake::Mistake;

const WORDS: [&str; 3] = ["connect", "reset", "timeout"];

const HELP: &str = "it can be \"connect\", \"reset\", \"timeout\", a status from \"400\" to \
                    \"599\" or a class, \"4xx\" or \"5xx\"";

/// What fits is taken; a variable may stand for a cause.
pub(crate) const PATTERN: &str = "^(connect|reset|timeout|[45]([0-9][0-9]|xx)|.*[$][{].*)$";

/// After what a request is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryCause {
    /// The connection was not made.
    Connect,
    /// It ended before a byte of the answer.
    Reset,
    /// The answer has one of these statuses.
    Status(RangeInclusive<u16>),
    /// The answer did not come within the time for one try.
    Timeout,
}

/// Reads a cause.
///
/// # Errors
///
/// When it is no word, no status and no class, or a status that is no failure.
pub(crate) fn parse_retry_cause(text: &str) -> Result<RetryCause, Mistake> {
    match text {
        "connect" => return Ok(RetryCause::Connect),
        "reset" => return Ok(RetryCause::Reset),
        "timeout" => return Ok(RetryCause::Timeout),
        _ => {}
    }
    let shown: String = text.chars().take(40).collect();
    match statuses(text) {
        Some(statuses) if (400..=599).contains(statuses.start()) => {
            Ok(RetryCause::Status(statuses))
        }
        Some(_) => Err(Mistake::new(
            format!("{shown:?} is the status of no failure"),
            HELP,
        )),
        None => {
            let hint = evenkeel_core::did_you_mean(text, WORDS.iter().copied());
            Err(Mistake::new(format!("{shown:?} is not known{hint}"), HELP))
        }
    }
}

/// The statuses that three digits, or one with two letters behind it, stand for.
fn statuses(text: &str) -> Option<RangeInclusive<u16>> {
    let digits = text.strip_suffix("xx").unwrap_or(text);
    let is_status = text.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u16 = digits.parse().ok().filter(|_| is_status)?;
    Some(if digits.len() == 1 {
        number * 100..=number * 100 + 99
    } else {
        number..=number
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_statuses_and_classes() {
        let read = |text| parse_retry_cause(text);
        assert_eq!(read("connect"), Ok(RetryCause::Connect));
        assert_eq!(read("reset"), Ok(RetryCause::Reset));
        assert_eq!(read("timeout"), Ok(RetryCause::Timeout));
        assert_eq!(read("503"), Ok(RetryCause::Status(503..=503)));
        assert_eq!(read("5xx"), Ok(RetryCause::Status(500..=599)));
        assert_eq!(read("4xx"), Ok(RetryCause::Status(400..=499)));
        for wrong in [
            "200", "399", "600", "2xx", "xxx", "5x", "5xxx", "+50", "", "5XX", "0xx",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
