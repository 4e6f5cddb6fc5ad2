//! A worker: one thread, one event loop, its own pickers, pools and buffers.

pub(crate) mod alarm;
pub(crate) mod buffer;
mod cluster;
mod run;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use evenkeel_core::{Nanos, Rng};

use crate::clock::Clock;
use crate::lifecycle::Shared;

pub(crate) use cluster::{ClusterWorker, WorkerView};
pub(crate) use run::{Command, WorkerHandle, spawn};

/// What all connections of a worker share; nothing here is seen by another thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) clock: Clock,
    pub(crate) alarms: Rc<alarm::Alarms>,
    pub(crate) buffers: Rc<buffer::BufferPool>,
    pub(crate) clusters: Vec<Rc<ClusterWorker>>,
    pub(crate) shared: Arc<Shared>,
    /// Answers close their connection.
    pub(crate) draining: Cell<bool>,
    /// Connections without a request are closed.
    pub(crate) closing: Cell<bool>,
    /// Connections of clients.
    pub(crate) connections: Cell<usize>,
    rng: RefCell<Rng>,
}

impl Worker {
    fn new(number: u32, shared: &Arc<Shared>) -> Self {
        let clusters = shared
            .clusters
            .iter()
            .map(|cluster| Rc::new(ClusterWorker::new(cluster, number, shared.seed)))
            .collect();
        Self {
            clock: shared.clock,
            alarms: Rc::default(),
            buffers: Rc::default(),
            clusters,
            shared: Arc::clone(shared),
            draining: Cell::new(false),
            closing: Cell::new(false),
            connections: Cell::new(0),
            rng: RefCell::new(Rng::new(
                shared.seed ^ u64::from(number).wrapping_mul(0xA24B_AED4_963E_E407),
            )),
        }
    }

    /// Reads the clock, and sets alarms by it from now on.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        let now = self.clock.now();
        self.alarms.advance(now);
        now
    }

    /// Draws from `0..parts`.
    pub(crate) fn draw(&self, parts: u32) -> u32 {
        let bits = self.rng.borrow_mut().next_u64();
        ((u128::from(bits) * u128::from(parts)) >> 64) as u32
    }

    /// Appends a new request id: 128 random bits in hexadecimal.
    pub(crate) fn make_request_id(&self, out: &mut String) {
        let mut rng = self.rng.borrow_mut();
        for _ in 0..2 {
            let word = rng.next_u64();
            let digits: [u8; 16] = std::array::from_fn(|at| {
                b"0123456789abcdef"[(word >> (60 - 4 * at)) as usize & 15]
            });
            // Hexadecimal digits are text.
            out.push_str(std::str::from_utf8(&digits).unwrap_or_default());
        }
    }

    /// Closes what has idled too long, and lets go of endpoints that are gone.
    fn tidy(&self, now: Nanos) {
        for cluster in &self.clusters {
            cluster.close_stale(now);
        }
    }
}
