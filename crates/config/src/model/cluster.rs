//! Sets of endpoints with one strategy and its policies.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::health::{HealthPolicy, OutlierPolicy, SlowStart};
use evenkeel_core::{Endpoint, LabelSelector, PanicThreshold, SubsetMethod, WeightRules};

use super::capacity::{Capacity, Peak};
use super::discovery::Discovery;
use super::hash::KeyRules;
use super::health::HealthCheck;
use super::retry::Retry;
use super::strategy_choice::StrategyChoice;
use super::tls::ClusterTls;

/// A set of endpoints with one strategy and its policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Its name, unique.
    pub name: Arc<str>,
    /// How an endpoint is chosen.
    pub strategy: StrategyChoice,
    /// The endpoints, in the order of the file, with the cluster's capacity where they have none of
    /// their own. Ids are unique; there may be none.
    pub endpoints: Vec<Endpoint>,
    /// Where more endpoints come from while the gateway runs; none: nowhere.
    pub discovery: Option<Discovery>,
    /// Below which share of healthy endpoints all of them are used.
    pub panic: PanicThreshold,
    /// How endpoints are spoken to over TLS; none: in the clear.
    pub tls: Option<ClusterTls>,
    /// Endpoints speak HTTP/2.
    pub http2: bool,
    /// The PROXY header that endpoints are sent first; none: none.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// How endpoints are checked; none: not at all.
    pub health: Option<HealthCheck>,
    /// When endpoints are ejected for what their requests come to; none: never.
    pub outlier: Option<OutlierPolicy>,
    /// How endpoints warm up that join or return; none: not at all.
    pub slow_start: Option<SlowStart>,
    /// What is taken for the key of a request.
    pub keys: KeyRules,
    /// The labels that routes ask for, each once, in the order of the file.
    pub views: Vec<LabelSelector>,
    /// Which endpoints of each tier are left to this gateway; none: all.
    pub subset: Option<SubsetRules>,
    /// How much an endpoint takes at once; none: no limit.
    pub capacity: Option<Capacity>,
    /// How weights follow what endpoints say; none: they do not.
    pub dynamic_weights: Option<DynamicWeights>,
    /// What is tried again.
    pub retry: Retry,
    /// How long endpoints may take.
    pub timeout: Timeouts,
    /// The cookie that keeps a client at its endpoint; none: no affinity.
    pub sticky: Option<Sticky>,
    /// Strategies that are evaluated beside the live one; their names differ.
    pub shadow: Vec<StrategyChoice>,
}

impl Cluster {
    /// A cluster without endpoints, with defaults in all things.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            strategy: StrategyChoice::default(),
            endpoints: Vec::new(),
            discovery: None,
            panic: PanicThreshold::default(),
            tls: None,
            http2: false,
            proxy_protocol: None,
            health: None,
            outlier: Some(OutlierPolicy::default()),
            slow_start: Some(SlowStart::default()),
            keys: KeyRules::default(),
            views: Vec::new(),
            subset: None,
            capacity: None,
            dynamic_weights: None,
            retry: Retry::default(),
            timeout: Timeouts::default(),
            sticky: None,
            shadow: Vec::new(),
        }
    }

    /// What is held against endpoints.
    #[must_use]
    pub fn health_policy(&self) -> HealthPolicy {
        HealthPolicy {
            active: self.health.as_ref().map(|check| check.policy),
            outlier: self.outlier,
            slow_start: self.slow_start,
        }
    }

    /// The endpoint with what this cluster sets for all of its endpoints, where it says nothing
    /// itself. For endpoints that come while the gateway runs.
    #[must_use]
    pub fn adopt(&self, endpoint: Endpoint) -> Endpoint {
        match (
            endpoint.capacity(),
            self.capacity.map(|capacity| capacity.peak),
        ) {
            (None, Some(Peak::Requests(peak))) => endpoint.with_capacity(peak),
            _ => endpoint,
        }
    }
}

/// A version of the PROXY header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// Which endpoints of a large cluster are left to this gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubsetRules {
    /// How many of each tier.
    pub size: u32,
    /// By what they are chosen.
    pub method: SubsetMethod,
}

/// The cookie that keeps a client at its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// Its name, a token.
    pub cookie: Arc<str>,
}

/// How weights follow what endpoints say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicWeights {
    /// The law, and its times.
    pub rules: WeightRules,
    /// How often they are worked out.
    pub interval: Duration,
    /// Where reports come from.
    pub report: ReportSource,
}

impl Default for DynamicWeights {
    fn default() -> Self {
        Self {
            rules: WeightRules::default(),
            interval: Duration::from_secs(1),
            report: ReportSource::Orca,
        }
    }
}

/// Where reports of load come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportSource {
    /// The field `endpoint-load-metrics` of answers.
    Orca,
    /// The bodies of answers to health checks.
    Health,
    /// The lines of the agents beside endpoints.
    Agent,
}

/// How long endpoints may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To make a connection.
    pub connect: Duration,
    /// From the request to the head of the answer.
    pub response: Duration,
    /// Without a byte in either direction.
    pub idle: Duration,
    /// A pooled connection without a request; zero: none is kept.
    pub pool_idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(1),
            response: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            pool_idle: Duration::from_secs(30),
        }
    }
}
