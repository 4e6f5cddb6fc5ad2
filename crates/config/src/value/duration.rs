//! Durations: a number and a unit, `"250ms"`, `"1.5s"`, `"1m"`, `"2h"`.

use std::time::Duration;

use super::mistake::Mistake;

/// The longest duration that is taken: longer ones are slips, and would overflow a clock.
pub const DURATION_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

const UNITS: [(&str, u64); 4] = [
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const HELP: &str = "write a number and its unit, like \"250ms\", \"1.5s\", \"1m\" or \"2h\"";

/// Reads a duration.
///
/// # Errors
///
/// When there is no unit, another unit, a sign, or more than [`DURATION_MAX`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(evenkeel_config::parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
/// assert!(evenkeel_config::parse_duration("10").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, Mistake> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    if unit.is_empty() && is_number(number) {
        return Err(Mistake::new(
            format!("{text:?} has no unit"),
            format!("write \"{number}s\" for seconds or \"{number}ms\" for milliseconds"),
        ));
    }
    if let Some(positive) = number.strip_prefix('-')
        && is_number(positive)
    {
        return Err(Mistake::new(format!("{text:?} is negative"), HELP));
    }
    let nanos_per_unit = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, nanos)| *nanos);
    let nanos = match nanos_per_unit {
        Some(scale) if is_number(number) => scaled(number, scale),
        _ => return Err(Mistake::new(format!("{text:?} is not a duration"), HELP)),
    };
    match nanos.map(Duration::from_nanos) {
        Some(duration) if duration <= DURATION_MAX => Ok(duration),
        _ => Err(Mistake::new(
            format!("{text:?} is longer than a year"),
            "the longest duration is \"8784h\"",
        )),
    }
}

/// Whether `text` is digits, with digits behind a point or without.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(text),
    }
}

/// `number`, which [`is_number`], times `scale`, cut off below 1; nothing when it is too large.
pub(crate) fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    // 18 digits are finer than any unit here, and their product with the scale fits.
    let digits = &fraction[..fraction.len().min(18)];
    let part =
        digits.parse::<u128>().unwrap_or(0) * u128::from(scale) / 10_u128.pow(digits.len() as u32);
    whole.checked_add(u64::try_from(part).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, millis) in [
            ("250ms", 250),
            ("2s", 2000),
            ("1.5s", 1500),
            ("1m", 60_000),
            ("0.5h", 1_800_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        assert_eq!(parse_duration("8784h"), Ok(DURATION_MAX));
    }

    #[test]
    fn what_is_not_a_duration_is_said_in_words() {
        for (text, message) in [
            ("10", "\"10\" has no unit"),
            ("", "\"\" is not a duration"),
            ("s", "\"s\" is not a duration"),
            ("1d", "\"1d\" is not a duration"),
            ("1 s", "\"1 s\" is not a duration"),
            ("1s ", "\"1s \" is not a duration"),
            (".5s", "\".5s\" is not a duration"),
            ("1.s", "\"1.s\" is not a duration"),
            ("1e3s", "\"1e3s\" is not a duration"),
            ("-1s", "\"-1s\" is negative"),
            ("8785h", "\"8785h\" is longer than a year"),
            (
                "99999999999999999999s",
                "\"99999999999999999999s\" is longer than a year",
            ),
        ] {
            assert_eq!(parse_duration(text).expect_err(text).message, message);
        }
    }
}
