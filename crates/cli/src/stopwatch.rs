//! The one place where this program reads a clock by itself: to tell people how long they waited. Nothing depends
//! on it.

use std::time::{Duration, Instant};

/// How long something takes.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the one clock of this crate")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
