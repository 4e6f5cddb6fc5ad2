//! What a gateway runs: its clusters and listeners, published whole.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Config;

use crate::cluster::Cluster;
use crate::listener::{Door, Listener};
use crate::tls::TlsSettings;

/// How long connections are still accepted once we are no longer ready, at most: those who send
/// requests learn of it by their next look at `/readyz`.
const GRACE_MAX: Duration = Duration::from_secs(5);

/// What a gateway runs. Immutable: a reload makes another one, with the clusters and doors that stay.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What it was made of.
    pub(crate) config: Config,
    /// The files that TLS is spoken by.
    pub(crate) tls: TlsSettings,
    /// In the order of the configuration.
    pub(crate) clusters: Box<[Arc<Cluster>]>,
    /// In the order of the configuration; they name clusters by their place here.
    pub(crate) listeners: Box<[Arc<Listener>]>,
}

impl Plan {
    /// A plan of clusters and doors that are in the order of the configuration.
    pub(crate) fn new(
        config: Config,
        tls: TlsSettings,
        clusters: Vec<Arc<Cluster>>,
        doors: Vec<Arc<Door>>,
    ) -> Self {
        let place = |name: &str| clusters.iter().position(|cluster| cluster.name() == name);
        let listeners = config
            .listeners
            .iter()
            .zip(doors)
            .enumerate()
            .map(|(at, (listener, door))| {
                let tls = tls.listener(at);
                Arc::new(Listener::new(listener, door, tls, place))
            })
            .collect();
        Self {
            listeners,
            tls,
            clusters: clusters.into(),
            config,
        }
    }

    /// The cluster of that name.
    pub(crate) fn cluster(&self, name: &str) -> Option<&Arc<Cluster>> {
        self.clusters.iter().find(|cluster| cluster.name() == name)
    }

    /// How long requests in flight may take to finish at the end.
    pub(crate) fn drain_timeout(&self) -> Duration {
        self.config.runtime.drain_timeout
    }

    /// How long connections are still accepted once we are no longer ready.
    pub(crate) fn drain_grace(&self) -> Duration {
        GRACE_MAX.min(self.drain_timeout() / 10)
    }

    /// The listener at that door.
    pub(crate) fn listener_at(&self, door: &Arc<Door>) -> Option<&Arc<Listener>> {
        self.listeners
            .iter()
            .find(|listener| Arc::ptr_eq(listener.door(), door))
    }
}
