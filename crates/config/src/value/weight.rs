//! Weights: whole numbers from 0 to 65535.

use super::mistake::Mistake;

/// The largest weight.
pub const WEIGHT_MAX: u16 = u16::MAX;

/// What a weight is, for messages.
pub(crate) const WANTED: &str = "a whole number from 0 to 65535";

/// Checks a weight that is a whole number.
///
/// # Errors
///
/// When it is out of range.
pub fn check_weight(weight: i128) -> Result<u16, Mistake> {
    u16::try_from(weight).map_err(|_| refuse(&weight.to_string()))
}

/// Reads a weight from the command line.
///
/// # Errors
///
/// When it is not a whole number from 0 to 65535.
pub fn parse_weight(text: &str) -> Result<u16, Mistake> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(weight) if digits => Ok(weight),
        _ => Err(refuse(text)),
    }
}

/// Says why `value`, as it was written, is not a weight.
pub(crate) fn refuse(value: &str) -> Mistake {
    Mistake::new(format!("weight {value} is not {WANTED}"), advice(value))
}

/// What would be right instead of `value`.
pub(crate) fn advice(value: &str) -> &'static str {
    if value.starts_with('-') {
        "0 stops new requests to an endpoint; there is nothing below it"
    } else if value.starts_with(['"', '\'']) {
        "write the number without quotes"
    } else if value.contains(['.', 'e', 'E']) {
        "only ratios count: multiply all weights of the cluster until they are whole, \
         0.8 and 1 become 4 and 5"
    } else {
        "only ratios count: divide all weights of the cluster by the same number"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_whole_numbers_in_range() {
        assert_eq!(parse_weight("0"), Ok(0));
        assert_eq!(parse_weight("65535"), Ok(65535));
        for bad in ["", "-1", "+1", "0.8", "1e3", "65536", "\"2\"", " 1", "1 "] {
            let mistake = parse_weight(bad).expect_err(bad);
            assert!(mistake.message.contains("0 to 65535"), "{mistake}");
        }
        assert_eq!(check_weight(7), Ok(7));
        assert!(check_weight(-1).is_err());
        assert!(check_weight(i128::MAX).is_err());
    }
}
