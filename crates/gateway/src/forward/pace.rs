//! Whether a client sends its body at the least rate that is asked of it.
//!
//! The body is looked at span by span. A span in which the endpoint held it up says nothing of the
//! client, and counts for it.

use evenkeel_core::Nanos;

/// How a body keeps up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The least bytes in a span; 0: any.
    share: u64,
    /// When the span under way ends.
    ends: Nanos,
    /// How many bytes of body had come when it began.
    from: u64,
    /// The endpoint has held the body up meanwhile.
    held_up: bool,
}

impl Pace {
    /// For a body of which `body` bytes have come by `now`, and `share` bytes must come in each `span`.
    pub(super) fn new(share: u64, now: Nanos, span: Nanos, body: u64) -> Self {
        Self {
            share,
            ends: now + span,
            from: body,
            held_up: false,
        }
    }

    /// Whether there is a least rate.
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.share > 0
    }

    /// The endpoint takes nothing more at the moment.
    pub(super) fn is_held_up(&mut self) {
        self.held_up = true;
    }

    /// When to look again.
    pub(super) fn ends(&self) -> Nanos {
        self.ends
    }

    /// Whether the body, of which `body` bytes have come by `now`, is behind. Begins the next span when
    /// one is over.
    pub(super) fn is_behind(&mut self, now: Nanos, span: Nanos, body: u64) -> bool {
        if now < self.ends {
            return false;
        }
        let is_behind = !self.held_up && body - self.from < self.share;
        *self = Self::new(self.share, now, span, body);
        is_behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Nanos = Nanos::from_secs(10);

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn a_body_is_behind_when_a_span_brought_too_little() {
        let mut pace = Pace::new(1000, at(0), SPAN, 50);
        assert!(!pace.is_behind(at(9), SPAN, 60), "not over");
        assert!(!pace.is_behind(at(10), SPAN, 1050));
        assert_eq!(pace.ends(), at(20));
        assert!(pace.is_behind(at(20), SPAN, 2049));
    }

    #[test]
    fn what_came_early_does_not_pay_for_later() {
        let mut pace = Pace::new(1000, at(0), SPAN, 0);
        assert!(!pace.is_behind(at(10), SPAN, 1 << 20));
        assert!(pace.is_behind(at(20), SPAN, (1 << 20) + 10));
    }

    #[test]
    fn a_span_in_which_the_endpoint_was_slow_is_no_fault_of_the_client() {
        let mut pace = Pace::new(1000, at(0), SPAN, 0);
        pace.is_held_up();
        assert!(!pace.is_behind(at(10), SPAN, 1));
        assert!(pace.is_behind(at(20), SPAN, 2), "the next one counts");
    }
}
