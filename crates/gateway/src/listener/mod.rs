//! Sockets that clients connect to.

mod accept;
mod bind;
mod door;
mod inherit;
mod socket;
mod socket_file;

use std::sync::Arc;

use evenkeel_config::{self as config, ListenAddress};
use evenkeel_core::Nanos;
use evenkeel_http1::Limits;

use crate::route::RouteTable;
use crate::tls::ServerTls;

pub(crate) use accept::{DoorBell, RETRY_AFTER, accept};
pub(crate) use bind::{Bound, bind};
pub use door::TurnedAway;
pub(crate) use door::{Door, Seat};
pub(crate) use inherit::Inheritance;
pub use inherit::InheritedSocket;
pub(crate) use socket::{Acceptor, BoundSocket};

/// A listener as one version of the configuration has it.
#[derive(Debug)]
pub struct Listener {
    name: Arc<str>,
    door: Arc<Door>,
    /// The place of the cluster among those of the same plan.
    pub(crate) cluster: Option<usize>,
    pub(crate) routes: RouteTable,
    /// How it is secured.
    pub(crate) tls: Option<Arc<ServerTls>>,
    pub(crate) config: config::Listener,
    pub(crate) limits: Limits,
    pub(crate) half_close: bool,
    /// The least bytes of a body in any `header_timeout`; 0: any.
    pub(crate) body_share: u64,
    pub(crate) header_timeout: Nanos,
    pub(crate) idle_timeout: Nanos,
}

impl Listener {
    pub(crate) fn new(
        config: &config::Listener,
        door: Arc<Door>,
        tls: Option<Arc<ServerTls>>,
        place: impl Fn(&str) -> Option<usize>,
    ) -> Self {
        let limits = &config.limits;
        Self {
            name: Arc::clone(&config.name),
            door,
            tls,
            cluster: config.cluster.as_deref().and_then(&place),
            routes: RouteTable::new(&config.routes, place),
            limits: Limits {
                header_bytes: limits.header_bytes,
                headers: usize::from(limits.headers),
            },
            half_close: config.half_close,
            body_share: limits.body_rate.map_or(0, |rate| {
                (limits.header_timeout.as_secs_f64() * rate as f64).ceil() as u64
            }),
            header_timeout: limits.header_timeout.into(),
            idle_timeout: limits.idle_timeout.into(),
            config: config.clone(),
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
        &self.door.bound
    }

    /// Clients' connections, over all workers.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.door.connections()
    }

    /// How many connections were not let in for that reason.
    #[must_use]
    pub fn turned_away(&self, why: TurnedAway) -> u64 {
        self.door.turned_away(why)
    }

    /// Whether the first byte of a connection is one of HTTP.
    pub(crate) fn begins_with_http(&self) -> bool {
        let is_http = self.config.protocol == config::Protocol::Http;
        is_http && !self.config.proxy_protocol && self.tls.is_none()
    }

    pub(crate) fn door(&self) -> &Arc<Door> {
        &self.door
    }
}
