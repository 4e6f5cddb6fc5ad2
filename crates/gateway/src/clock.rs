//! The one place where the gateway reads the time: a clock to decide by, and the time of day to tell.

use std::time::{Instant, SystemTime};

use evenkeel_core::Nanos;

/// The monotonic clock of a process; copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that stands at zero now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// A clock that stands at `now`: it goes on where that of another process stood.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub fn continuing(now: Nanos) -> Self {
        let start = Instant::now();
        Self {
            // What another process counted began after the system's own count.
            origin: start.checked_sub(now.into()).unwrap_or(start),
        }
    }

    /// The time since the start.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Nanos {
        Nanos::from(self.origin.elapsed())
    }
}

/// The time of day, for people to read: nothing is decided by it.
#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
#[must_use]
pub fn time_of_day() -> SystemTime {
    SystemTime::now()
}
