//! Host names of endpoints: resolved at start, again every half minute, and after a failed connect.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::{Address, parse_address};
use evenkeel_core::Published;
use tokio::sync::Notify;

use crate::cluster::{Host, Target};
use crate::lifecycle::Plan;

/// How often names are resolved again.
const INTERVAL: Duration = Duration::from_secs(30);

/// Between two lookups that failed connects asked for.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the first lookup of names may hold up a start or a reload: one that hangs must not keep
/// the others from being served.
pub(crate) const FIRST_LOOKUP: Duration = Duration::from_secs(2);

/// Resolves the names of all endpoints, on the control thread.
#[derive(Debug)]
pub(crate) struct Resolver {
    plan: Arc<Published<Plan>>,
    asked: Notify,
}

impl Resolver {
    pub(crate) fn new(plan: Arc<Published<Plan>>) -> Self {
        Self {
            plan,
            asked: Notify::new(),
        }
    }

    /// Asks for a lookup soon: a connect failed, or a name is new.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    /// Resolves on and on.
    pub(crate) async fn run(&self) {
        loop {
            self.resolve_all().await;
            tokio::time::sleep(PAUSE).await;
            // Whether it was asked for or is due makes no difference.
            let _ = tokio::time::timeout(INTERVAL, self.asked.notified()).await;
        }
    }

    /// Looks every name up once; the first address counts.
    pub(crate) async fn resolve_all(&self) {
        let plan = self.plan.load();
        for target in plan.clusters.iter().flat_map(|cluster| cluster.targets()) {
            resolve(&target).await;
        }
    }
}

/// Looks up what is a name among these addresses, for endpoints that are about to come.
pub(crate) async fn lookup(addresses: BTreeSet<Arc<str>>) -> BTreeMap<Arc<str>, SocketAddr> {
    let mut found = BTreeMap::new();
    for address in addresses {
        if !matches!(parse_address(&address), Ok(Address::Host(..))) {
            continue;
        }
        let first = match tokio::net::lookup_host(&*address).await {
            Ok(mut addresses) => addresses.next(),
            // It is looked up, and told of, once more when it is there.
            Err(_) => None,
        };
        if let Some(first) = first {
            found.insert(address, first);
        }
    }
    found
}

/// Looks the name of an endpoint up, if it has one.
async fn resolve(target: &Target) {
    let Host::Name(name) = &target.host else {
        return;
    };
    match tokio::net::lookup_host(&**name).await {
        Ok(mut addresses) => match addresses.next() {
            Some(address) => target.resolve(address),
            None => tracing::warn!(
                endpoint = &*target.id,
                name = &**name,
                "name has no address"
            ),
        },
        Err(error) => {
            tracing::warn!(endpoint = &*target.id, name = &**name, %error, "name does not resolve");
        }
    }
}
