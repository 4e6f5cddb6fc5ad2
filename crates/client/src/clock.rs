//! The one place where the library reads the time.

use std::sync::OnceLock;
use std::time::Instant;

use evenkeel_core::Nanos;

#[cfg(feature = "hyper")]
pub(crate) use of_call::{during, of_call};

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

/// When the call began that a thread is making, for the connections that carry it.
#[cfg(feature = "hyper")]
mod of_call {
    use std::cell::Cell;

    use super::{Nanos, now};

    thread_local! {
        static OF_CALL: Cell<Option<Nanos>> = const { Cell::new(None) };
    }

    /// Makes a call that began at `now`: whoever asks for [`of_call`] meanwhile need not look again.
    #[inline]
    pub(crate) fn during<T>(now: Nanos, call: impl FnOnce() -> T) -> T {
        /// Ends it also where code of others panics.
        struct Before(Option<Nanos>);

        impl Drop for Before {
            fn drop(&mut self) {
                OF_CALL.set(self.0);
            }
        }

        let _before = Before(OF_CALL.replace(Some(now)));
        call()
    }

    /// When the call began that is being made here; now, where that is not known.
    #[inline]
    pub(crate) fn of_call() -> Nanos {
        OF_CALL.get().unwrap_or_else(now)
    }
}

/// Makes a call; nobody asks when it began.
#[cfg(not(feature = "hyper"))]
#[inline]
pub(crate) fn during<T>(_: Nanos, call: impl FnOnce() -> T) -> T {
    call()
}
