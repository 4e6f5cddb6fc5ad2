//! One process after the other: what the one that leaves lends and tells, and what the next one begins with.
//!
//! The sockets are the same ones, so nobody who connects notices. What is known of endpoints goes over once,
//! before the next process makes its first decision; what was counted goes over then too, and once more for
//! what the old process still counts while it drains.

mod counts;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use evenkeel_core::Nanos;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::cluster::ClusterMemory;
use crate::lifecycle::{Control, Shared};
use crate::listener::InheritedSocket;
use crate::worker::Command;

pub use counts::Counts;

/// What a gateway begins with that goes on where another one leaves.
#[derive(Debug, Default)]
pub struct Inherited {
    /// Listening sockets, for the listeners that are bound there.
    pub sockets: Vec<InheritedSocket>,
    /// Where the clock of the other one stands, if there is one.
    pub now: Option<Nanos>,
}

/// A listening socket for another process.
#[derive(Debug)]
pub struct LentSocket {
    /// The name of its listener.
    pub listener: Arc<str>,
    /// Whether the file of a unix socket is the gateway's, to be taken away at the end.
    pub owns_file: bool,
    /// Another hold on the same socket.
    pub socket: OwnedFd,
}

/// What a gateway knows of its endpoints, for the process that goes on in its place.
#[derive(Debug, Serialize, Deserialize)]
pub struct Memory {
    clusters: BTreeMap<Arc<str>, ClusterMemory>,
}

impl Control {
    /// Another hold on each listening socket. The gateway goes on accepting.
    pub async fn lend(&self) -> Vec<LentSocket> {
        let mut lent = Vec::new();
        for worker in &*self.workers {
            let (lend, answer) = oneshot::channel();
            if worker.send(Command::Lend(lend)).await.is_ok() {
                // One that has ended has nothing to lend.
                lent.extend(answer.await.unwrap_or_default());
            }
        }
        let plan = self.shared.plan.load();
        let named = lent.into_iter().filter_map(|(door, socket)| {
            let listener = plan.listener_at(&door)?;
            Some(LentSocket {
                listener: listener.name().into(),
                owns_file: door.owns_file(),
                socket,
            })
        });
        named.collect()
    }

    /// Where its clock stands.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// All that it knows of its endpoints, but for what is merely counted.
    #[must_use]
    pub fn remember(&self) -> Memory {
        let clusters = self.clusters().into_iter();
        Memory {
            clusters: clusters
                .map(|cluster| (cluster.shared_name(), cluster.remember()))
                .collect(),
        }
    }

    /// All that it has counted, in the processes before it too.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// Adds what another process counted.
    pub fn add_counts(&self, counts: &Counts) {
        self.shared.add_counts(counts);
    }
}

impl Shared {
    /// Goes on with what another process knew of the clusters that are here too.
    pub(crate) fn recall(&self, mut memory: Memory) {
        for cluster in &self.plan.load().clusters {
            if let Some(known) = memory.clusters.remove(cluster.name()) {
                cluster.recall(known);
            }
        }
    }

    fn counts(&self) -> Counts {
        let plan = self.plan.load();
        let clusters = plan.clusters.iter();
        let clusters = clusters.map(|cluster| (cluster.shared_name(), cluster.counts()));
        let listeners = plan.listeners.iter().map(|listener| {
            let turned_away = Counts::sum([listener.door().figures()]);
            (Arc::<str>::from(listener.name()), turned_away)
        });
        let logs = self.logs().into_iter();
        let logs = logs.map(|log| (log.name(), Counts::Figures(vec![log.dropped()])));
        Counts::of([
            ("clusters", Counts::of(clusters)),
            ("listeners", Counts::of(listeners)),
            ("logs", Counts::of(logs)),
            ("control", Counts::sum([self.figures()])),
        ])
    }

    fn add_counts(&self, counts: &Counts) {
        let named = |name| counts.get(name).cloned().unwrap_or_default();
        let (clusters, listeners, logs) = (named("clusters"), named("listeners"), named("logs"));
        let plan = self.plan.load();
        for cluster in &plan.clusters {
            if let Some(counts) = clusters.get(cluster.name()) {
                cluster.add_counts(counts);
            }
        }
        for listener in &plan.listeners {
            if let Some(counts) = listeners.get(listener.name()) {
                counts.add_to(listener.door().figures());
            }
        }
        for log in self.logs() {
            log.add_dropped(logs.figures(log.name()).iter().sum());
        }
        named("control").add_to(self.figures());
    }
}
