//! The one place in this crate that reads a clock.

use std::time::{Duration, Instant};

/// Runs `work` and says how long it took.
#[expect(clippy::disallowed_methods, reason = "the one clock of this crate")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}
