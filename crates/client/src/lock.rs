//! A lock under which code of others may run.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use evenkeel_core::unpoisoned;

use crate::counters::thread;

/// A lock that says so when the thread that holds it asks for it again, where others would have it wait for itself
/// forever.
///
/// A panic leaves what it holds as it is at that moment: whoever uses it sees to that being whole.
#[derive(Debug, Default)]
pub(crate) struct Lock<T> {
    /// The number of the thread that holds it; 0: none does.
    holder: AtomicU64,
    held: Mutex<T>,
}

/// What is held, as long as it is.
pub(crate) struct Held<'l, T> {
    holder: &'l AtomicU64,
    held: MutexGuard<'l, T>,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            holder: AtomicU64::new(0),
            held: Mutex::new(value),
        }
    }

    /// Waits until nobody else holds it.
    ///
    /// # Panics
    ///
    /// When this thread holds it: what it calls there has called back.
    #[track_caller]
    pub(crate) fn hold(&self, what: &str) -> Held<'_, T> {
        // Only this thread itself writes its number.
        let again = self.holder.load(Ordering::Relaxed) == thread();
        assert!(!again, "{what}");
        let held = unpoisoned(self.held.lock());
        self.holder.store(thread(), Ordering::Relaxed);
        Held {
            holder: &self.holder,
            held,
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        unpoisoned(self.held.get_mut())
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.holder.store(0, Ordering::Relaxed);
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}
