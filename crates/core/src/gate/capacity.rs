//! How much an endpoint takes at once: up to where it is asked like the others, and up to where at all.
//!
//! An endpoint that has as many requests in flight as `stop` says is left alone while others have
//! fewer, until it is down to `resume`: without that gap it would be let in and out with each answer.
//! When all are above, the least loaded takes the request, up to the cap that nothing passes.
//!
//! The figures are those of the sources: a safe level of 70 % of the measured peak, and 80 % of that to
//! stop at (56 % of the peak). Strategies that choose by key know no `stop`: a key stays where its data
//! is, up to the cap.

/// Where endpoints are left alone, as shares of their caps.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Levels, Watermarks};
///
/// let marks = Watermarks::new(0.9, 0.7).expect("in their order");
/// assert_eq!(marks.levels(100), Levels { cap: 100, stop: 90, resume: 70 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watermarks {
    stop: f64,
    resume: f64,
}

impl Default for Watermarks {
    /// 56 % and 49 %: 80 % and 70 % of a safe level of 70 %.
    fn default() -> Self {
        Self {
            stop: 0.56,
            resume: 0.49,
        }
    }
}

impl Watermarks {
    /// Marks at these shares of a cap; none unless `0 < stop <= 1` and `0 <= resume <= stop`.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_core::Watermarks;
    ///
    /// let marks = Watermarks::new(0.56, 0.49).expect("in order");
    /// let levels = marks.levels(200);
    /// assert_eq!((levels.cap, levels.stop, levels.resume), (200, 112, 98));
    /// ```
    #[must_use]
    pub fn new(stop: f64, resume: f64) -> Option<Self> {
        let fits = stop > 0.0 && stop <= 1.0 && (0.0..=stop).contains(&resume);
        fits.then_some(Self { stop, resume })
    }

    /// The share from which on an endpoint is left alone.
    #[must_use]
    pub fn stop(self) -> f64 {
        self.stop
    }

    /// The share at which it is asked like the others again.
    #[must_use]
    pub fn resume(self) -> f64 {
        self.resume
    }

    /// The levels of an endpoint with that cap. Parts of a request are left out, but `stop` is at least
    /// 1, and `resume` is below it.
    #[must_use]
    pub fn levels(self, cap: u32) -> Levels {
        let stop = part(self.stop, cap).clamp(1, cap.max(1));
        Levels {
            cap,
            stop,
            resume: part(self.resume, cap).min(stop - 1),
        }
    }
}

/// Whole requests of a share, where 0.57 of 100 is 57 however it is stored.
fn part(share: f64, cap: u32) -> u32 {
    (share * f64::from(cap) + 1e-6) as u32
}

/// Levels of one endpoint, in requests in flight.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Levels, Watermarks};
///
/// let marks = Watermarks::new(0.9, 0.7).expect("in their order");
/// assert_eq!(marks.levels(100), Levels { cap: 100, stop: 90, resume: 70 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Nothing passes it; 0 while the endpoint may not be chosen.
    pub cap: u32,
    /// From here on it is left alone while others are below theirs.
    pub stop: u32,
    /// Down here it is asked like the others again.
    pub resume: u32,
}

/// Up to where a slot may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upto {
    /// Up to the cap.
    Cap,
    /// Below `stop`, and not between `stop` and `resume` on the way down.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_caps_keep_a_slot_below_stop() {
        let marks = Watermarks::default();
        let levels = |cap| {
            let levels = marks.levels(cap);
            (levels.stop, levels.resume)
        };
        assert_eq!(levels(1), (1, 0));
        assert_eq!(levels(3), (1, 0));
        assert_eq!(levels(4), (2, 1));
        assert_eq!(levels(100), (56, 49));
    }

    #[test]
    fn shares_that_are_out_of_order_are_no_marks() {
        for (stop, resume) in [
            (0.0, 0.0),
            (1.1, 0.5),
            (0.5, 0.6),
            (0.5, -0.1),
            (f64::NAN, 0.1),
        ] {
            assert_eq!(Watermarks::new(stop, resume), None, "{stop} {resume}");
        }
        assert!(Watermarks::new(0.57, f64::NAN).is_none());
        let one = Watermarks::new(1.0, 1.0).expect("no gap");
        assert_eq!(
            one.levels(10),
            Levels {
                cap: 10,
                stop: 10,
                resume: 9
            }
        );
        let odd = Watermarks::new(0.57, 0.5).expect("in order");
        assert_eq!(odd.levels(100).stop, 57);
        assert_eq!((odd.stop(), odd.resume()), (0.57, 0.5));
    }

    proptest! {
        #[test]
        fn levels_are_in_order(stop in 0.0001f64..=1.0, part in 0.0f64..=1.0, cap in 1u32..=u32::MAX) {
            let marks = Watermarks::new(stop, stop * part).expect("in order");
            let levels = marks.levels(cap);
            prop_assert!(levels.resume < levels.stop && levels.stop <= levels.cap);
        }
    }
}
