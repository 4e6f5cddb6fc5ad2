//! The gateway of the demo, and its admin API.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use evenkeel_admin::Reloader;
use evenkeel_config::{
    Cluster, Config, DecisionLog, KeySource, Listener, Log, Runtime, StrategyChoice,
};
use evenkeel_gateway::{Control, Gateway, StartError};
use tokio::net::TcpListener;

use super::Plan;
use super::fleet::Fleet;
use super::load::USER;
use crate::exit::Failure;
use crate::serving::{AdminServer, bind_admin};

/// Where the gateway listens unless told otherwise.
pub(super) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Where the admin API listens unless told otherwise.
pub(super) const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9900);

/// What is evaluated beside the live strategy, unless it is that.
const SHADOWS: [&str; 3] = ["least_request", "round_robin", "peak_ewma"];

/// Some free port.
const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The running gateway.
pub(super) struct Stage {
    gateway: Gateway,
    control: Control,
    admin: AdminServer,
}

impl Stage {
    /// Starts it. A usual port that is busy is replaced by a free one; one that was asked for is not.
    pub(super) async fn set(plan: &Plan, fleet: &Fleet, seed: u64) -> Result<Self, Failure> {
        let admin = match plan.admin {
            Some(address) => bind_admin(address).await?,
            None => match TcpListener::bind(ADMIN).await {
                Ok(listener) => listener,
                Err(_) => bind_admin(ANY).await?,
            },
        };
        let config = |address| config(plan, fleet, address);
        let gateway = match plan.listen {
            Some(address) => Gateway::start(&config(address), seed).await,
            None => match Gateway::start(&config(LISTEN), seed).await {
                Err(StartError::Bind { error, .. }) if error.kind() == ErrorKind::AddrInUse => {
                    Gateway::start(&config(ANY), seed).await
                }
                other => other,
            },
        };
        let gateway = gateway.map_err(Failure::runtime)?;
        let control = gateway.control();
        Ok(Self {
            admin: AdminServer::start_with(
                admin,
                Reloader::without_file(control.clone()),
                None,
                super::moods::calls(fleet),
            )?,
            gateway,
            control,
        })
    }

    /// Sees and steers the gateway.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// Where the gateway listens.
    pub(super) fn address(&self) -> SocketAddr {
        let listeners = self.control.listeners();
        let first = listeners.first();
        first
            .and_then(|listener| listener.address().ip())
            .unwrap_or(LISTEN)
    }

    /// Where its admin API listens.
    pub(super) fn admin(&self) -> SocketAddr {
        self.admin.address()
    }

    /// Ends it.
    pub(super) async fn clear(self) {
        self.gateway.stop().await;
    }
}

fn config(plan: &Plan, fleet: &Fleet, address: SocketAddr) -> Config {
    let mut cluster = Cluster::new("demo");
    cluster.strategy = plan.strategy.clone();
    cluster.endpoints = fleet.endpoints();
    cluster.keys.sources = vec![KeySource::Header(USER.into()), KeySource::SourceIp];
    // So that the page can tell which one would be better.
    let live = plan.strategy.build().descriptor().name;
    let others = SHADOWS.iter().filter(|name| **name != live);
    cluster.shadow = others
        .filter_map(|name| StrategyChoice::new(name, &[]).ok())
        .collect();
    Config {
        admin: None,
        log: Log {
            // Whatever a newcomer asks about has a receipt, for a minute.
            decision: Some(DecisionLog {
                sample: 1.0,
                keep: 30_000,
                ..DecisionLog::default()
            }),
            ..Log::default()
        },
        runtime: Runtime::default(),
        fleet: None,
        notify: Vec::new(),
        listeners: vec![Listener {
            name: "demo".into(),
            cluster: Some(cluster.name.clone()),
            ..Listener::new(address)
        }],
        clusters: vec![cluster],
    }
}
