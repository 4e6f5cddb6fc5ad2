//! How long an endpoint keeps connections that idle, as far as it has been seen to end them.
//!
//! No server says so reliably, and many keep them for a few seconds only. A request that is lost with
//! its connection goes by this.

use evenkeel_core::Nanos;

/// For how long an end counts. An endpoint that restarts ends young connections too, and is not
/// impatient for ever.
const MEMORY: Nanos = Nanos::from_secs(60);

/// The shortest while after which an endpoint ended an idle connection lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keeping(Option<Seen>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    after: Nanos,
    until: Nanos,
}

impl Keeping {
    /// Notes an end that was found at `now`, on a connection that had been idle for `age` by then.
    #[must_use]
    pub(super) fn ended(self, age: Nanos, now: Nanos) -> Self {
        match self.0 {
            Some(seen) if now < seen.until && seen.after <= age => self,
            _ => Self(Some(Seen {
                after: age,
                until: now + MEMORY,
            })),
        }
    }

    /// Whether a connection that has been idle for `age` is far from its end: less than half of what was
    /// seen, since ends are found late.
    pub(super) fn trusts(self, age: Nanos, now: Nanos) -> bool {
        self.0
            .is_none_or(|seen| now >= seen.until || age < Nanos(seen.after.0 / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    #[test]
    fn the_shortest_while_counts_for_a_minute() {
        let at = Nanos::from_secs;
        let keeping = Keeping::default();
        assert!(keeping.trusts(at(3600), at(0)), "nothing was seen");
        let keeping = keeping.ended(at(5), at(0)).ended(at(4), at(1));
        let keeping = keeping.ended(at(9), at(2));
        assert!(keeping.trusts(SECOND, at(10)));
        assert!(!keeping.trusts(at(2), at(10)), "half of the shortest");
        assert!(keeping.trusts(at(30), at(61)), "forgotten");
        let keeping = keeping.ended(at(9), at(61));
        assert!(keeping.trusts(at(4), at(62)), "and seen anew");
        assert!(!keeping.trusts(at(5), at(62)));
    }
}
