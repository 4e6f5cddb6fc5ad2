//! Sockets we accept on.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::Network;

/// A socket we accept on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name in metrics and logs, unique.
    pub name: Arc<str>,
    /// What it binds; port 0 is picked free.
    pub address: SocketAddr,
    /// The cluster for its requests, which exists; none: they get 404.
    pub cluster: Option<Arc<str>>,
    /// What clients may ask of it.
    pub limits: Limits,
    /// Whose `X-Forwarded-*` is believed.
    pub trusted_proxies: Vec<Network>,
}

impl Listener {
    /// Whether the `X-Forwarded-*` of this peer is believed.
    #[must_use]
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted_proxies
            .iter()
            .any(|network| network.contains(peer))
    }
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
    /// How long a head may take to arrive.
    pub header_timeout: Duration,
    /// How long a kept-alive connection may wait for its next request.
    pub idle_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            header_bytes: 64 * 1024,
            headers: 100,
            body: None,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
        }
    }
}
