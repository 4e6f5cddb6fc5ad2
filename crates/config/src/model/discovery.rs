//! Where a cluster's endpoints are read from while the gateway runs.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where a cluster's endpoints are read from while the gateway runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    /// Who knows them.
    pub source: DiscoverySource,
    /// How often the whole list is read, whether something changed or not.
    pub refresh: Duration,
    /// The share of the endpoints that a list may lose at once, 0 to 1.
    pub max_drop: f64,
}

impl Discovery {
    /// How often the whole list is read where nothing else is asked for.
    pub const REFRESH: Duration = Duration::from_secs(30);

    /// The share of endpoints that a list may lose where nothing else is asked for.
    pub const MAX_DROP: f64 = 0.5;

    /// This source, with defaults in all else.
    #[must_use]
    pub const fn of(source: DiscoverySource) -> Self {
        Self {
            source,
            refresh: Self::REFRESH,
            max_drop: Self::MAX_DROP,
        }
    }
}

/// Who knows the endpoints of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiscoverySource {
    /// A file, in TOML or JSON.
    File(PathBuf),
    /// A name in DNS.
    Dns(DnsNames),
}

/// A name in DNS, and whom to ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsNames {
    /// The name, absolute: it ends with a dot.
    pub name: Arc<str>,
    /// What is asked for.
    pub record: DnsRecord,
    /// Who is asked; none: those of the system.
    pub resolver: Option<SocketAddr>,
}

/// What is asked for of a name; for addresses the port of all endpoints, which DNS does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsRecord {
    /// Addresses of IPv4.
    A(u16),
    /// Addresses of IPv6.
    Aaaa(u16),
    /// Services: targets with ports, priorities and weights.
    Srv,
}

impl fmt::Display for DnsRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::A(port) => write!(f, "A, port {port}"),
            Self::Aaaa(port) => write!(f, "AAAA, port {port}"),
            Self::Srv => f.write_str("SRV"),
        }
    }
}

impl DiscoverySource {
    /// The word for it in configuration.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Dns(_) => "dns",
        }
    }
}

impl fmt::Display for DiscoverySource {
    /// What it is and where it is, in a few words and without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Dns(names) => match names.resolver {
                Some(server) => write!(f, "dns {} ({}) at {server}", names.name, names.record),
                None => write!(f, "dns {} ({})", names.name, names.record),
            },
        }
    }
}
