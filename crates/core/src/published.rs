//! A value that one writer replaces whole and many readers see without a lock.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Guard, Mutex, lock};
use std::sync::Arc;

/// Holds the current version of a value.
///
/// A reader keeps its own [`Arc`] and compares a generation number: one atomic load as long as
/// nothing changed. The lock is touched only after a change, and never held while a value is built.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_core::{Published, Reader};
///
/// let published = Arc::new(Published::new(Arc::new(1)));
/// let mut reader = Reader::new(Arc::clone(&published));
/// published.publish(Arc::new(2));
/// assert_eq!(**reader.get(), 2);
/// assert!(!reader.refresh(), "nothing is newer");
/// ```
#[derive(Debug)]
pub struct Published<T> {
    generation: AtomicU64,
    current: Mutex<Arc<T>>,
}

impl<T> Published<T> {
    /// Publishes a first version.
    #[must_use]
    pub fn new(value: Arc<T>) -> Self {
        Self {
            generation: AtomicU64::new(0),
            current: Mutex::new(value),
        }
    }

    /// Replaces the value: every [`Reader::get`] that starts after this returned sees the new one.
    pub fn publish(&self, value: Arc<T>) {
        let old = {
            let mut current = self.lock();
            let old = std::mem::replace(&mut *current, value);
            self.generation.fetch_add(1, Ordering::Release);
            old
        };
        // A large value is freed outside the lock.
        drop(old);
    }

    /// The current version.
    #[must_use]
    pub fn load(&self) -> Arc<T> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> Guard<'_, Arc<T>> {
        lock(&self.current)
    }
}

/// One reader's view of a [`Published`] value.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_core::{Published, Reader};
///
/// let published = Arc::new(Published::new(Arc::new(1)));
/// let mut reader = Reader::new(Arc::clone(&published));
/// published.publish(Arc::new(2));
/// assert_eq!(**reader.get(), 2);
/// assert!(!reader.refresh(), "nothing is newer");
/// ```
#[derive(Debug)]
pub struct Reader<T> {
    published: Arc<Published<T>>,
    seen: u64,
    value: Arc<T>,
}

impl<T> Reader<T> {
    /// A reader that starts with the current version.
    #[must_use]
    pub fn new(published: Arc<Published<T>>) -> Self {
        let (seen, value) = current(&published);
        Self {
            published,
            seen,
            value,
        }
    }

    /// Takes over a newer version if there is one, and says whether there was.
    #[inline]
    pub fn refresh(&mut self) -> bool {
        if self.published.generation.load(Ordering::Acquire) == self.seen {
            return false;
        }
        (self.seen, self.value) = current(&self.published);
        true
    }

    /// The current version: one atomic load when nothing changed.
    #[inline]
    pub fn get(&mut self) -> &Arc<T> {
        self.refresh();
        &self.value
    }
}

/// Both under the lock, so that a number never goes with another version's value.
fn current<T>(published: &Published<T>) -> (u64, Arc<T>) {
    let guard = published.lock();
    (
        published.generation.load(Ordering::Acquire),
        Arc::clone(&guard),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_a_new_version_at_once_and_keeps_the_old_one_alive() {
        let published = Arc::new(Published::new(Arc::new(1)));
        let mut reader = Reader::new(Arc::clone(&published));
        let old = Arc::clone(reader.get());
        assert!(!reader.refresh());
        published.publish(Arc::new(2));
        assert_eq!(**reader.get(), 2);
        assert_eq!(*old, 1);
        assert!(!reader.refresh());
    }
}
