//! Time as an argument: the core never reads a clock.

use std::ops::Add;
use std::time::Duration;

/// A point in time, or a span of it, in nanoseconds of the host's monotonic clock.
///
/// The origin is the host's: a process start, or the start of a simulation. Differences saturate at
/// zero, so a step back never turns into an age of centuries.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Nanos;
///
/// let began = Nanos::from_secs(2);
/// let took = Nanos::from_millis(2_030).since(began);
/// assert_eq!(took.as_millis(), 30);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Nanos(pub u64);

impl Nanos {
    /// A span of `ms` milliseconds, at most some 584 years.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A span of `s` seconds, at most some 584 years.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// The whole milliseconds in this span.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The time that has passed since `earlier`, zero when `earlier` lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Nanos {
    /// Spans of more than some 584 years are that long.
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_back_is_no_age() {
        assert_eq!(Nanos(5).since(Nanos(9)), Nanos(0));
        assert_eq!(Nanos(9).since(Nanos(5)), Nanos(4));
    }

    #[test]
    fn the_longest_spans_are_as_long_as_can_be() {
        assert_eq!(Nanos::from(Duration::from_micros(3)), Nanos(3_000));
        assert_eq!(Nanos::from(Duration::MAX), Nanos(u64::MAX));
        assert_eq!(Duration::from(Nanos(3_000)), Duration::from_micros(3));
    }
}
