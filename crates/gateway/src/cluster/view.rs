//! What workers see of a cluster.

use std::sync::Arc;

use evenkeel_config as config;
use evenkeel_core::{Nanos, Snapshot};

use super::target::Target;
use crate::affinity::{Sticky, Tags};

/// One published version of a cluster: all that forwarding a request needs to know.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) snapshot: Snapshot,
    /// In the order of the snapshot's endpoints.
    pub(crate) targets: Box<[Arc<Target>]>,
    pub(crate) policies: Policies,
    /// The names of the endpoints in cookies, where the cluster has affinity.
    pub(crate) tags: Option<Tags>,
}

/// How requests of a cluster are carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// What is tried again.
    pub retry: RetryRules,
    /// For a connection to stand.
    pub connect_timeout: Nanos,
    /// From the request's last byte to the end of the response's head.
    pub response_timeout: Nanos,
    /// Without a byte in either direction of a body.
    pub idle_timeout: Nanos,
    /// For a connection without a request.
    pub pool_idle_timeout: Nanos,
    /// How clients are kept at their endpoints.
    pub(crate) sticky: Option<Sticky>,
}

impl Policies {
    /// How long the head of an answer may take, for one try; a route may say it for its requests.
    #[inline]
    pub(crate) fn patience(&self, route: Option<Nanos>) -> Nanos {
        let most = route.unwrap_or(self.response_timeout);
        self.retry
            .per_try_timeout
            .map_or(most, |try_| most.min(try_))
    }
}

/// What is tried again, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRules {
    /// Tries in all, each on another endpoint; 1 is no retries.
    pub attempts: u8,
    /// After a connection that could not be made, for every method.
    pub connect: bool,
    /// After one that ended before a byte of the answer, for idempotent methods.
    pub reset: bool,
    /// After the time for one try, for idempotent methods.
    pub timeout: bool,
    /// After these statuses, both ends included, for idempotent methods.
    pub statuses: Vec<(u16, u16)>,
    /// The most bytes of a body that are kept to be sent again.
    pub body: usize,
    /// From the request's last byte to the answer's head, for one try.
    pub per_try_timeout: Option<Nanos>,
}

impl RetryRules {
    /// Whether an answer of this status stands for another try.
    #[inline]
    #[must_use]
    pub fn lists(&self, status: u16) -> bool {
        self.statuses
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&status))
    }
}

impl From<&config::Cluster> for Policies {
    fn from(cluster: &config::Cluster) -> Self {
        let sticky = cluster.sticky.as_ref();
        let (retry, timeout) = (&cluster.retry, &cluster.timeout);
        Self {
            retry: RetryRules {
                attempts: retry.attempts,
                connect: retry.on.connect,
                reset: false,
                timeout: false,
                statuses: Vec::new(),
                body: 0,
                per_try_timeout: None,
            },
            connect_timeout: timeout.connect.into(),
            response_timeout: timeout.response.into(),
            idle_timeout: timeout.idle.into(),
            pool_idle_timeout: timeout.pool_idle.into(),
            sticky: sticky.map(|sticky| Sticky::new(&cluster.name, sticky)),
        }
    }
}
