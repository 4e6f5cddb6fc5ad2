//! The one door to shared memory, so that a model checker can stand in for `std`.

#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard as Guard, atomic};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard as Guard, atomic};

use std::sync::{LockResult, PoisonError};

/// Takes a lock whose critical sections never panic half way, so a poisoned one is still whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    unpoisoned(mutex.lock())
}

/// What a lock gives, for critical sections that never panic half way: a poisoned one is whole.
///
/// # Examples
///
/// ```
/// use std::sync::Mutex;
/// use evenkeel_core::unpoisoned;
///
/// let lock = Mutex::new(7);
/// assert_eq!(*unpoisoned(lock.lock()), 7);
/// ```
pub fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
