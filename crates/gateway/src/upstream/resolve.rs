//! Host names of endpoints: resolved at start, again every half minute, and after a failed connect.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::cluster::{Cluster, Host};

/// How often names are resolved again.
const INTERVAL: Duration = Duration::from_secs(30);

/// Between two lookups that failed connects asked for.
const PAUSE: Duration = Duration::from_secs(1);

/// Resolves the names of all endpoints, on the control thread.
#[derive(Debug)]
pub(crate) struct Resolver {
    clusters: Arc<[Arc<Cluster>]>,
    asked: Notify,
}

impl Resolver {
    pub(crate) fn new(clusters: Arc<[Arc<Cluster>]>) -> Self {
        Self {
            clusters,
            asked: Notify::new(),
        }
    }

    /// Asks for a lookup soon: a connect failed, or a name is new.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    /// Resolves on and on.
    pub(crate) async fn run(&self) {
        loop {
            self.resolve_all().await;
            tokio::time::sleep(PAUSE).await;
            // Whether it was asked for or is due makes no difference.
            let _ = tokio::time::timeout(INTERVAL, self.asked.notified()).await;
        }
    }

    /// Looks every name up once; the first address counts.
    pub(crate) async fn resolve_all(&self) {
        for target in self.clusters.iter().flat_map(|cluster| cluster.targets()) {
            let Host::Name(name) = &target.host else {
                continue;
            };
            match tokio::net::lookup_host(&**name).await {
                Ok(mut addresses) => match addresses.next() {
                    Some(address) => target.resolve(address),
                    None => tracing::warn!(endpoint = %target.id, %name, "name has no address"),
                },
                Err(error) => {
                    tracing::warn!(endpoint = %target.id, %name, %error, "name does not resolve");
                }
            }
        }
    }
}
