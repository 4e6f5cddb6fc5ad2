//! Sizes: a number and a binary unit, `"512B"`, `"64KiB"`, `"1.5MiB"`.

use super::duration::{is_number, scaled};
use super::mistake::Mistake;

const UNITS: [(&str, u64); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

const HELP: &str = "write a number and its unit, like \"512B\", \"64KiB\" or \"1MiB\"";

/// Reads a size in bytes.
///
/// # Errors
///
/// When there is no unit, another unit, a sign, or more bytes than a `u64` counts.
///
/// # Examples
///
/// ```
/// assert_eq!(evenkeel_config::parse_size("64KiB"), Ok(65536));
/// assert!(evenkeel_config::parse_size("64KB").is_err());
/// ```
pub fn parse_size(text: &str) -> Result<u64, Mistake> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    if !is_number(number) {
        return Err(Mistake::new(format!("{text:?} is not a size"), HELP));
    }
    if let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) {
        return scaled(number, *scale)
            .ok_or_else(|| Mistake::new(format!("{text:?} is too large"), HELP));
    }
    if unit.is_empty() {
        return Err(Mistake::new(
            format!("{text:?} has no unit"),
            format!("write \"{number}B\" for bytes or \"{number}KiB\" for 1024 of them"),
        ));
    }
    let first = unit.chars().next().map(|c| c.to_ascii_uppercase());
    let help = match UNITS.iter().find(|(name, _)| name.chars().next() == first) {
        Some((name, _)) => format!("write \"{number}{name}\""),
        None => HELP.to_owned(),
    };
    Err(Mistake::new(format!("{text:?} has an unknown unit"), help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        for (text, bytes) in [
            ("0B", 0),
            ("512B", 512),
            ("64KiB", 65536),
            ("1.5MiB", 1_572_864),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_said_in_words() {
        for (text, words) in [
            (
                "64",
                "\"64\" has no unit (write \"64B\" for bytes or \"64KiB\" for 1024 of them)",
            ),
            ("64KB", "\"64KB\" has an unknown unit (write \"64KiB\")"),
            ("64k", "\"64k\" has an unknown unit (write \"64KiB\")"),
            ("-1B", &format!("\"-1B\" is not a size ({HELP})")),
            ("big", &format!("\"big\" is not a size ({HELP})")),
            (
                "99999999999999GiB",
                &format!("\"99999999999999GiB\" is too large ({HELP})"),
            ),
        ] {
            assert_eq!(parse_size(text).expect_err(text).to_string(), words);
        }
    }
}
