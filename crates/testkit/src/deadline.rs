//! The one place where the test peers read the time.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what must happen: far longer than it takes on a busy machine, far
/// shorter than a person waits.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often something is looked at that tells nobody when it changes.
const POLL: Duration = Duration::from_millis(2);

/// A moment in the future.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
}

impl Deadline {
    /// The moment `span` from now.
    #[must_use]
    pub fn after(span: Duration) -> Self {
        Self { at: now() + span }
    }

    /// What is left until then; zero once it has passed.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.at.saturating_duration_since(now())
    }

    /// Whether it has passed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

/// Waits until `is_so`.
///
/// # Panics
///
/// When it is not so within [`PATIENCE`]; `what` says what was waited for.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Deadline::after(PATIENCE);
    while !is_so() {
        assert!(!deadline.is_over(), "not in time: {what}");
        thread::sleep(POLL);
    }
}

#[expect(clippy::disallowed_methods, reason = "deadlines of tests start here")]
fn now() -> Instant {
    Instant::now()
}
