//! What all threads of a gateway share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use evenkeel_core::Published;
use evenkeel_discovery::Store;
use tokio::sync::{Mutex, Notify};

use super::plan::Plan;
use super::restart::Restarts;
use crate::access::AccessLog;
use crate::clock::Clock;
use crate::cluster::{CodeClass, Site};
use crate::decision::Receipts;
use crate::descriptors::Descriptors;
use crate::fleet::FleetState;
use crate::log::LineFile;
use crate::span::Spans;
use crate::upstream::Resolver;

/// What all threads of a gateway share; nothing here is written on the path of a request that a cluster takes.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    /// What runs, for the control side; workers are told of another one.
    pub(crate) plan: Arc<Published<Plan>>,
    pub(crate) resolver: Resolver,
    pub(crate) descriptors: Arc<Descriptors>,
    pub(crate) restarts: Restarts,
    pub(crate) fleet: FleetState,
    pub(crate) site: Arc<Site>,
    /// Where the last good lists of endpoints are kept, if they are.
    pub(crate) store: Option<Store>,
    /// The log of requests, if there is one.
    pub(crate) access: Option<AccessLog>,
    /// Spans of requests on their way to a collector, if there is one.
    pub(crate) spans: Option<Spans>,
    /// Receipts of decisions, if any are kept.
    pub(crate) receipts: Option<Arc<Receipts>>,
    /// Held while a reload is under way.
    pub(crate) reloading: Mutex<()>,
    /// Reloads by how they ended: success, failure.
    pub(crate) reloads: [AtomicU64; 2],
    /// Requests that no cluster took, by the class of the gateway's own answer.
    pub(crate) unrouted: [AtomicU64; CodeClass::ALL.len()],
    /// Listening sockets that do not accept yet, over all workers.
    pub(crate) awaited: AtomicUsize,
    pub(crate) draining: AtomicBool,
    pub(crate) undrained: AtomicUsize,
    pub(crate) drained: Notify,
}

impl Shared {
    /// Tells the operator when listeners promise more connections than there are descriptors for.
    pub(crate) fn mind_descriptors(&self) {
        self.descriptors.measure();
        let plan = self.plan.load();
        let limits = plan
            .config
            .listeners
            .iter()
            .map(|listener| &listener.limits);
        let wanted: u64 = limits.map(|limits| u64::from(limits.connections)).sum();
        let most = self.descriptors.most();
        if wanted > most as u64 {
            tracing::warn!(
                "limits.connections allow {wanted} connections, and the process has descriptors for \
                 {most} with as many to endpoints: {most} counts (raise it with `ulimit -n`)"
            );
        }
    }

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
        for listener in &self.plan.load().listeners {
            listener.door().remove_file();
        }
    }

    /// The logs of requests that are written.
    pub(crate) fn logs(&self) -> Vec<Arc<LineFile>> {
        let access = self.access.iter().map(|log| &log.file);
        let receipts = self.receipts.iter();
        let decision = receipts.filter_map(|receipts| receipts.file.as_ref());
        access.chain(decision).map(Arc::clone).collect()
    }

    /// What the control side counts.
    pub(crate) fn figures(&self) -> Vec<(&'static str, Vec<&AtomicU64>)> {
        let reloads = self.reloads.iter().collect();
        vec![
            ("reloads", reloads),
            ("restarts", self.restarts.figures()),
            ("unrouted", self.unrouted.iter().collect()),
        ]
    }

    /// Counts a request that no cluster took, by the status of its answer.
    pub(crate) fn count_unrouted(&self, status: u16) {
        self.unrouted[CodeClass::of(status) as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) == 0 && !self.draining.load(Ordering::Relaxed)
    }
}
