//! What all threads of a gateway share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_core::Nanos;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::listener::Listener;
use crate::upstream::Resolver;

/// What all threads of a gateway share; nothing here is written on the path of a request.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    pub(crate) clusters: Arc<[Arc<Cluster>]>,
    pub(crate) listeners: Box<[Arc<Listener>]>,
    pub(crate) resolver: Resolver,
    /// How long connections are still accepted once we are no longer ready.
    pub(crate) drain_grace: Nanos,
    /// Listening sockets that do not accept yet, over all workers.
    pub(crate) awaited: AtomicUsize,
    pub(crate) draining: AtomicBool,
    pub(crate) undrained: AtomicUsize,
    pub(crate) drained: Notify,
}

impl Shared {
    pub(crate) fn listener_ready(&self) {
        self.awaited.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn worker_drained(&self) {
        if self.undrained.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.drained.notify_one();
        }
    }

    /// Takes the files of unix sockets away.
    pub(crate) fn remove_files(&self) {
        for listener in &self.listeners {
            listener.remove_file();
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) == 0 && !self.draining.load(Ordering::Relaxed)
    }
}
