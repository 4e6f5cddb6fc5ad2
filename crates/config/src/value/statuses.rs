//! Sets of statuses, as checks expect them.

use std::fmt;
use std::ops::RangeInclusive;

use super::mistake::Mistake;

/// What fits is taken; a variable may stand for any of it.
pub(crate) const PATTERN: &str = "^ *([1-5]([0-9][0-9]|xx)(-[1-5][0-9][0-9])?)( *, *[1-5]([0-9][0-9]|xx)(-[1-5][0-9][0-9])?)* *$|[$][{]";

/// Statuses that are as they should be: one range or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<RangeInclusive<u16>>);

impl Default for Statuses {
    /// 200 to 299.
    fn default() -> Self {
        Self(vec![200..=299])
    }
}

impl Statuses {
    /// Whether a status is one of them.
    #[must_use]
    pub fn contain(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            let between = if at == 0 { "" } else { ", " };
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{between}{first}")?,
                (first, last) => write!(f, "{between}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// Reads `200-299`, `204`, `2xx`, or several of these with commas between.
///
/// # Errors
///
/// When one of them is not a status, a class or a range of statuses from 100 to 599.
pub(crate) fn parse_statuses(text: &str) -> Result<Statuses, Mistake> {
    let ranges = text.split(',').map(|part| {
        range(part.trim()).ok_or_else(|| {
            let shown: String = part.trim().chars().take(40).collect();
            Mistake::new(
                format!("{shown:?} is not a status, a class or a range of statuses"),
                "write \"200-299\", \"2xx\" or \"200,204\"; statuses go from 100 to 599",
            )
        })
    });
    ranges.collect::<Result<Vec<_>, _>>().map(Statuses)
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    if let Some(class) = text.strip_suffix("xx") {
        let class = class
            .parse::<u16>()
            .ok()
            .filter(|class| (1..=5).contains(class))?;
        return (text.len() == 3).then_some(class * 100..=class * 100 + 99);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (status(first)?, status(last)?);
    (first <= last).then_some(first..=last)
}

fn status(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let status = text.parse::<u16>().ok().filter(|_| digits)?;
    (100..=599).contains(&status).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_statuses_and_classes() {
        let read = |text| parse_statuses(text).map(|statuses| statuses.to_string());
        assert_eq!(read("200-299").as_deref(), Ok("200-299"));
        assert_eq!(read("2xx, 401").as_deref(), Ok("200-299, 401"));
        let statuses = parse_statuses("200,204-206").expect("right");
        assert!(statuses.contain(200) && statuses.contain(206) && !statuses.contain(203));
        for wrong in [
            "", "ok", "299-200", "600", "99", "2x", "200-", "200,", "+20", "2xxx", "6xx",
        ] {
            assert!(parse_statuses(wrong).is_err(), "{wrong}");
        }
    }
}
