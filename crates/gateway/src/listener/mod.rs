//! Sockets that clients connect to.

mod accept;
mod bind;
mod socket;
mod socket_file;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_config::{self as config, ListenAddress};
use evenkeel_core::Nanos;
use evenkeel_http1::Limits;

use crate::route::RouteTable;

use socket_file::SocketFile;

pub(crate) use accept::accept;
pub(crate) use bind::bind;
pub(crate) use socket::BoundSocket;

/// A listener as workers and reports see it.
#[derive(Debug)]
pub struct Listener {
    name: Arc<str>,
    address: ListenAddress,
    file: Option<SocketFile>,
    /// The place of the cluster among the gateway's.
    pub(crate) cluster: Option<usize>,
    pub(crate) routes: RouteTable,
    pub(crate) config: config::Listener,
    pub(crate) limits: Limits,
    pub(crate) header_timeout: Nanos,
    pub(crate) idle_timeout: Nanos,
    connections: AtomicUsize,
}

impl Listener {
    pub(crate) fn new(
        config: &config::Listener,
        address: ListenAddress,
        file: Option<SocketFile>,
        place: impl Fn(&str) -> Option<usize>,
    ) -> Self {
        let limits = &config.limits;
        Self {
            name: Arc::clone(&config.name),
            address,
            file,
            cluster: config.cluster.as_deref().and_then(&place),
            routes: RouteTable::new(&config.routes, place),
            limits: Limits {
                header_bytes: limits.header_bytes,
                headers: usize::from(limits.headers),
            },
            header_timeout: Nanos(limits.header_timeout.as_nanos() as u64),
            idle_timeout: Nanos(limits.idle_timeout.as_nanos() as u64),
            config: config.clone(),
            connections: AtomicUsize::new(0),
        }
    }

    /// The name in metrics and logs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it listens; the port that was picked, if configuration left it open.
    #[must_use]
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// Clients' connections, over all workers.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Takes the file of a unix socket away.
    pub(crate) fn remove_file(&self) {
        if let Some(file) = &self.file {
            file.remove();
        }
    }

    /// Counts a connection, unless there are as many as may be.
    fn admit(self: &Arc<Self>) -> Option<Seat> {
        let before = self.connections.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(Arc::clone(self));
        (before < self.config.limits.connections as usize).then_some(seat)
    }
}

/// Counts a client's connection while it lives.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Listener>);

impl Seat {
    pub(crate) fn listener(&self) -> &Listener {
        &self.0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
