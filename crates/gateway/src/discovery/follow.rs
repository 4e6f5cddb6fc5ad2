//! One source: asked, heard, asked again when it is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use evenkeel_config::Discovery;
use evenkeel_core::{Endpoint, Nanos};
use evenkeel_discovery::{Backoff, Listing, Source, SourceError};
use tokio::time::{sleep, timeout};

use super::tell::{tell_lost, tell_offered};
use crate::clock::duration;
use crate::cluster::{Cluster, Offered};
use crate::lifecycle::Shared;
use crate::upstream::{FIRST_LOOKUP, lookup};

/// Follows the source of a cluster for ever. `place` makes gateways with many sources ask them out of step.
pub(super) async fn follow(
    shared: Arc<Shared>,
    cluster: Arc<Cluster>,
    from: Discovery,
    place: u64,
) {
    let refresh = Nanos::from(from.refresh);
    let mut backoff = Backoff::new(shared.seed ^ place.rotate_left(32));
    let mut source = loop {
        match Source::new(&from.source) {
            Ok(source) => break source,
            Err(error) => {
                tell_lost(&shared, &cluster, &from, &error);
                sleep(backoff.wait()).await;
            }
        }
    };
    let mut next_read = shared.clock.now();
    // The list is known from it, and every change since.
    let mut is_known = false;
    loop {
        let until = next_read.since(shared.clock.now());
        let (said, is_whole) = match timeout(duration(until), change(&mut source, until)).await {
            Ok(changed) => (changed, false),
            Err(_) => {
                next_read = shared.clock.now() + refresh;
                (source.read().await, true)
            }
        };
        match said {
            Ok(listing) => {
                backoff.reset();
                let offered = take_in(&shared, &cluster, &from, listing).await;
                let is_new = matches!(
                    offered,
                    Offered::Taken { is_new: true, .. } | Offered::Held { is_new: true, .. }
                );
                if is_whole && is_known && is_new && source.tells_of_changes() {
                    cluster.note_disagreement();
                }
                is_known = true;
                if matches!(offered, Offered::Held { is_new: true, .. }) {
                    // It is asked once more when a second read would be believed.
                    next_read = shared.clock.now() + refresh;
                }
            }
            Err(error) => {
                is_known = false;
                tell_lost(&shared, &cluster, &from, &error);
                sleep(backoff.wait()).await;
                next_read = shared.clock.now();
            }
        }
    }
}

/// What changes until the whole list is read again; nothing when that is due.
async fn change(source: &mut Source, until: Nanos) -> Result<Listing, SourceError> {
    if until == Nanos(0) {
        return std::future::pending().await;
    }
    source.change().await
}

/// Asks a source once.
pub(super) async fn first(shared: Arc<Shared>, cluster: Arc<Cluster>, from: Discovery) {
    let said = match Source::new(&from.source) {
        Ok(mut source) => source.read().await,
        Err(error) => Err(error),
    };
    match said {
        Ok(listing) => {
            take_in(&shared, &cluster, &from, listing).await;
        }
        Err(error) => tell_lost(&shared, &cluster, &from, &error),
    }
}

async fn take_in(
    shared: &Arc<Shared>,
    cluster: &Arc<Cluster>,
    from: &Discovery,
    listing: Listing,
) -> Offered {
    let names = new_names(cluster, &listing.endpoints).await;
    let (offered, faults) = cluster.offer(from, listing, names, shared.clock.now());
    tell_offered(shared, cluster, from, &offered, &faults);
    if matches!(offered, Offered::Taken { is_new: true, .. }) {
        // Names that were not found in time are looked up again.
        shared.resolver.ask();
        keep(shared, cluster, from).await;
    }
    offered
}

/// Where the host names lead that were not there before, as far as that is known soon.
async fn new_names(cluster: &Cluster, list: &[Endpoint]) -> BTreeMap<Arc<str>, SocketAddr> {
    let known: BTreeSet<Arc<str>> = cluster.endpoint_addresses();
    let addresses = list.iter().map(|endpoint| Arc::from(endpoint.address()));
    let new = addresses.filter(|address: &Arc<str>| !known.contains(address));
    let found = timeout(FIRST_LOOKUP, lookup(new.collect())).await;
    found.unwrap_or_default()
}

/// Keeps the good list of a cluster on disk, where that is wanted.
pub(crate) async fn keep(shared: &Shared, cluster: &Cluster, from: &Discovery) {
    let Some(store) = shared.store.clone() else {
        return;
    };
    let (name, source) = (cluster.shared_name(), from.source.to_string());
    let list = cluster.good_list();
    let save = move || store.save(&name, &source, &list);
    match tokio::task::spawn_blocking(save).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(cluster = cluster.name(), "{error}"),
        Err(error) => tracing::warn!(cluster = cluster.name(), %error, "a list was not kept"),
    }
}

/// Serves what is on disk of a cluster that has nothing yet.
pub(super) async fn serve_stored(shared: &Shared, cluster: &Cluster, from: &Discovery) {
    let Some(store) = shared.store.clone() else {
        return;
    };
    if !cluster.good_list().is_empty() {
        return;
    }
    let (name, source) = (cluster.shared_name(), from.source.to_string());
    let load = move || store.load(&name, &source);
    match tokio::task::spawn_blocking(load).await {
        Ok(Ok(Some(list))) => {
            tracing::info!(
                cluster = cluster.name(),
                endpoints = list.len(),
                "the last good list is served until its source is heard"
            );
            cluster.serve_stored(list);
        }
        Ok(Ok(None)) => {}
        Ok(Err(error)) => tracing::warn!(cluster = cluster.name(), "{error}"),
        Err(error) => tracing::warn!(cluster = cluster.name(), %error, "no list was read"),
    }
}
