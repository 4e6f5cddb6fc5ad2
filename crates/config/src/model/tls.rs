//! TLS: which files prove who somebody is.

use std::path::Path;
use std::sync::Arc;

/// A certificate with those above it, and its key: two PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate first, then those that lead to a root.
    pub certificate: Arc<Path>,
    /// Its private key.
    pub key: Arc<Path>,
}

/// What a listener proves to clients, and what it asks of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerTls {
    /// Who it is; the names that it is chosen by are those of the certificate.
    pub identity: Identity,
    /// The authorities of which clients must have a certificate; none: they need none.
    pub client_ca: Option<Arc<Path>>,
}

/// What endpoints must prove, and what they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterTls {
    /// The name that their certificates must have; none: the host of their address.
    pub server_name: Option<Arc<str>>,
    /// The authorities that are believed; none: those of the system.
    pub ca: Option<Arc<Path>>,
    /// Who we are; none: nobody asks.
    pub identity: Option<Identity>,
}
