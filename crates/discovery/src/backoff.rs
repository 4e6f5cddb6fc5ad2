//! When a lost source is asked again.

use std::time::Duration;

use evenkeel_core::Rng;

/// Waits that double, with chance in them so that gateways do not come in step.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    rng: Rng,
}

impl Backoff {
    /// The first wait, before chance.
    pub const FIRST: Duration = Duration::from_millis(250);

    /// The longest wait.
    pub const MAX: Duration = Duration::from_secs(5);

    /// Waits that differ from those of other seeds.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            next: Self::FIRST,
            rng: Rng::new(seed),
        }
    }

    /// How long to wait now: from half of the present wait to all of it, at most [`Backoff::MAX`].
    pub fn wait(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(Self::MAX);
        let half = whole / 2;
        let share = (self.rng.next_u64() >> 40) as u32;
        half + half * share / (1 << 24)
    }

    /// The source answered: the next wait is the first one again.
    pub fn reset(&mut self) {
        self.next = Self::FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_five_seconds_and_differ() {
        let (mut one, mut other) = (Backoff::new(1), Backoff::new(2));
        let mut differ = 0;
        for step in 0..40 {
            let whole = (Backoff::FIRST * (1 << step.min(5))).min(Backoff::MAX);
            let (first, second) = (one.wait(), other.wait());
            assert!(first >= whole / 2 && first <= whole, "{step}: {first:?}");
            differ += u32::from(first != second);
        }
        assert!(differ > 35);
        one.reset();
        assert!(one.wait() <= Backoff::FIRST);
    }
}
