//! When a lost source is asked again.

use std::time::Duration;

use evenkeel_core::{Nanos, Rng};

/// Waits that double, with chance in them so that gateways do not come in step.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    rng: Rng,
    /// Since when the source has answered.
    well_since: Option<Nanos>,
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
            well_since: None,
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

    /// The source answers.
    pub fn answered(&mut self, now: Nanos) {
        self.well_since.get_or_insert(now);
    }

    /// The source is lost. The next wait is the first one again if it had answered for the longest wait; one that
    /// answers and is lost at once, again and again, is asked less and less often.
    pub fn lost(&mut self, now: Nanos) {
        let well_since = self.well_since.take();
        if well_since.is_some_and(|since| now >= since + Nanos::from(Self::MAX)) {
            self.reset();
        }
    }

    /// The next wait is the first one again.
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

    #[test]
    fn a_source_that_is_lost_at_once_is_asked_less_and_less_often() {
        let mut backoff = Backoff::new(1);
        let mut now = Nanos(0);
        for _ in 0..10 {
            backoff.answered(now);
            now = now + Nanos::from_millis(10);
            backoff.lost(now);
            now = now + Nanos::from(backoff.wait());
        }
        assert!(backoff.wait() >= Backoff::MAX / 2);
        backoff.answered(now);
        backoff.lost(now + Nanos::from(Backoff::MAX));
        assert!(backoff.wait() <= Backoff::FIRST);
    }
}
