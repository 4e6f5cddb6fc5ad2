//! Descriptors are shared by all that the process does. So that traffic cannot take the last ones,
//! on which the admin API, lookups and logs depend, connections are counted against what the
//! process may open, with a reserve that is not theirs.
//!
//! Half of what is there is for clients and half for endpoints: a request needs one of each.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most descriptors that connections leave to everything else, and the part of all if that is
/// less. The admin API, which may have 256 connections, is served with a quarter of that.
const RESERVE_MAX: usize = 64;
const RESERVE_PART: usize = 4;

/// How many of the reserve are for checks: without them nobody would learn that endpoints died under the
/// load that took all others.
const CHECKS: usize = RESERVE_MAX / 4;

/// How many are held open for no other use than to be given up when the system has none left.
const SPARES: usize = 4;

/// Where a connection leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Side {
    Client,
    Endpoint,
    /// To an endpoint, for a check while traffic has all that it may.
    Check,
}

/// The descriptors that connections may take.
#[derive(Debug)]
pub(crate) struct Descriptors {
    /// For each side.
    most: AtomicUsize,
    taken: [AtomicUsize; 3],
    spares: Mutex<Vec<File>>,
}

/// Counts a connection while it lives.
#[derive(Debug)]
pub(crate) struct Held {
    all: Arc<Descriptors>,
    side: Side,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.taken[self.side as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

impl Descriptors {
    /// As many as the process may open beside those that it has open now.
    pub(crate) fn new() -> Self {
        let spares = (0..SPARES).map_while(|_| spare()).collect();
        let descriptors = Self {
            most: AtomicUsize::new(usize::MAX),
            taken: Default::default(),
            spares: Mutex::new(spares),
        };
        descriptors.measure();
        descriptors
    }

    /// Counts anew what is open for other things: listening sockets come and go.
    pub(crate) fn measure(&self) {
        let Some((limit, open)) = limit().zip(open()) else {
            return;
        };
        let taken: usize = self
            .taken
            .iter()
            .map(|side| side.load(Ordering::Relaxed))
            .sum();
        let fixed = open.saturating_sub(taken);
        let most = share(limit, fixed);
        self.most.store(most, Ordering::Relaxed);
    }

    /// How many connections there may be to clients, and as many to endpoints.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// Whether that side may take one.
    #[inline]
    pub(crate) fn has_room(&self, side: Side) -> bool {
        self.taken[side as usize].load(Ordering::Relaxed) < self.most()
    }

    /// Takes one, unless that side has all that it may.
    pub(crate) fn hold(self: &Arc<Self>, side: Side) -> Option<Held> {
        let taken = &self.taken[side as usize];
        let held = Held {
            all: Arc::clone(self),
            side,
        };
        let before = taken.fetch_add(1, Ordering::Relaxed);
        (before < self.most()).then_some(held)
    }

    /// Takes one for a check: beside the traffic's while there is room, and else of the reserve.
    pub(crate) fn hold_for_check(self: &Arc<Self>) -> Option<Held> {
        if let Some(held) = self.hold(Side::Endpoint) {
            return Some(held);
        }
        let held = Held {
            all: Arc::clone(self),
            side: Side::Check,
        };
        let before = self.taken[Side::Check as usize].fetch_add(1, Ordering::Relaxed);
        (before < CHECKS).then_some(held)
    }

    /// Gives up a spare for as long as `work` runs: the system has none left, and whoever waits to be
    /// accepted is to be told so.
    pub(crate) fn with_spare(&self, work: impl FnOnce()) {
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        spares.pop();
        work();
        if let Some(again) = spare() {
            spares.push(again);
        }
    }
}

/// What either side may take.
fn share(limit: usize, fixed: usize) -> usize {
    let reserve = RESERVE_MAX.min(limit / RESERVE_PART);
    (limit.saturating_sub(fixed + reserve) / 2).max(1)
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

/// How many the process may have open; none where that is not known or not limited.
fn limit() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    parse_limit(&limits)
}

fn parse_limit(limits: &str) -> Option<usize> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How many it has open.
fn open() -> Option<usize> {
    // The folder itself is open while it is read.
    Some(
        std::fs::read_dir("/proc/self/fd")
            .ok()?
            .count()
            .saturating_sub(1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_counts() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max cpu time              unlimited            unlimited            seconds\n\
                      Max open files            1024                 524288               files\n";
        assert_eq!(parse_limit(limits), Some(1024));
        assert_eq!(parse_limit(&limits.replace("1024  ", "unlimited")), None);
        assert_eq!(parse_limit(""), None);
    }

    #[test]
    fn a_reserve_is_left() {
        assert_eq!(share(1024, 24), (1024 - 24 - 64) / 2);
        assert_eq!(share(64, 20), (64 - 20 - 16) / 2);
        assert_eq!(share(16, 20), 1, "at least somebody is served");
    }

    #[test]
    fn what_is_let_go_can_be_taken_again() {
        let descriptors = Arc::new(Descriptors::new());
        descriptors.most.store(2, Ordering::Relaxed);
        let first = descriptors.hold(Side::Client).expect("there are two");
        let _second = descriptors.hold(Side::Client).expect("there are two");
        assert!(descriptors.hold(Side::Client).is_none());
        assert!(
            descriptors.hold(Side::Endpoint).is_some(),
            "the other side has its own"
        );
        drop(first);
        assert!(descriptors.hold(Side::Client).is_some());
    }
}
