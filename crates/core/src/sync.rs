//! The one door to shared memory, so that a model checker can stand in for `std`.

#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard as Guard, atomic};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard as Guard, atomic};

/// Takes a lock whose critical sections never panic half way, so a poisoned one is still whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
