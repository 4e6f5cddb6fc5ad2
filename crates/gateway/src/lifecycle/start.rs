//! Starting a gateway and ending it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evenkeel_config::{Config, ListenAddress};
use evenkeel_core::DuplicateId;
use tokio::task::JoinHandle;

use super::control::Control;
use super::median::{follow_limits, follow_medians};
use super::restart::Task;
use super::shared::Shared;
use crate::discovery::{discover, keep_all};
use crate::fleet::join_fleet;
use crate::handover::Inherited;
use crate::notify::notify;
use crate::probe::watch;
use crate::report::follow_weights;
use crate::tls::{TlsError, TlsSettings, follow_files};
use crate::worker::{Command, Leave, WorkerHandle};

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
    /// A socket that was handed over is none to accept on.
    #[error("cannot use a socket that was handed over: {0}")]
    Inherited(io::Error),
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
        let prepared = Self::prepare(config, seed, Inherited::default()).await?;
        prepared.start()
    }

    pub(super) fn running(shared: Arc<Shared>, workers: Vec<WorkerHandle>) -> Self {
        let commands: Vec<_> = workers
            .iter()
            .map(|worker| worker.commands.clone())
            .collect();
        Self {
            control: Control::new(Arc::clone(&shared), commands.into()),
            workers,
            minding: tokio::spawn(mind(Arc::clone(&shared))),
            shared,
        }
    }

    /// Reads the files that a configuration names for TLS, as a start would, and looks whether this build can
    /// do what it asks for.
    ///
    /// # Errors
    ///
    /// When one cannot be used, a key is not that of its certificate, or spans are to be sent by a build
    /// that sends none.
    pub fn check_files(config: &Config) -> Result<(), StartError> {
        super::prepared::spans(config)?;
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
        let accepting = grace;
        self.leave(Leave { accepting, grace }).await
    }

    /// Leaves as [`Gateway::drain`] does, but accepts nothing more: for somebody at a terminal, who
    /// knows that nobody else counts on it.
    pub async fn finish(self) -> bool {
        let (accepting, grace) = (Duration::ZERO, Duration::ZERO);
        self.leave(Leave { accepting, grace }).await
    }

    /// Leaves for a process that holds the same sockets and accepts already: accepts nothing more, and is
    /// otherwise as patient as [`Gateway::drain`].
    pub async fn give_way(self) -> bool {
        let plan = self.shared.plan.load();
        for listener in &plan.listeners {
            listener.door().give_file_away();
        }
        let accepting = Duration::ZERO;
        let grace = plan.drain_grace();
        self.leave(Leave { accepting, grace }).await
    }

    async fn leave(self, leave: Leave) -> bool {
        self.shared.draining.store(true, Ordering::Relaxed);
        for worker in &self.workers {
            // One that has ended has nothing to drain.
            let _ = worker.commands.send(Command::Drain(leave)).await;
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
        keep_all(&self.shared).await;
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
        restarts.keep(Task::Fleet, || join_fleet(shared())),
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
