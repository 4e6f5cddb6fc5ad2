//! The TLS settings of a whole configuration, with their files read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Config;
use evenkeel_core::Published;

use super::{ClientTls, ServerTls, TlsError};
use crate::lifecycle::{Plan, StartError};

/// How often files are looked at.
const INTERVAL: Duration = Duration::from_secs(2);

/// The TLS settings of a configuration, with their files read.
#[derive(Debug, Default)]
pub(crate) struct TlsSettings {
    /// In the order of the listeners.
    listeners: Vec<Option<Arc<ServerTls>>>,
    clusters: BTreeMap<Arc<str>, Arc<ClientTls>>,
}

impl TlsSettings {
    /// Reads the files of a configuration. What is the same as before goes on, with its sessions, and
    /// takes over what has been replaced.
    ///
    /// # Errors
    ///
    /// When a file cannot be used.
    pub(crate) fn load(config: &Config, old: &Self) -> Result<Self, StartError> {
        let listeners = config.listeners.iter().map(|listener| {
            if listener.tls.is_empty() {
                return Ok(None);
            }
            let (tls, protocol) = (&listener.tls, listener.protocol);
            let same = old.listeners.iter().flatten();
            let same = { same }.find(|old| old.is_of(tls, protocol));
            let loaded = match same {
                Some(same) => same.refresh().map(|_| Arc::clone(same)),
                None => ServerTls::load(tls, protocol).map(Arc::new),
            };
            let whose = || format!("listener {:?}", listener.name);
            loaded.map(Some).map_err(|error| refused(whose(), error))
        });
        let clusters = config.clusters.iter().filter_map(|cluster| {
            let tls = cluster.tls.as_ref()?;
            let same = old
                .clusters
                .values()
                .find(|old| old.is_of(tls, cluster.http2));
            let loaded = match same {
                Some(same) => same.refresh().map(|_| Arc::clone(same)),
                None => ClientTls::load(tls, cluster.http2).map(Arc::new),
            };
            let whose = || format!("cluster {:?}", cluster.name);
            let named = loaded.map(|loaded| (Arc::clone(&cluster.name), loaded));
            Some(named.map_err(|error| refused(whose(), error)))
        });
        Ok(Self {
            listeners: listeners.collect::<Result<_, _>>()?,
            clusters: clusters.collect::<Result<_, _>>()?,
        })
    }

    /// That of the listener at this place of the configuration.
    pub(crate) fn listener(&self, place: usize) -> Option<Arc<ServerTls>> {
        self.listeners.get(place).cloned().flatten()
    }

    /// That of the cluster of this name.
    pub(crate) fn cluster(&self, name: &str) -> Option<Arc<ClientTls>> {
        self.clusters.get(name).cloned()
    }

    /// Takes over what has been replaced, and tells of it.
    fn refresh(&self, config: &Config) {
        for (listener, tls) in config.listeners.iter().zip(&self.listeners) {
            if let Some(tls) = tls {
                tell("listener", &listener.name, tls.refresh());
            }
        }
        for (cluster, tls) in &self.clusters {
            tell("cluster", cluster, tls.refresh());
        }
    }
}

fn refused(whose: String, error: TlsError) -> StartError {
    StartError::Tls { whose, error }
}

fn tell(kind: &str, name: &str, refreshed: Result<bool, TlsError>) {
    match refreshed {
        Ok(false) => {}
        Ok(true) => tracing::info!("{kind} {name:?}: new TLS files are in force"),
        Err(error) => {
            tracing::warn!("{kind} {name:?}: {error}; the TLS files before stay in force");
        }
    }
}

/// Looks for files that have been replaced, on and on.
pub(crate) async fn follow_files(plan: &Published<Plan>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let plan = plan.load();
        // A file system may take its time. A panic there is told by the log, and no reason to stop.
        let _ = tokio::task::spawn_blocking(move || plan.tls.refresh(&plan.config)).await;
    }
}
