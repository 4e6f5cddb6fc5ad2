//! What is right alone and wrong together.

use std::net::SocketAddr;

use super::listener::PlacedListener;
use super::process::PlacedAdmin;
use crate::raw::walk::Walk;
use crate::value::address::{Address, parse_address};
use crate::{Cluster, Mistake};

/// Names and addresses belong to one listener each.
pub(super) fn listeners(
    walk: &mut Walk<'_>,
    listeners: &[PlacedListener],
    admin: Option<&PlacedAdmin>,
) {
    for (index, placed) in listeners.iter().enumerate() {
        let others = &listeners[..index];
        let same_address = others.iter().find(|other| shares_address(placed, other));
        match same_address {
            Some(other) => address_twice(walk, placed, other),
            None => name_twice(walk, placed, others),
        }
    }
    let Some(admin) = admin.filter(|admin| admin.admin.address.port() != 0) else {
        return;
    };
    let address = admin.admin.address;
    let collides = |placed: &&PlacedListener| {
        let listener = placed.listener.address.ip();
        listener.is_some_and(|listener| collide(listener, address))
    };
    let taken = listeners.iter().find(collides);
    if let Some((taken, at)) = taken.and_then(|taken| Some((taken, taken.address_at.clone()?))) {
        let listener = &taken.listener.address;
        let message = match listener.ip() == Some(address) {
            true => format!("the listener has the address {address} of the admin API"),
            false => format!("the listener on {listener} collides with the admin API on {address}"),
        };
        let help = "give one of them another port";
        walk.conflict(
            at,
            Mistake::new(message, help),
            admin.at.clone(),
            "the admin API",
        );
    }
}

fn shares_address(one: &PlacedListener, other: &PlacedListener) -> bool {
    let both = one.address_at.is_some() && other.address_at.is_some();
    let (one, other) = (&one.listener.address, &other.listener.address);
    both && match (one.ip(), other.ip()) {
        (Some(one), Some(other)) => collide(one, other),
        _ => one == other,
    }
}

/// Whether only one of two addresses can be bound: they are the same, or one is every address of the
/// host, which for IPv6 is those of IPv4 too. A port that is picked free collides with none.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let takes = |all: SocketAddr, one: SocketAddr| {
        all.ip().is_unspecified() && (all.is_ipv6() || one.is_ipv4())
    };
    let same_port = one.port() != 0 && one.port() == other.port();
    same_port && (one.ip() == other.ip() || takes(one, other) || takes(other, one))
}

fn address_twice(walk: &mut Walk<'_>, placed: &PlacedListener, other: &PlacedListener) {
    let (Some(at), Some(first)) = (placed.address_at.clone(), other.address_at.clone()) else {
        return;
    };
    let (address, before) = (&placed.listener.address, &other.listener.address);
    let line = walk.line(first.start);
    let message = match address == before {
        true => format!("two listeners have the address {address}, the first on line {line}"),
        false => format!("the address {address} collides with {before} on line {line}"),
    };
    let help = "give one of them another port or path";
    walk.conflict(at, Mistake::new(message, help), first, "the first one");
}

fn name_twice(walk: &mut Walk<'_>, placed: &PlacedListener, others: &[PlacedListener]) {
    let place =
        |placed: &PlacedListener| placed.name_at.clone().or_else(|| placed.address_at.clone());
    let name = &placed.listener.name;
    let other = others.iter().find(|other| other.listener.name == *name);
    if let (Some(at), Some(first)) = (place(placed), other.and_then(place)) {
        let line = walk.line(first.start);
        let message = format!("two listeners have the name {name:?}, the first on line {line}");
        let help = "give each a `name` of its own, or none";
        walk.conflict(at, Mistake::new(message, help), first, "the first one");
    }
}

/// An endpoint that is a listener of this gateway sends its requests round and round.
pub(super) fn circles(walk: &mut Walk<'_>, listeners: &[PlacedListener], clusters: &[Cluster]) {
    for placed in listeners {
        let (Some(address), Some(at)) = (placed.listener.address.ip(), &placed.address_at) else {
            continue;
        };
        let endpoints = clusters.iter().flat_map(|cluster| &cluster.endpoints);
        for endpoint in endpoints {
            if !reaches(endpoint.address(), address) {
                continue;
            }
            let message = format!(
                "the listener on {address} is endpoint {:?} of this gateway: requests may go round",
                endpoint.id()
            );
            let help = "give the endpoint the address of a server behind this gateway";
            walk.warning(at.clone(), Mistake::new(message, help));
        }
    }
}

/// Whether a connection to this address of an endpoint ends at a listener on this one.
fn reaches(endpoint: &str, listener: SocketAddr) -> bool {
    let Ok(Address::Ip(endpoint)) = parse_address(endpoint) else {
        return false;
    };
    let everywhere = listener.ip().is_unspecified() && endpoint.ip().is_loopback();
    endpoint.port() == listener.port() && (endpoint.ip() == listener.ip() || everywhere)
}

/// Clusters that listeners and their routes name exist.
pub(super) fn clusters(walk: &mut Walk<'_>, listeners: &[PlacedListener], clusters: &[Cluster]) {
    for (name, at) in listeners.iter().flat_map(|placed| &placed.clusters) {
        if clusters.iter().any(|cluster| cluster.name == *name) {
            continue;
        }
        let known = clusters.iter().map(|cluster| &*cluster.name);
        let hint = evenkeel_core::did_you_mean(name, known.clone());
        let message = format!("there is no cluster {name:?}{hint}");
        let known: Vec<&str> = known.take(20).collect();
        let help = if known.is_empty() {
            format!("add [cluster.{name}] with endpoints = [\"127.0.0.1:9001\"]")
        } else {
            format!("known are {}", known.join(", "))
        };
        walk.error(at.clone(), Mistake::new(message, help));
    }
}
