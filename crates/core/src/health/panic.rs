//! When most endpoints seem to fail, the checker or something shared is the likelier culprit, and
//! the survivors would be crushed: then all endpoints are used again.

/// Below which share of healthy endpoints a tier uses all of them.
///
/// # Examples
///
/// ```
/// use evenkeel_core::PanicThreshold;
///
/// let half = PanicThreshold::new(0.5)?;
/// assert!(half.is_crossed(1, 4));
/// assert!(!half.is_crossed(3, 4));
/// # Ok::<(), evenkeel_core::NotAThreshold>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanicThreshold {
    percent: u8,
}

/// A share outside 0..=1.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{NotAThreshold, PanicThreshold};
///
/// let NotAThreshold(share) = PanicThreshold::new(1.5).expect_err("it is no share");
/// assert_eq!(share, 1.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a panic threshold of {0} is not a share from 0 to 1")]
pub struct NotAThreshold(pub f64);

impl PanicThreshold {
    /// Never panics: with nobody healthy, requests fail.
    pub const OFF: Self = Self { percent: 0 };

    /// A threshold as a share, rounded to percents; 0 is [`PanicThreshold::OFF`].
    ///
    /// # Errors
    ///
    /// When `share` is not in 0..=1.
    pub fn new(share: f64) -> Result<Self, NotAThreshold> {
        if !(0.0..=1.0).contains(&share) {
            return Err(NotAThreshold(share));
        }
        Ok(Self {
            percent: (share * 100.0).round() as u8,
        })
    }

    /// The threshold in percent.
    #[must_use]
    pub fn percent(self) -> u8 {
        self.percent
    }

    /// A threshold in percent; all above 100 are 100.
    #[must_use]
    pub fn from_percent(percent: u8) -> Self {
        Self {
            percent: percent.min(100),
        }
    }

    /// Whether `healthy` of `total` endpoints are too few.
    #[must_use]
    pub fn is_crossed(self, healthy: u32, total: u32) -> bool {
        u64::from(healthy) * 100 < u64::from(total) * u64::from(self.percent)
    }
}

impl Default for PanicThreshold {
    /// One half.
    fn default() -> Self {
        Self { percent: 50 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_crossed_below_and_not_at_the_share() {
        let half = PanicThreshold::default();
        assert!(half.is_crossed(1, 3));
        assert!(!half.is_crossed(2, 4));
        assert!(half.is_crossed(49, 100));
        assert!(!PanicThreshold::OFF.is_crossed(0, 4));
    }

    #[test]
    fn a_threshold_is_a_share() {
        assert_eq!(PanicThreshold::new(0.5), Ok(PanicThreshold::default()));
        assert!(PanicThreshold::new(1.01).is_err());
        assert!(PanicThreshold::new(f64::NAN).is_err());
        let percents =
            [0.0, 0.295, 1.0].map(|share| PanicThreshold::new(share).map(PanicThreshold::percent));
        assert_eq!(percents, [Ok(0), Ok(30), Ok(100)]);
        assert_eq!(PanicThreshold::from_percent(200).percent(), 100);
    }
}
