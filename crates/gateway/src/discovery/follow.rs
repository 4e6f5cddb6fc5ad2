//! One source: asked, heard, asked again when it is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::{Address, Discovery, parse_address};
use evenkeel_core::{Endpoint, Nanos};
use evenkeel_discovery::{Following, Heard, Listing, Source};
use tokio::time::{Instant, sleep_until, timeout};

use super::tell::{tell_lost, tell_offered};
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
    let seed = shared.seed ^ place.rotate_left(32);
    let clock = || shared.clock.now();
    let mut source = Following::configured(&from.source, Nanos::from(from.refresh), seed);
    let mut keeping = Keeping::new();
    loop {
        let said = {
            let mut next = std::pin::pin!(source.next(clock));
            loop {
                tokio::select! {
                    said = &mut next => break said,
                    () = keeping.is_due(&cluster) => keeping.keep(&shared, &cluster, &from).await,
                }
            }
        };
        match said {
            Ok(Heard { listing, is_check }) => {
                let offered = take_in(&shared, &cluster, &from, listing).await;
                let is_new = match &offered {
                    Offered::Taken { is_new, .. } | Offered::Held { is_new, .. } => *is_new,
                    Offered::Stale => false,
                };
                if is_check && is_new {
                    cluster.note_disagreement();
                }
                if let Offered::Held { after, .. } = offered {
                    source.was_held(clock() + after);
                }
            }
            Err(error) => tell_lost(&shared, &cluster, &from, &error),
        }
    }
}

/// How often the good list of a cluster goes to disk at most: one of 10,000 takes some 10 ms of a core, and a restart
/// without the source can do with one that is a few seconds old.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// Keeps the good list of a cluster: at once after a quiet time, and else when that is over.
struct Keeping {
    next: Instant,
}

impl Keeping {
    fn new() -> Self {
        Self {
            next: Instant::now(),
        }
    }

    /// Waits until the list is to be kept; for ever as long as it is.
    async fn is_due(&self, cluster: &Cluster) {
        match cluster.has_list_to_keep() {
            true => sleep_until(self.next).await,
            false => std::future::pending().await,
        }
    }

    async fn keep(&mut self, shared: &Shared, cluster: &Cluster, from: &Discovery) {
        keep(shared, cluster, from).await;
        self.next = Instant::now() + KEEP_EVERY;
    }
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
            keep(&shared, &cluster, &from).await;
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
    }
    offered
}

/// Where the host names lead that were not there before, as far as that is known soon.
async fn new_names(cluster: &Cluster, list: &[Endpoint]) -> BTreeMap<Arc<str>, SocketAddr> {
    let is_name = |address: &&str| matches!(parse_address(address), Ok(Address::Host(..)));
    let new = cluster.unlike_listed(list);
    let names = new.into_iter().map(Endpoint::address).filter(is_name);
    let names: BTreeSet<Arc<str>> = names.map(Arc::from).collect();
    if names.is_empty() {
        // As it is with most registries, and with the longest lists.
        return BTreeMap::new();
    }
    let known: BTreeSet<Arc<str>> = cluster.endpoint_addresses();
    let new = names.difference(&known).cloned();
    let found = timeout(FIRST_LOOKUP, lookup(new.collect())).await;
    found.unwrap_or_default()
}

/// Keeps the good list of a cluster on disk, where that is wanted and has not been done.
pub(crate) async fn keep(shared: &Shared, cluster: &Cluster, from: &Discovery) {
    let Some(store) = shared.store.clone() else {
        return;
    };
    let (name, source) = (cluster.shared_name(), from.source.to_string());
    let Some(list) = cluster.list_to_keep() else {
        return;
    };
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
