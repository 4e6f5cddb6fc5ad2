//! What workers see of a cluster.

use std::sync::{Arc, OnceLock};

use evenkeel_config as config;
use evenkeel_core::{Nanos, QueuePolicy, RetryRules, Snapshot};
use evenkeel_preface::ProxyVersion;

use super::shadow::{ShadowViews, Shadows};
use super::target::Target;
use crate::affinity::{Sticky, Tags};
use crate::decision::Asides;
use crate::key::KeyReader;
use crate::report::Listens;
use crate::tls::ClientTls;

/// One published version of a cluster: all that forwarding a request needs to know.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) snapshot: Snapshot,
    /// In the order of the snapshot's endpoints.
    pub(crate) targets: Box<[Arc<Target>]>,
    pub(crate) policies: Policies,
    /// The names of the endpoints in cookies, where the cluster has affinity.
    pub(crate) tags: Option<Tags>,
    /// Whether load reports in the heads of answers are read.
    pub(crate) to_reports: bool,
    /// What the key of a request is, where the strategy chooses by key.
    pub(crate) keys: Option<KeyReader>,
    /// Strategies that are evaluated beside the live one, if there are any.
    pub(crate) shadows: Option<ShadowViews>,
    /// Who could get nothing, once somebody keeps a receipt.
    pub(crate) asides: OnceLock<Arc<Asides>>,
}

impl View {
    /// With the shadows that go with it. Where one of them chooses by key, requests have keys.
    pub(super) fn with_shadows(mut self, shadows: Option<&mut Shadows>) -> Self {
        self.shadows = shadows.map(|shadows| shadows.follow(&self.snapshot));
        let snapshots = self.shadows.iter().flat_map(|shadows| &shadows.snapshots);
        let mut strategies = snapshots.map(Snapshot::strategy);
        if self.keys.is_none() {
            let sources = &self.policies.key_sources;
            self.keys = strategies.find_map(|strategy| KeyReader::new(&**strategy, sources));
        }
        self
    }
}

/// How requests of a cluster are carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// What is tried again.
    pub retry: RetryRules,
    /// For a connection to stand.
    pub connect_timeout: Nanos,
    /// From the request's last byte to the end of the response's head, over all tries.
    pub response_timeout: Nanos,
    /// Without a byte in either direction of a body.
    pub idle_timeout: Nanos,
    /// For a connection without a request.
    pub pool_idle_timeout: Nanos,
    /// How they are spoken to over TLS.
    pub(crate) tls: Option<Arc<ClientTls>>,
    /// Endpoints are sent streams of HTTP/2.
    pub http2: bool,
    /// The PROXY header that endpoints are sent first.
    pub proxy_protocol: Option<ProxyVersion>,
    /// What is to be heard of endpoints.
    pub(crate) listens: Listens,
    /// After how many failures in a row an endpoint is accused.
    pub(crate) failures_max: Option<u32>,
    /// Whether latencies of attempts are kept apart, to eject by them.
    pub(crate) times_attempts: bool,
    /// Who waits when all endpoints are full, if anybody does.
    pub queue: Option<QueuePolicy>,
    /// How much endpoints take at once is learned.
    pub(crate) learns_caps: bool,
    /// How clients are kept at their endpoints.
    pub(crate) sticky: Option<Sticky>,
    /// Where the keys of requests come from.
    pub(crate) key_sources: Arc<[config::KeySource]>,
}

impl Policies {
    pub(super) fn new(cluster: &config::Cluster, tls: Option<Arc<ClientTls>>) -> Self {
        let sticky = cluster.sticky.as_ref();
        let timeout = &cluster.timeout;
        Self {
            retry: cluster.retry.rules(),
            connect_timeout: timeout.connect.into(),
            response_timeout: timeout.response.into(),
            idle_timeout: timeout.idle.into(),
            // One that was opened for a client says who that is, and is of no use to others.
            pool_idle_timeout: match cluster.proxy_protocol {
                None => timeout.pool_idle.into(),
                Some(_) => Nanos(0),
            },
            tls,
            http2: cluster.http2,
            proxy_protocol: cluster.proxy_protocol.map(|version| match version {
                config::ProxyProtocol::V1 => ProxyVersion::V1,
                config::ProxyProtocol::V2 => ProxyVersion::V2,
            }),
            listens: Listens::from(cluster.dynamic_weights.as_ref()),
            failures_max: cluster.outlier.map(|outlier| outlier.consecutive_failures),
            times_attempts: cluster
                .outlier
                .is_some_and(|outlier| outlier.latency_factor.is_some()),
            queue: cluster.capacity.and_then(|capacity| capacity.queue),
            learns_caps: cluster
                .capacity
                .is_some_and(|capacity| capacity.peak == config::Peak::Learned),
            sticky: sticky.map(|sticky| Sticky::new(&cluster.name, sticky)),
            key_sources: cluster.keys.sources.as_slice().into(),
        }
    }
}
