//! The one place that reads a clock.

use std::time::Instant;

/// Nanoseconds between two moments, read in turn.
pub(crate) struct Laps(Instant);

impl Laps {
    #[expect(clippy::disallowed_methods, reason = "the one clock of this program")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since the start or the last lap.
    #[expect(clippy::disallowed_methods, reason = "the one clock of this program")]
    pub(crate) fn lap(&mut self) -> u64 {
        let now = Instant::now();
        let lap = now.duration_since(self.0);
        self.0 = now;
        u64::try_from(lap.as_nanos()).unwrap_or(u64::MAX)
    }
}
