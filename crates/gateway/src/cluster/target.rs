//! Where an endpoint is reached.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_core::Endpoint;

/// An address as configuration writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A host name that has to be resolved.
    Name(Arc<str>),
    /// An IP address and port.
    Socket(SocketAddr),
}

/// An endpoint's address and, for a host name, what it resolves to.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) id: Arc<str>,
    pub(crate) host: Host,
    resolved: Mutex<Option<SocketAddr>>,
}

impl Target {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let host = match endpoint.address().parse() {
            Ok(address) => Host::Socket(address),
            Err(_) => Host::Name(endpoint.address().into()),
        };
        Self {
            id: endpoint.shared_id(),
            host,
            resolved: Mutex::new(None),
        }
    }

    /// The address to connect to; none while a name has not been resolved.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match &self.host {
            Host::Socket(address) => Some(*address),
            Host::Name(_) => *self.resolved.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Takes over what the name resolves to; a lookup that failed leaves the last good address.
    pub(crate) fn resolve(&self, address: SocketAddr) {
        *self.resolved.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }
}
