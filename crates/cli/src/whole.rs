//! Whole numbers on the command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A parser of whole numbers in `range`, which names the range whatever is wrong: a letter, a fraction, a
/// number that no register holds.
pub(crate) fn whole<N>(
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text: &str| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("{text} is not a whole number from {least} to {most}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn whatever_is_wrong_the_range_is_named() {
        let parse = whole(1..=300_u16);
        assert_eq!((parse("1"), parse("300")), (Ok(1), Ok(300)));
        for wrong in ["0", "301", "70000", "-1", "1.5", "x", "", "1e2"] {
            let words = format!("{wrong} is not a whole number from 1 to 300");
            assert_eq!(parse(wrong), Err(words));
        }
    }
}
