//! All requests in flight in a cluster, for strategies that bound an endpoint's share of them.

use crate::sync::atomic::{AtomicU64, Ordering};

/// How many workers count on cache lines of their own.
const SHARDS: usize = 8;

/// Counts the requests in flight of a cluster. Each worker counts on a line of its own; whoever asks
/// adds them up.
#[derive(Debug, Default)]
pub(crate) struct Total {
    shards: [Shard; SHARDS],
}

/// One part, modulo 2^64: a request may begin on one and end on another.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(AtomicU64);

impl Total {
    /// Counts a request of the picker of that number.
    #[cold]
    pub(crate) fn begin(&self, picker: u8) {
        self.shard(picker).fetch_add(1, Ordering::Relaxed);
    }

    /// Counts it no more.
    #[cold]
    pub(crate) fn end(&self, picker: u8) {
        self.shard(picker).fetch_sub(1, Ordering::Relaxed);
    }

    fn shard(&self, picker: u8) -> &AtomicU64 {
        &self.shards[usize::from(picker) % SHARDS].0
    }

    /// All parts together, never below zero when parts were read while they changed.
    #[inline]
    pub(crate) fn sum(&self) -> u64 {
        let parts = self.shards.iter();
        let sum = parts.fold(0, |sum: u64, shard| {
            sum.wrapping_add(shard.0.load(Ordering::Relaxed))
        });
        if sum > u64::MAX / 2 { 0 } else { sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_wherever_requests_end() {
        let total = Total::default();
        for picker in 0..20 {
            total.begin(picker);
        }
        for _ in 0..15 {
            total.end(3);
        }
        assert_eq!(total.sum(), 5);
    }
}
