//! Listeners.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

use toml::de::DeValue;

use super::capacity::RouteTimeout;
use super::route::{Named, Sight, routes};
use super::tls;
use crate::model::listener::{Limits, Listener, Protocol};
use crate::raw::descend::Sub;
use crate::raw::kind::Kind;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::network::parse_network;
use crate::{ListenAddress, Mistake, Network};

/// A listener with the places that may contradict others.
pub(super) struct PlacedListener {
    pub(super) listener: Listener,
    /// Where its name is, if it has one of its own.
    pub(super) name_at: Option<Range<usize>>,
    /// Where its address is, if it is one.
    pub(super) address_at: Option<Range<usize>>,
    /// The clusters that it and its routes name.
    pub(super) clusters: Vec<Named>,
    /// The timeouts of its routes.
    pub(super) timeouts: Vec<RouteTimeout>,
}

pub(super) fn listeners(walk: &mut Walk<'_>, top: &Section<'_>) -> Vec<PlacedListener> {
    let sections = walk.tables(top, "listener");
    if sections.is_empty() && !top.has("listener") {
        let help = "write [[listener]] with address = \"127.0.0.1:8080\" and cluster = \"web\" \
                    below it";
        walk.error(0..0, Mistake::new("there is no listener", help));
    }
    let mut listeners: Vec<PlacedListener> = Vec::with_capacity(sections.len());
    for section in &sections {
        let mut placed = listener(walk, section);
        if placed.name_at.is_none() && placed.listener.address.is_open() {
            tell_apart(&mut placed.listener, &listeners);
        }
        listeners.push(placed);
    }
    listeners
}

/// Two listeners on port 0 become two addresses, but have one name before they are bound.
fn tell_apart(listener: &mut Listener, others: &[PlacedListener]) {
    let taken = |name: &str| others.iter().any(|other| &*other.listener.name == name);
    let free = (2..).map(|number| format!("{}#{number}", listener.address));
    if taken(&listener.name)
        && let Some(name) = free.into_iter().find(|name| !taken(name))
    {
        listener.name = name.into();
    }
}

fn listener(walk: &mut Walk<'_>, section: &Section<'_>) -> PlacedListener {
    let at = |key: &str| section.get(key).map(|entry| entry.value.span());
    let address = address(walk, section);
    let name = walk.name(section, "name");
    let protocol = match walk.word(section, "protocol") {
        Some("tcp") => Protocol::Tcp,
        _ => Protocol::Http,
    };
    let half_close = walk.word(section, "half_close") != Some("cancel");
    let cluster = section.get("cluster").and_then(|entry| walk.string(&entry));
    let cluster: Option<Arc<str>> = cluster.as_deref().map(Arc::from);
    let name_at = at("name").filter(|_| name.is_some());
    let address_at = at("address").filter(|_| address.is_some());
    let mut clusters: Vec<Named> = cluster.clone().zip(at("cluster")).into_iter().collect();
    let is_tcp = protocol == Protocol::Tcp;
    let sight = Sight {
        is_tcp,
        ends_tls: section.has("tls"),
    };
    if is_tcp && !section.has("cluster") && !section.has("route") {
        let help = "add cluster = \"NAME\"";
        let mistake = Mistake::new("a TCP listener without a cluster leads nowhere", help);
        walk.error(section.span.clone(), mistake);
    }
    let mut timeouts = Vec::new();
    let mut listener = Listener {
        protocol,
        tls: tls::listener(walk, section),
        proxy_protocol: walk.flag(section, "proxy_protocol").unwrap_or(false),
        cluster,
        routes: routes(walk, section, sight, &mut clusters, &mut timeouts),
        half_close,
        limits: limits(walk, section),
        ..Listener::new(address.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()))
    };
    if let Some(name) = name {
        listener.name = name.into();
    }
    (listener.trusted_proxies, listener.trusts_unix) = trusted(walk, section);
    PlacedListener {
        listener,
        name_at,
        address_at,
        clusters,
        timeouts,
    }
}

fn address(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<ListenAddress> {
    let Some(entry) = section.get("address") else {
        let help = "add address = \"127.0.0.1:8080\", or \"0.0.0.0:8080\" for every address";
        let mistake = Mistake::new("the listener has no address", help);
        walk.error(section.span.clone(), mistake);
        return None;
    };
    walk.parsed(&entry, str::parse::<ListenAddress>)
}

fn limits(walk: &mut Walk<'_>, section: &Section<'_>) -> Limits {
    let default = Limits::default();
    let Sub::Table(section) = walk.table(section, "limits") else {
        return default;
    };
    let header_bytes = walk.size(&section, "header_bytes").flatten();
    let headers = walk.integer(&section, "headers");
    Limits {
        connections: walk
            .integer(&section, "connections")
            .unwrap_or(default.connections),
        header_bytes: header_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(default.header_bytes),
        headers: headers
            .and_then(|headers| u16::try_from(headers).ok())
            .unwrap_or(default.headers),
        body: walk.size(&section, "body").unwrap_or(default.body),
        body_rate: rate(walk, &section),
        header_timeout: walk
            .duration(&section, "header_timeout")
            .unwrap_or(default.header_timeout),
        idle_timeout: walk
            .duration(&section, "idle_timeout")
            .unwrap_or(default.idle_timeout),
        streams: walk.integer(&section, "streams").unwrap_or(default.streams),
    }
}

fn rate(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<u64> {
    let entry = section.get("body_rate")?;
    match entry.value.get_ref() {
        DeValue::Boolean(false) => None,
        _ => walk.size(section, "body_rate").flatten(),
    }
}

/// The networks that are believed, and whether peers on unix sockets are.
fn trusted(walk: &mut Walk<'_>, section: &Section<'_>) -> (Vec<Network>, bool) {
    let Some(entry) = section.get("trusted_proxies") else {
        return (Vec::new(), false);
    };
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return (Vec::new(), false);
    };
    let is_unix = |value: &toml::Spanned<DeValue<'_>>| matches!(value.get_ref(), DeValue::String(text) if text == UNIX);
    let network = |value| walk.parsed(&entry.element(value, Kind::Network), parse_network);
    let networks = list.iter().filter(|value| !is_unix(value));
    (
        networks.filter_map(network).collect(),
        list.iter().any(is_unix),
    )
}

/// Peers on unix sockets, among networks.
const UNIX: &str = "unix:";
