//! Starting a gateway and ending it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_config::{self as config, Config, ListenAddress};
use evenkeel_core::{DuplicateId, Published};
use evenkeel_discovery::Store;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;

use super::control::Control;
use super::median::{follow_limits, follow_medians};
use super::plan::Plan;
use super::restart::{Restarts, Task};
use super::shared::Shared;
use crate::access::AccessLog;
use crate::clock::Clock;
use crate::cluster::{Cluster, Site};
use crate::decision::Receipts;
use crate::descriptors::Descriptors;
use crate::discovery::{discover, first_lists};
use crate::listener::{self, Bound, Door};
use crate::notify::notify;
use crate::probe::watch;
use crate::report::follow_weights;
use crate::span::Spans;
use crate::tls::{TlsError, TlsSettings, follow_files};
use crate::upstream::{FIRST_LOOKUP, Resolver};
use crate::worker::{self, Command, Sockets, WorkerHandle};

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A listener's address cannot be bound.
    #[error("listener {name:?} cannot listen on {address}: {error}")]
    Bind {
        /// The listener.
        name: Arc<str>,
        /// Its address.
        address: ListenAddress,
        /// Why not.
        error: io::Error,
    },
    /// An endpoint id is listed twice.
    #[error("cluster {cluster:?}: {error}")]
    Duplicate {
        /// The cluster.
        cluster: Arc<str>,
        /// Which one.
        error: DuplicateId,
    },
    /// The file of a log cannot be written.
    #[error("the file {path:?} of log.{log} cannot be opened: {error}")]
    Log {
        /// Which log.
        log: &'static str,
        /// Its file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Spans cannot be sent.
    #[error("log.trace: {0}")]
    Trace(&'static str),
    /// A file of TLS cannot be used.
    #[error("{whose}: {error}")]
    Tls {
        /// The listener or the cluster.
        whose: String,
        /// Which file, and why not.
        error: TlsError,
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
    /// Names, latencies and endpoints are minded for as long as it runs.
    minding: JoinHandle<()>,
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
        let tls = TlsSettings::load(config, &TlsSettings::default())?;
        let clock = Clock::start();
        let site = Arc::new(Site::new(&config.runtime, clock, seed));
        let clusters = clusters(config, &site, &tls)?;
        let access = access_log(config, clock)?;
        let spans = spans(config)?;
        let receipts = receipts(config, clock)?;
        let (doors, sockets) = listen(config, count)?;
        let listeners = doors.len();
        let plan = Arc::new(Plan::new(config.clone(), tls, clusters, doors));
        let plan = Arc::new(Published::new(plan));
        let shared = Arc::new(Shared {
            clock,
            access,
            spans,
            receipts,
            seed,
            resolver: Resolver::new(Arc::clone(&plan)),
            descriptors: Arc::new(Descriptors::new()),
            restarts: Restarts::default(),
            site,
            store: config.runtime.state_dir.as_deref().map(Store::new),
            plan,
            reloading: Mutex::new(()),
            reloads: Default::default(),
            awaited: AtomicUsize::new(listeners * count),
            draining: AtomicBool::new(false),
            undrained: AtomicUsize::new(count),
            drained: Notify::new(),
        });
        first_lists(&shared, &shared.plan.load().clusters).await;
        let _ = tokio::time::timeout(FIRST_LOOKUP, shared.resolver.resolve_all()).await;
        let workers = (0..)
            .zip(sockets)
            .map(|(number, sockets)| worker::spawn(number, &shared, sockets))
            .collect::<io::Result<Vec<WorkerHandle>>>()?;
        shared.mind_descriptors();
        let commands: Vec<_> = workers
            .iter()
            .map(|worker| worker.commands.clone())
            .collect();
        let minded = Arc::clone(&shared);
        Ok(Self {
            control: Control::new(Arc::clone(&shared), commands.into()),
            shared,
            workers,
            minding: tokio::spawn(mind(minded)),
        })
    }

    /// Reads the files that a configuration names for TLS, as a start would, and looks whether this build can
    /// do what it asks for.
    ///
    /// # Errors
    ///
    /// When one cannot be used, a key is not that of its certificate, or spans are to be sent by a build
    /// that sends none.
    pub fn check_files(config: &Config) -> Result<(), StartError> {
        spans(config)?;
        TlsSettings::load(config, &TlsSettings::default())?;
        Ok(())
    }

    /// The hold by which it is seen and steered.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Leaves: not ready any more, connections accepted for a short while and closed after their
    /// answer, requests in flight finished. Returns whether all of them did before the drain timeout.
    pub async fn drain(self) -> bool {
        let grace = self.shared.plan.load().drain_grace();
        self.leave(grace).await
    }

    /// Leaves as [`Gateway::drain`] does, but accepts nothing more: for somebody at a terminal, who
    /// knows that nobody else counts on it.
    pub async fn finish(self) -> bool {
        self.leave(Duration::ZERO).await
    }

    async fn leave(self, grace: Duration) -> bool {
        self.shared.draining.store(true, Ordering::Relaxed);
        for worker in &self.workers {
            // One that has ended has nothing to drain.
            let _ = worker.commands.send(Command::Drain(grace)).await;
        }
        let timeout = self.shared.plan.load().drain_timeout();
        let finished = tokio::time::timeout(timeout, self.shared.drained.notified())
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
        for log in self.control.logs() {
            log.close().await;
        }
        if let Some(spans) = &self.shared.spans {
            spans.close().await;
        }
    }
}

/// What the control thread looks after for as long as the gateway runs.
async fn mind(minded: Arc<Shared>) {
    let restarts = &minded.restarts;
    let shared = || Arc::clone(&minded);
    tokio::join!(
        restarts.keep(Task::Resolver, || {
            let shared = shared();
            async move { shared.resolver.run().await }
        }),
        restarts.keep(Task::Latencies, || {
            let shared = shared();
            async move {
                let limits = follow_limits(&shared.plan, shared.clock);
                tokio::join!(follow_medians(&shared.plan), limits);
            }
        }),
        restarts.keep(Task::Weights, || {
            let shared = shared();
            async move { follow_weights(&shared.plan, shared.clock).await }
        }),
        restarts.keep(Task::Certificates, || {
            let shared = shared();
            async move { follow_files(&shared.plan).await }
        }),
        restarts.keep(Task::Health, || watch(shared())),
        restarts.keep(Task::Notices, || notify(shared())),
        restarts.keep(Task::Discovery, || discover(shared())),
        restarts.keep(Task::Spans, || {
            let shared = shared();
            async move {
                match &shared.spans {
                    Some(spans) => spans.run().await,
                    None => std::future::pending().await,
                }
            }
        }),
    );
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.minding.abort();
        for worker in &self.workers {
            // Controls may outlive the gateway, so their end of the channel says nothing. One that
            // has no room for a command is stuck, and would not hear of this either.
            let _ = worker.commands.try_send(Command::Stop);
        }
        self.shared.remove_files();
    }
}

