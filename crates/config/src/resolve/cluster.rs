//! Clusters.

use std::ops::Range;
use std::sync::Arc;

use evenkeel_core::{Endpoint, PanicThreshold, SubsetMethod};

use super::{
    capacity, discovery, endpoint, hash, health, health_warnings, http2, retry, strategy, tls,
    weights,
};
use crate::Mistake;
use crate::model::cluster::{Cluster, ProxyProtocol, Sticky, SubsetRules, Timeouts};
use crate::model::listener::Listener;
use crate::model::route::Action;
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::field::is_token;
use crate::value::text::check_name;

/// The name of a cookie that has none of its own.
const COOKIE: &str = "ek";

/// The size of a subset that does not say it.
const SUBSET: u32 = 20;

pub(super) fn clusters(walk: &mut Walk<'_>, top: &Section<'_>, has_fleet: bool) -> Vec<Cluster> {
    let named = walk.named(top, "cluster");
    let resolve = |(name, section): &(&toml::Spanned<_>, Section<'_>)| {
        let chosen: &str = AsRef::<str>::as_ref(name.get_ref());
        if let Err(mistake) = check_name(chosen) {
            let message = format!("cluster: {}", mistake.message);
            walk.error(name.span(), Mistake::new(message, mistake.help));
        }
        let cluster = cluster(walk, chosen.into(), name.span(), section);
        if !has_fleet {
            warn_alone(walk, section, cluster.subset);
        }
        cluster
    };
    named.iter().map(resolve).collect()
}

fn cluster(
    walk: &mut Walk<'_>,
    name: Arc<str>,
    at: Range<usize>,
    section: &Section<'_>,
) -> Cluster {
    let endpoints = endpoint::endpoints(walk, section, &name);
    if let Some(endpoints) = &endpoints
        && !section.has("discovery")
    {
        warn_idle(walk, section, at, endpoints);
    }
    let all = endpoints.as_deref().unwrap_or_default();
    let mut cluster = policies(walk, name, section, all);
    let endpoints = endpoints.unwrap_or_default().into_iter();
    cluster.endpoints = endpoints.map(|endpoint| cluster.adopt(endpoint)).collect();
    health_warnings::warn(walk, section, &cluster);
    http2::check(walk, section, &cluster);
    cluster
}

/// A cluster without its endpoints.
pub(super) fn policies(
    walk: &mut Walk<'_>,
    name: Arc<str>,
    section: &Section<'_>,
    endpoints: &[Endpoint],
) -> Cluster {
    let is_http2 = walk.word(section, "protocol") == Some("http2");
    let timeout = timeout(walk, section);
    let strategy = strategy::strategy(walk, section).unwrap_or_default();
    let health = health::health(walk, section);
    let dynamic_weights = weights::dynamic_weights(walk, section, &strategy, health.as_ref());
    Cluster {
        tls: tls::cluster(walk, section),
        http2: is_http2,
        proxy_protocol: proxy_protocol(walk, section),
        keys: hash::keys(walk, section, &strategy),
        subset: subset(walk, section),
        panic: panic(walk, section),
        health,
        outlier: health::outlier(walk, section),
        slow_start: health::slow_start(walk, section),
        capacity: capacity::capacity(walk, section, endpoints, &strategy, &timeout),
        dynamic_weights,
        retry: retry::retry(walk, section, &timeout),
        timeout,
        sticky: sticky(walk, section),
        shadow: strategy::shadows(walk, section),
        discovery: discovery::discovery(walk, section, &name),
        strategy,
        ..Cluster::new(name)
    }
}

/// Notes in the clusters of a listener's routes what labels they ask for: a cluster works out
/// beforehand whom each of them means.
pub(super) fn add_views(clusters: &mut [Cluster], listener: &Listener) {
    for route in &listener.routes {
        let Action::Forward(forward) = &route.action else {
            continue;
        };
        let Some(labels) = &forward.labels else {
            continue;
        };
        let named = |cluster: &&mut Cluster| {
            let mut names = forward.clusters.iter().map(|(name, _)| name);
            names.any(|name| *name == cluster.name)
        };
        for cluster in clusters.iter_mut().filter(named) {
            if !cluster.views.contains(labels) {
                cluster.views.push(labels.clone());
            }
        }
    }
}

