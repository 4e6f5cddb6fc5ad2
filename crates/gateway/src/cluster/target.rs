//! Where an endpoint is reached.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_config::{Address, parse_address};
use evenkeel_core::Endpoint;

/// An address as configuration writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A host name that has to be resolved.
    Name(Arc<str>),
    /// An IP address and port.
    Socket(SocketAddr),
    /// A unix socket.
    Unix(Arc<Path>),
}

/// Where to connect to.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Tcp(SocketAddr),
    Unix(Arc<Path>),
}

/// An endpoint's address and, for a host name, what it resolves to.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) id: Arc<str>,
    /// As configuration writes it.
    address: Arc<str>,
    pub(crate) host: Host,
    resolved: Mutex<Option<SocketAddr>>,
}

impl Target {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let text = endpoint.address();
        let host = match parse_address(text) {
            Ok(Address::Unix(path)) => Host::Unix(path.into()),
            Ok(Address::Ip(address)) => Host::Socket(address),
            // What is no address was refused before; if it was not, it does not resolve.
            Ok(Address::Host(..)) | Err(_) => Host::Name(text.into()),
        };
        Self {
            id: endpoint.shared_id(),
            address: endpoint.shared_address(),
            host,
            resolved: Mutex::new(None),
        }
    }

    /// Whether it is where the endpoint is.
    pub(crate) fn is_of(&self, endpoint: &Endpoint) -> bool {
        *self.address == *endpoint.address()
    }

    /// Where to connect to; none while a name has not been resolved.
    pub(crate) fn place(&self) -> Option<Place> {
        match &self.host {
            Host::Socket(address) => Some(Place::Tcp(*address)),
            Host::Unix(path) => Some(Place::Unix(Arc::clone(path))),
            Host::Name(_) => {
                let resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
                resolved.map(Place::Tcp)
            }
        }
    }

    /// Takes over what the name resolves to; a lookup that failed leaves the last good address.
    pub(crate) fn resolve(&self, address: SocketAddr) {
        *self.resolved.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }
}