fn access_log(config: &Config, clock: Clock) -> Result<Option<AccessLog>, StartError> {
    let wanted = config.log.access.as_ref();
    let opened = wanted.map(|wanted| {
        AccessLog::open(wanted, clock).map_err(|error| StartError::Log {
            log: "access",
            path: wanted.path.clone(),
            error,
        })
    });
    opened.transpose()
}

fn spans(config: &Config) -> Result<Option<Spans>, StartError> {
    let wanted = config.log.trace.as_ref();
    wanted
        .map(Spans::open)
        .transpose()
        .map_err(StartError::Trace)
}

fn receipts(config: &Config, clock: Clock) -> Result<Option<Arc<Receipts>>, StartError> {
    let wanted = config.log.decision.as_ref();
    let opened = wanted.map(|wanted| {
        let opened = Receipts::open(wanted, clock).map(Arc::new);
        opened.map_err(|error| StartError::Log {
            log: "decision",
            path: wanted.path.clone().unwrap_or_default(),
            error,
        })
    });
    opened.transpose()
}

fn clusters(
    config: &Config,
    site: &Arc<Site>,
    tls: &TlsSettings,
) -> Result<Vec<Arc<Cluster>>, StartError> {
    let clusters = config.clusters.iter();
    clusters
        .map(|cluster| {
            let made = Cluster::new(cluster.clone(), site, tls.cluster(&cluster.name), true);
            made.map(Arc::new).map_err(|error| StartError::Duplicate {
                cluster: Arc::clone(&cluster.name),
                error,
            })
        })
        .collect()
}

/// Binds all listeners, and deals their sockets out to the workers.
fn listen(config: &Config, workers: usize) -> Result<(Vec<Arc<Door>>, Vec<Sockets>), StartError> {
    let mut doors = Vec::with_capacity(config.listeners.len());
    let mut by_worker: Vec<Sockets> = (0..workers).map(|_| Vec::new()).collect();
    for wanted in &config.listeners {
        let bound = bind_listener(wanted, workers)?;
        for (own, socket) in by_worker.iter_mut().zip(bound.sockets) {
            own.push((Arc::clone(&bound.door), socket));
        }
        doors.push(bound.door);
    }
    Ok((doors, by_worker))
}

/// Binds the sockets of a listener, one for each worker.
pub(crate) fn bind_listener(
    wanted: &config::Listener,
    workers: usize,
) -> Result<Bound, StartError> {
    listener::bind(&wanted.address, workers).map_err(|error| StartError::Bind {
        name: Arc::clone(&wanted.name),
        address: wanted.address.clone(),
        error,
    })
}
