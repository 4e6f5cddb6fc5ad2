//! The one place where the library reads the time.

use std::sync::OnceLock;
use std::time::Instant;

use evenkeel_core::Nanos;

/// When the process first asked: all clusters agree.
static ORIGIN: OnceLock<Instant> = OnceLock::new();

/// The monotonic time since the process first asked.
#[inline]
#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
pub(crate) fn now() -> Nanos {
    let since = ORIGIN.get_or_init(Instant::now).elapsed();
    // Without the 128 bits of `Duration::as_nanos`: twice for each call.
    Nanos(since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos()))
}

/// The time of day, for people to read: nothing is decided by it.
#[cfg(feature = "receipts")]
#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
pub(crate) fn time_of_day() -> std::time::SystemTime {
    std::time::SystemTime::now()
}
