//! How much endpoints take at once, and what becomes of what is beyond.

use evenkeel_core::{Nanos, QueuePolicy, Watermarks};

/// How much an endpoint takes at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The most requests in flight for each endpoint that says nothing itself.
    pub peak: Peak,
    /// From which shares of its cap on an endpoint is left alone while others are less busy.
    pub watermarks: Watermarks,
    /// Who waits when all endpoints are full; none: nobody does.
    pub queue: Option<QueuePolicy>,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            peak: Peak::Requests(200),
            watermarks: Watermarks::default(),
            queue: Some(Self::QUEUE),
        }
    }
}

impl Capacity {
    /// The queue of a capacity that says nothing of one.
    pub const QUEUE: QueuePolicy = QueuePolicy {
        size: 100,
        timeout: Nanos::from_secs(1),
    };
}

/// The most requests in flight at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peak {
    /// It is learned.
    Learned,
    /// So many, at least 1.
    Requests(u32),
}
