//! How long an endpoint stays out that keeps coming and going.
//!
//! The first removal costs nothing: a rolling restart must not idle a fleet. Further ones within ten
//! minutes cost a hold-down that doubles. Beside it each removal adds to a penalty that fades; while
//! that is high the endpoint stays out. The shape is that of route-flap damping (RFC 2439).

use std::collections::VecDeque;

use super::active::ActivePolicy;
use crate::clock::Nanos;
use crate::math::half_power;

/// For how long a removal counts towards the hold-down of the next ones.
const WINDOW: Nanos = Nanos::from_secs(600);

/// The longest hold-down, and the longest time that damping keeps an endpoint out.
const HOLD_MAX: Nanos = Nanos::from_secs(600);

/// In what time the penalty halves.
const HALF_LIFE: Nanos = Nanos::from_secs(60);

/// A removal's penalty, and the unit of these figures.
const PENALTY: u64 = 1 << 16;

/// From this penalty on an endpoint is damped.
const SUPPRESS: u64 = 3 * PENALTY;

/// Below this it is not any more.
const REUSE: u64 = PENALTY;

/// More removals within the window than this double nothing any more.
const REMOVALS_MAX: usize = 16;

/// What an endpoint's removals cost it.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Flap {
    /// When it was removed, the latest last.
    removals: VecDeque<Nanos>,
    penalty: u64,
    /// When the penalty was that much.
    penalty_at: Nanos,
    /// Out until then at least.
    held_until: Nanos,
    damped_since: Option<Nanos>,
}

impl Flap {
    /// Takes note of a removal, and says until when the endpoint is held out.
    pub(super) fn removed(&mut self, policy: &ActivePolicy, now: Nanos) -> Option<Nanos> {
        self.removals.retain(|at| now.since(*at) < WINDOW);
        if self.removals.len() == REMOVALS_MAX {
            self.removals.pop_front();
        }
        self.removals.push_back(now);
        let free = usize::from(!policy.hold_down_first);
        if let Some(doublings) = (self.removals.len() - 1).checked_sub(free) {
            let hold = policy.hold_down.0.saturating_mul(1 << doublings);
            self.held_until = now + Nanos(hold.min(HOLD_MAX.0.max(policy.hold_down.0)));
        }
        (self.penalty, self.penalty_at) = (self.penalty(now) + PENALTY, now);
        if self.penalty >= SUPPRESS && self.damped_since.is_none() {
            self.damped_since = Some(now);
        }
        let until = self.held_until.max(self.damped_until());
        (until > now).then_some(until)
    }

    /// How many removals there were in the last ten minutes.
    pub(super) fn recent(&self, now: Nanos) -> usize {
        let recent = self.removals.iter();
        recent.filter(|at| now.since(**at) < WINDOW).count()
    }

    /// Until when the endpoint stays out, if that is not over.
    pub(super) fn held(&self, now: Nanos) -> Option<Nanos> {
        let until = self.held_until.max(self.damped_until());
        (until > now).then_some(until)
    }

    /// Whether it is out since it came and went too often.
    pub(super) fn is_damped(&self, now: Nanos) -> bool {
        self.damped_since.is_some() && self.damped_until() > now
    }

    /// The endpoint takes requests again.
    pub(super) fn returned(&mut self) {
        self.damped_since = None;
    }

    fn penalty(&self, now: Nanos) -> u64 {
        let half_lives = (u128::from(now.since(self.penalty_at).0) << 16) / u128::from(HALF_LIFE.0);
        let kept = half_power(u64::try_from(half_lives).unwrap_or(u64::MAX));
        (self.penalty * kept) >> 32
    }

    /// When the penalty has faded far enough, to the second; zero when it is not damped.
    fn damped_until(&self) -> Nanos {
        let Some(since) = self.damped_since else {
            return Nanos(0);
        };
        let last = since + HOLD_MAX;
        let mut at = self.penalty_at;
        while at < last && self.penalty(at) >= REUSE {
            at = at + Nanos::from_secs(1);
        }
        at.min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn the_first_removal_is_free_and_the_next_ones_double() {
        let policy = ActivePolicy::default();
        let mut flap = Flap::default();
        assert_eq!(flap.removed(&policy, at(0)), None);
        assert_eq!(flap.removed(&policy, at(100)), Some(at(160)));
        assert_eq!(flap.removed(&policy, at(300)), Some(at(420)));
        assert_eq!(flap.removed(&policy, at(590)), Some(at(830)));
        assert_eq!(flap.held(at(829)), Some(at(830)));
        assert_eq!(flap.held(at(830)), None);
        assert_eq!((flap.recent(at(599)), flap.recent(at(600))), (4, 3));
        // All are forgotten but the last one.
        assert_eq!(flap.removed(&policy, at(1_189)), Some(at(1_249)));
        assert_eq!(flap.removed(&policy, at(3_000)), None);
    }

    #[test]
    fn the_first_one_costs_too_if_that_is_wanted() {
        let policy = ActivePolicy {
            hold_down_first: true,
            ..ActivePolicy::default()
        };
        let mut flap = Flap::default();
        assert_eq!(flap.removed(&policy, at(0)), Some(at(60)));
        assert_eq!(flap.removed(&policy, at(200)), Some(at(320)));
    }

    #[test]
    fn many_removals_in_a_short_time_are_damped() {
        let policy = ActivePolicy {
            hold_down: Nanos(0),
            ..ActivePolicy::default()
        };
        let mut flap = Flap::default();
        assert_eq!(flap.removed(&policy, at(0)), None);
        assert_eq!(flap.removed(&policy, at(5)), None);
        assert_eq!(flap.removed(&policy, at(10)), None);
        let until = flap
            .removed(&policy, at(15))
            .expect("four in a quarter minute");
        // From some 3.7 to 1 takes log2(3.7) minutes.
        assert!(
            (125..=130).contains(&(until.0 / 1_000_000_000)),
            "{until:?}"
        );
        assert!(flap.is_damped(at(100)) && !flap.is_damped(until));
    }

    #[test]
    fn no_hold_lasts_longer_than_ten_minutes() {
        let policy = ActivePolicy::default();
        let mut flap = Flap::default();
        for second in 0..500 {
            let until = flap.removed(&policy, at(second)).unwrap_or_default();
            assert!(until.since(at(second)) <= HOLD_MAX, "{second}");
        }
    }
}
