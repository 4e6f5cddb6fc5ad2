//! What workers see of a cluster.

use std::sync::Arc;

use evenkeel_config as config;
use evenkeel_core::{Nanos, Snapshot};

use super::target::Target;

/// One published version of a cluster: all that forwarding a request needs to know.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) snapshot: Snapshot,
    /// In the order of the snapshot's endpoints.
    pub(crate) targets: Box<[Arc<Target>]>,
    pub(crate) policies: Policies,
}

/// How requests of a cluster are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// Tries in all, each on another endpoint; 1 is no retries.
    pub attempts: u8,
    /// For a connection to stand.
    pub connect_timeout: Nanos,
    /// From the request's last byte to the end of the response's head.
    pub response_timeout: Nanos,
    /// Without a byte in either direction of a body.
    pub idle_timeout: Nanos,
    /// For a connection without a request.
    pub pool_idle_timeout: Nanos,
}

impl From<&config::Cluster> for Policies {
    fn from(cluster: &config::Cluster) -> Self {
        let nanos = |span: std::time::Duration| Nanos(span.as_nanos() as u64);
        let (retry, timeout) = (&cluster.retry, &cluster.timeout);
        Self {
            attempts: if retry.on.connect { retry.attempts } else { 1 },
            connect_timeout: nanos(timeout.connect),
            response_timeout: nanos(timeout.response),
            idle_timeout: nanos(timeout.idle),
            pool_idle_timeout: nanos(timeout.pool_idle),
        }
    }
}