/// Warns of clusters that answer every request with 503.
fn warn_idle(walk: &mut Walk<'_>, section: &Section<'_>, at: Range<usize>, all: &[Endpoint]) {
    let path = &section.path;
    let written = section.get("endpoints");
    if all.is_empty() {
        let message = format!("{path} has no endpoints: its requests get 503");
        let help = "add endpoints = [\"127.0.0.1:9001\"], or add them through the admin API";
        walk.warning(
            written.map_or(at, |entry| entry.span),
            Mistake::new(message, help),
        );
    } else if all.iter().all(|endpoint| endpoint.weight() == 0) {
        let message = format!("all endpoints of {path} have weight 0: its requests get 503");
        let help = "weight 0 takes no new requests; give one of them a weight of 1";
        walk.warning(
            written.map_or(at, |entry| entry.span),
            Mistake::new(message, help),
        );
    }
}

fn proxy_protocol(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<ProxyProtocol> {
    Some(match walk.word(section, "proxy_protocol")? {
        "v1" => ProxyProtocol::V1,
        _ => ProxyProtocol::V2,
    })
}

fn panic(walk: &mut Walk<'_>, section: &Section<'_>) -> PanicThreshold {
    let share = match walk.table(section, "panic") {
        Sub::Table(section) => walk.share(&section, "threshold"),
        Sub::Off => return PanicThreshold::OFF,
        Sub::Absent => None,
    };
    let threshold = share.and_then(|share| PanicThreshold::new(share).ok());
    threshold.unwrap_or_default()
}

fn subset(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<SubsetRules> {
    let Sub::Table(section) = walk.table(section, "subset") else {
        return None;
    };
    let method = walk.word(&section, "method").and_then(SubsetMethod::named);
    Some(SubsetRules {
        size: walk.integer(&section, "size").unwrap_or(SUBSET),
        method: method.unwrap_or_default(),
    })
}

/// Warns of subsets that need a fleet and have none.
fn warn_alone(walk: &mut Walk<'_>, section: &Section<'_>, subset: Option<SubsetRules>) {
    let method = subset.unwrap_or_default().method;
    let Some(entry) = section.get("subset") else {
        return;
    };
    if method != SubsetMethod::Rendezvous {
        let message = format!(
            "{}.method = \"{}\" needs to know the other gateways: without [fleet] it is \"rendezvous\"",
            entry.subject,
            method.as_str()
        );
        let help = "add [fleet] with etcd = [\"http://127.0.0.1:2379\"]";
        walk.warning(entry.span, Mistake::new(message, help));
    }
}

fn timeout(walk: &mut Walk<'_>, section: &Section<'_>) -> Timeouts {
    let default = Timeouts::default();
    let Sub::Table(section) = walk.table(section, "timeout") else {
        return default;
    };
    Timeouts {
        connect: walk
            .duration(&section, "connect")
            .unwrap_or(default.connect),
        response: walk
            .duration(&section, "response")
            .unwrap_or(default.response),
        idle: walk.duration(&section, "idle").unwrap_or(default.idle),
        pool_idle: walk
            .duration(&section, "pool_idle")
            .unwrap_or(default.pool_idle),
    }
}

fn sticky(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Sticky> {
    let Sub::Table(section) = walk.table(section, "sticky") else {
        return None;
    };
    let entry = section.get("cookie");
    let cookie = entry.and_then(|entry| walk.parsed(&entry, check_cookie));
    Some(Sticky {
        cookie: cookie.unwrap_or_else(|| COOKIE.into()),
    })
}

fn check_cookie(text: &str) -> Result<Arc<str>, Mistake> {
    let shown: String = text.chars().take(40).collect();
    if !is_token(text) {
        let message = format!("{shown:?} is not the name of a cookie");
        return Err(Mistake::new(
            message,
            "letters, digits, \"-\" and \"_\", like \"ek\"",
        ));
    }
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("__host-") || lower.starts_with("__secure-") {
        let message = format!("browsers take the cookie {shown:?} over TLS only");
        return Err(Mistake::new(message, "leave the prefix out"));
    }
    Ok(text.into())
}
