//! Starting a gateway and ending it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_config::{self as config, Config, ListenAddress};
use evenkeel_core::{DuplicateId, Membership, Nanos};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::control::Control;
use super::shared::Shared;
use crate::clock::Clock;
use crate::cluster::{Cluster, Policies};
use crate::listener::{self, BoundSocket, Listener};
use crate::upstream::Resolver;
use crate::worker::{self, Command, WorkerHandle};

/// How long connections are still accepted once we are no longer ready, at most: those who send
/// requests learn of it by their next look at `/readyz`.
const GRACE_MAX: Duration = Duration::from_secs(5);

/// How long the first lookup of host names may hold up the start.
const FIRST_LOOKUP: Duration = Duration::from_secs(2);

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A listener's address cannot be bound.
    #[error("listener {name} cannot listen on {address}: {error}")]
    Bind {
        /// The listener.
        name: Arc<str>,
        /// Its address.
        address: ListenAddress,
        /// Why not.
        error: io::Error,
    },
    /// An endpoint id is listed twice.
    #[error("cluster {cluster}: {error}")]
    Duplicate {
        /// The cluster.
        cluster: Arc<str>,
        /// Which one.
        error: DuplicateId,
    },
    /// The system gives no thread.
    #[error("cannot start a worker: {0}")]
    Worker(#[from] io::Error),
}

/// A running gateway. Dropping it ends it at once.
#[derive(Debug)]
pub struct Gateway {
    control: Control,
    shared: Arc<Shared>,
    workers: Vec<WorkerHandle>,
    resolving: JoinHandle<()>,
    drain_timeout: Duration,
}

impl Gateway {
    /// Binds every listener and starts the workers. Returns when all of them listen.
    ///
    /// `seed` makes this process differ from others: where schedules start, what is drawn.
    ///
    /// # Errors
    ///
    /// When an address cannot be bound or the system gives no thread.
    pub async fn start(config: &Config, seed: u64) -> Result<Self, StartError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let count = config.runtime.workers.count(cores);
        let clusters = clusters(config)?;
        let (listeners, sockets) = listen(config, count)?;
        let drain_timeout = config.runtime.drain_timeout;
        let grace = GRACE_MAX.min(drain_timeout / 10);
        let shared = Arc::new(Shared {
            clock: Clock::start(),
            seed,
            resolver: Resolver::new(Arc::clone(&clusters)),
            clusters,
            awaited: AtomicUsize::new(listeners.len() * count),
            listeners,
            drain_grace: Nanos(grace.as_nanos() as u64),
            draining: AtomicBool::new(false),
            undrained: AtomicUsize::new(count),
            drained: Notify::new(),
        });
        // A name that hangs must not keep the others from being served.
        let _ = tokio::time::timeout(FIRST_LOOKUP, shared.resolver.resolve_all()).await;
        let workers = (0..)
            .zip(sockets)
            .map(|(number, sockets)| worker::spawn(number, &shared, sockets))
            .collect::<io::Result<Vec<WorkerHandle>>>()?;
        let commands: Vec<_> = workers
            .iter()
            .map(|worker| worker.commands.clone())
            .collect();
        let resolver = Arc::clone(&shared);
        Ok(Self {
            control: Control::new(Arc::clone(&shared), commands.into()),
            shared,
            workers,
            resolving: tokio::spawn(async move { resolver.resolver.run().await }),
            drain_timeout,
        })
    }

    /// The hold by which it is seen and steered.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Leaves: not ready any more, connections accepted for a short while and closed after their
    /// answer, requests in flight finished. Returns whether all of them did before the drain timeout.
    pub async fn drain(self) -> bool {
        self.shared.draining.store(true, Ordering::Relaxed);
        for worker in &self.workers {
            // One that has ended has nothing to drain.
            let _ = worker.commands.send(Command::Drain).await;
        }
        let finished = tokio::time::timeout(self.drain_timeout, self.shared.drained.notified())
            .await
            .is_ok();
        self.stop().await;
        finished
    }

    /// Ends now; requests in flight are cut. Returns when all threads have ended.
    pub async fn stop(mut self) {
        for worker in &self.workers {
            // One that has ended need not be told.
            let _ = worker.commands.send(Command::Stop).await;
        }
        for worker in std::mem::take(&mut self.workers) {
            let ended = tokio::task::spawn_blocking(move || worker.thread.join()).await;
            if !matches!(ended, Ok(Ok(()))) {
                tracing::error!("a worker ended by a panic");
            }
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.resolving.abort();
        for worker in &self.workers {
            // Controls may outlive the gateway, so their end of the channel says nothing. One that
            // has no room for a command is stuck, and would not hear of this either.
            let _ = worker.commands.try_send(Command::Stop);
        }
        self.shared.remove_files();
    }
}

fn clusters(config: &Config) -> Result<Arc<[Arc<Cluster>]>, StartError> {
    config
        .clusters
        .iter()
        .map(|cluster| {
            let mut members = Membership::new(Arc::clone(&cluster.name), cluster.strategy.build());
            members.set_panic(cluster.panic);
            members
                .replace(cluster.endpoints.clone())
                .map_err(|error| StartError::Duplicate {
                    cluster: Arc::clone(&cluster.name),
                    error,
                })?;
            let policies = Policies::from(cluster);
            Ok(Arc::new(Cluster::new(members, cluster.clone(), policies)))
        })
        .collect()
}

/// Listening sockets by worker, in the order of the listeners.
type Sockets = Vec<Vec<BoundSocket>>;
type Listeners = Box<[Arc<Listener>]>;

/// Binds all listeners, and deals their sockets out to the workers.
fn listen(config: &Config, workers: usize) -> Result<(Listeners, Sockets), StartError> {
    let mut listeners = Vec::new();
    let mut by_worker: Sockets = (0..workers).map(|_| Vec::new()).collect();
    for wanted in &config.listeners {
        let bound = listener::bind(&wanted.address, workers).map_err(|error| StartError::Bind {
            name: Arc::clone(&wanted.name),
            address: wanted.address.clone(),
            error,
        })?;
        for (own, socket) in by_worker.iter_mut().zip(bound.sockets) {
            own.push(socket);
        }
        listeners.push(Arc::new(Listener::new(
            wanted,
            bound.address,
            bound.file,
            |name| position(&config.clusters, name),
        )));
    }
    Ok((listeners.into(), by_worker))
}

fn position(clusters: &[config::Cluster], name: &str) -> Option<usize> {
    clusters.iter().position(|cluster| &*cluster.name == name)
}
