//! How much an endpoint takes that has just come or returned.

use crate::clock::Nanos;
use crate::math::exp::exp_neg;
use crate::math::ln::ln;
use crate::membership::FULL_WEIGHT;

/// In how many steps an endpoint warms up: each of them is another snapshot.
const STEPS: f64 = 16.0;

/// How long an endpoint warms up, and along which curve.
///
/// For the time of `hold` it has the share `min` of its weight, then (t / window)^(1 / aggression),
/// but never less than `min`.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{FULL_WEIGHT, Nanos, health::SlowStart};
///
/// let warm_up = SlowStart::default();
/// assert!(warm_up.factor(Nanos(0)) < FULL_WEIGHT);
/// assert_eq!(warm_up.factor(warm_up.whole()), FULL_WEIGHT);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStart {
    /// How long until it has its whole weight, above 0, not counting `hold`.
    pub window: Nanos,
    /// The least share of its weight, 0..=1.
    pub min: f64,
    /// Above 1 it rises quickly at first, below 1 slowly; above 0.
    pub aggression: f64,
    /// How long it stays at the least share first.
    pub hold: Nanos,
}

impl Default for SlowStart {
    /// From a tenth in a straight line within 30 s.
    fn default() -> Self {
        Self {
            window: Nanos::from_secs(30),
            min: 0.1,
            aggression: 1.0,
            hold: Nanos(0),
        }
    }
}

impl SlowStart {
    /// The share of its weight at `elapsed` since it came or returned, in 1/256, in steps of a
    /// sixteenth above the least share. It never falls, and is never above the curve.
    #[must_use]
    pub fn factor(&self, elapsed: Nanos) -> u16 {
        if self.is_over(elapsed) {
            return FULL_WEIGHT;
        }
        let part = elapsed.since(self.hold).0 as f64 / self.window.0.max(1) as f64;
        let risen = match part {
            // Below the smallest step whatever the curve.
            part if part < 1e-9 => 0.0,
            part if self.aggression == 1.0 => part,
            part => exp_neg(-ln(part) / self.aggression),
        };
        let share = ((risen * STEPS) as u16 as f64 / STEPS).max(self.min.clamp(0.0, 1.0));
        ((share * f64::from(FULL_WEIGHT)) as u16).clamp(1, FULL_WEIGHT)
    }

    /// Whether it is warm after that time.
    #[must_use]
    pub fn is_over(&self, elapsed: Nanos) -> bool {
        elapsed >= self.window + self.hold
    }

    /// How long it takes until it is warm.
    #[must_use]
    pub fn whole(&self) -> Nanos {
        self.window + self.hold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(window: u64, aggression: f64, seconds: u64) -> f64 {
        let slow = SlowStart {
            window: Nanos::from_secs(window),
            aggression,
            ..SlowStart::default()
        };
        f64::from(slow.factor(Nanos::from_secs(seconds))) / 256.0
    }

    /// Envoy's vectors, to the step below.
    #[test]
    fn the_curve_is_envoys() {
        assert!((factor(60, 1.0, 3) - 0.1).abs() < 0.005);
        assert!((factor(60, 1.0, 15) - 0.25).abs() < 0.005);
        let squared = factor(60, 2.0, 16);
        assert!((squared - 0.5).abs() < 0.005, "{squared}");
        assert!((factor(60, 1.0, 30) - 0.5).abs() < 0.005);
        assert_eq!(factor(60, 1.0, 60), 1.0);
        assert_eq!(factor(60, 0.5, 59), 0.9375);
    }

    #[test]
    fn it_rises_in_few_steps_and_is_held_first() {
        let slow = SlowStart {
            hold: Nanos::from_secs(10),
            ..SlowStart::default()
        };
        let mut steps = Vec::new();
        for ms in 0..=41_000 {
            let factor = slow.factor(Nanos::from_millis(ms));
            if steps.last() != Some(&factor) {
                steps.push(factor);
            }
            assert!(ms >= 10_000 || factor == 25, "held at the least: {factor}");
        }
        assert!(steps.is_sorted() && steps.len() <= 17, "{steps:?}");
        assert_eq!(steps.last(), Some(&FULL_WEIGHT));
    }

    #[test]
    fn odd_settings_stay_within_bounds() {
        for (min, aggression) in [(0.0, 1.0), (1.0, 1.0), (0.0, 0.01), (0.5, 100.0)] {
            let slow = SlowStart {
                window: Nanos(1),
                min,
                aggression,
                hold: Nanos(3),
            };
            for elapsed in 0..6 {
                let factor = slow.factor(Nanos(elapsed));
                assert!((1..=FULL_WEIGHT).contains(&factor));
            }
        }
    }
}
