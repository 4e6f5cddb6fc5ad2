//! Sockets we accept on.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::route::Route;
use super::tls::ListenerTls;
use crate::Network;
use crate::value::listen_address::ListenAddress;

/// A socket we accept on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name in metrics and logs, unique.
    pub name: Arc<str>,
    /// What it binds.
    pub address: ListenAddress,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether a PROXY header comes first, and says who the peer is.
    pub proxy_protocol: bool,
    /// The certificates by which it speaks TLS; none: it does not.
    pub tls: Vec<ListenerTls>,
    /// The cluster for requests that no route takes, which exists; none: they get 404.
    pub cluster: Option<Arc<str>>,
    /// The routes, in the order in which they are tried; at most [`Route::MAX`].
    pub routes: Vec<Route>,
    /// Whether a client that ends its side of the connection waits for its answer; if not, it has left.
    pub half_close: bool,
    /// What clients may ask of it.
    pub limits: Limits,
    /// Whose `X-Forwarded-*` is believed.
    pub trusted_proxies: Vec<Network>,
    /// Whether that of peers on a unix socket is.
    pub trusts_unix: bool,
}

impl Listener {
    /// A listener of that address and name, with defaults in all else.
    #[must_use]
    pub fn new(address: impl Into<ListenAddress>) -> Self {
        let address = address.into();
        Self {
            name: address.to_string().into(),
            address,
            protocol: Protocol::Http,
            proxy_protocol: false,
            tls: Vec::new(),
            cluster: None,
            routes: Vec::new(),
            half_close: true,
            limits: Limits::default(),
            trusted_proxies: Vec::new(),
            trusts_unix: false,
        }
    }

    /// Whether the `X-Forwarded-*` of a peer is believed; none: one on a unix socket.
    #[must_use]
    pub fn trusts(&self, peer: Option<IpAddr>) -> bool {
        match peer {
            Some(peer) => self
                .trusted_proxies
                .iter()
                .any(|network| network.contains(peer)),
            None => self.trusts_unix,
        }
    }
}

/// What a listener speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP.
    #[default]
    Http,
    /// Nothing that we would look into: bytes are passed on as they come. It has a cluster.
    Tcp,
}

/// What clients may ask of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at once.
    pub connections: u32,
    /// The most bytes of a request's head.
    pub header_bytes: usize,
    /// The most fields of a request's head, 1 to 256.
    pub headers: u16,
    /// The most bytes of a request's body; none: unlimited.
    pub body: Option<u64>,
    /// The least bytes of a body that must come a second, over any `header_timeout` in which nothing
    /// but the client held it up; none: it may drip.
    pub body_rate: Option<u64>,
    /// How long a head may take to arrive.
    pub header_timeout: Duration,
    /// How long a kept-alive connection may wait for its next request.
    pub idle_timeout: Duration,
    /// The most requests at once on a connection of HTTP/2.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            header_bytes: 64 * 1024,
            headers: 100,
            body: None,
            body_rate: None,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            streams: 128,
        }
    }
}
