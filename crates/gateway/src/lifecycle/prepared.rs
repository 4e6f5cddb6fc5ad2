//! A gateway before its first decision: all that can fail has been tried, and nothing is accepted yet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use evenkeel_config::{self as config, Config};
use evenkeel_core::Published;
use evenkeel_discovery::Store;
use tokio::sync::{Mutex, Notify};

use super::plan::Plan;
use super::restart::Restarts;
use super::shared::Shared;
use super::start::{Gateway, StartError};
use crate::access::AccessLog;
use crate::clock::Clock;
use crate::cluster::{Cluster, Site};
use crate::decision::Receipts;
use crate::descriptors::Descriptors;
use crate::discovery::first_lists;
use crate::fleet::{FleetState, first_changes};
use crate::handover::{Inherited, Memory};
use crate::listener::{self, Bound, Door, Inheritance, InheritedSocket};
use crate::span::Spans;
use crate::tls::TlsSettings;
use crate::upstream::{FIRST_LOOKUP, Resolver};
use crate::worker::{self, Sockets, WorkerHandle};

/// A gateway that is about to start.
#[derive(Debug)]
pub struct Prepared {
    shared: Arc<Shared>,
    sockets: Vec<Sockets>,
}

impl Gateway {
    /// Reads files, binds what is not inherited, looks up names and asks sources of endpoints. Nothing is
    /// accepted yet.
    ///
    /// `seed` makes this process differ from others: where schedules start, what is drawn.
    ///
    /// # Errors
    ///
    /// When a file cannot be used or an address cannot be bound.
    pub async fn prepare(
        config: &Config,
        seed: u64,
        inherited: Inherited,
    ) -> Result<Prepared, StartError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let count = config.runtime.workers.count(cores);
        let tls = TlsSettings::load(config, &TlsSettings::default())?;
        let clock = inherited.now.map_or_else(Clock::start, Clock::continuing);
        let site = Arc::new(Site::new(&config.runtime, clock, seed));
        let clusters = clusters(config, &site, &tls)?;
        let access = access_log(config, clock)?;
        let spans = spans(config)?;
        let receipts = receipts(config, clock)?;
        let (doors, sockets) = listen(config, count, inherited.sockets)?;
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
            fleet: FleetState::default(),
            site,
            store: config.runtime.state_dir.as_deref().map(Store::new),
            plan,
            reloading: Mutex::new(()),
            reloads: Default::default(),
            unrouted: Default::default(),
            awaited: AtomicUsize::new(sockets.iter().map(Vec::len).sum()),
            draining: AtomicBool::new(false),
            undrained: AtomicUsize::new(count),
            drained: Notify::new(),
        });
        first_lists(&shared, &shared.plan.load().clusters).await;
        first_changes(&shared).await;
        let prepared = Prepared { shared, sockets };
        prepared.look_up().await;
        Ok(prepared)
    }
}

impl Prepared {
    /// Goes on with what another process knew.
    pub async fn recall(&self, memory: Memory) {
        self.shared.recall(memory);
        // Endpoints that operators added may have names.
        self.look_up().await;
    }

    /// Starts the workers. Returns when all of them listen.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn start(self) -> Result<Gateway, StartError> {
        let Self { shared, sockets } = self;
        let workers = (0..)
            .zip(sockets)
            .map(|(number, sockets)| worker::spawn(number, &shared, sockets))
            .collect::<io::Result<Vec<WorkerHandle>>>()?;
        shared.mind_descriptors();
        Ok(Gateway::running(shared, workers))
    }

    async fn look_up(&self) {
        let _ = tokio::time::timeout(FIRST_LOOKUP, self.shared.resolver.resolve_all()).await;
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

/// Where spans go to, if they go anywhere.
pub(super) fn spans(config: &Config) -> Result<Option<Spans>, StartError> {
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

/// Binds all listeners that nobody has bound for us, and deals their sockets out to the workers.
fn listen(
    config: &Config,
    workers: usize,
    inherited: Vec<InheritedSocket>,
) -> Result<(Vec<Arc<Door>>, Vec<Sockets>), StartError> {
    let mut inherited = Inheritance::new(inherited).map_err(StartError::Inherited)?;
    let mut doors = Vec::with_capacity(config.listeners.len());
    let mut by_worker: Vec<Sockets> = (0..workers).map(|_| Vec::new()).collect();
    for wanted in &config.listeners {
        let taken = inherited.take(wanted, workers);
        let bound = match taken.map_err(StartError::Inherited)? {
            Some(bound) => bound,
            None => bind_listener(wanted, workers)?,
        };
        // There may be more than workers: all of them must be accepted from.
        for (at, socket) in bound.sockets.into_iter().enumerate() {
            by_worker[at % workers].push((Arc::clone(&bound.door), socket));
        }
        doors.push(bound.door);
    }
    for address in inherited.rest() {
        tracing::warn!(
            "a socket on {address} was handed over, and no listener is there: it is closed"
        );
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
