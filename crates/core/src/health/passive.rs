//! How long an endpoint is out whose requests failed.

use super::outlier::OutlierPolicy;
use crate::clock::Nanos;
use crate::rng::{Rng, scale};

/// By how much an ejection is prolonged at most, drawn, so that not all of them end together: a tenth.
const JITTER_PART: u64 = 10;

/// The machine of one endpoint.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Passive {
    /// Out until then.
    ejected_until: Option<Nanos>,
    /// Ejections that follow each other: each time spent well takes one away.
    ejections: u32,
    /// It was out during the interval that is under way.
    was_out: bool,
}

impl Passive {
    pub(super) fn is_ejected(&self) -> bool {
        self.ejected_until.is_some()
    }

    pub(super) fn until(&self) -> Option<Nanos> {
        self.ejected_until
    }

    /// Ejects it, and says for how long.
    pub(super) fn eject(&mut self, policy: &OutlierPolicy, rng: &mut Rng, now: Nanos) -> Nanos {
        self.ejections = self.ejections.saturating_add(1);
        let longest = policy.max_ejection.max(policy.base_ejection);
        let base = policy
            .base_ejection
            .0
            .saturating_mul(u64::from(self.ejections));
        let base = base.min(longest.0);
        let (jitter, _) = scale(rng.next_u64(), base / JITTER_PART + 1);
        let span = Nanos(base.saturating_add(jitter));
        self.ejected_until = Some(now + span);
        self.was_out = true;
        span
    }

    /// Whether its time is over; if so it is back.
    pub(super) fn returns(&mut self, now: Nanos) -> bool {
        let over = self.ejected_until.is_some_and(|until| until <= now);
        if over {
            self.ejected_until = None;
        }
        over
    }

    /// An interval is over: one that was spent well makes the next ejection shorter.
    pub(super) fn interval(&mut self) {
        if !self.is_ejected() && !std::mem::take(&mut self.was_out) {
            self.ejections = self.ejections.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ejections_grow_are_bounded_and_shrink_again() {
        let policy = OutlierPolicy::default();
        let (mut passive, mut rng) = (Passive::default(), Rng::new(1));
        let mut seconds = |passive: &mut Passive| {
            let span = passive.eject(&policy, &mut rng, Nanos(0));
            assert!(passive.returns(span) && !passive.is_ejected());
            span.0 as f64 / 1e9
        };
        for (count, base) in [(1, 30.0), (2, 60.0), (3, 90.0)] {
            let got = seconds(&mut passive);
            assert!((base..=base * 1.1).contains(&got), "{count}: {got}");
        }
        // The interval in which it was out is not spent well.
        for _ in 0..3 {
            passive.interval();
        }
        let got = seconds(&mut passive);
        assert!((60.0..=66.0).contains(&got), "{got}");
        for _ in 0..50 {
            let got = seconds(&mut passive);
            assert!(got <= 330.0, "{got}");
        }
        let none = OutlierPolicy {
            base_ejection: Nanos(0),
            max_ejection: Nanos(0),
            ..policy
        };
        assert_eq!(passive.eject(&none, &mut Rng::new(1), Nanos(0)), Nanos(0));
    }
}
