//! Where a cluster's endpoints are read from while the gateway runs.

use std::fmt;
use std::path::PathBuf;
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
}

impl DiscoverySource {
    /// The word for it in configuration.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
        }
    }
}

impl fmt::Display for DiscoverySource {
    /// What it is and where it is, in a few words and without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}
