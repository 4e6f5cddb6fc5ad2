//! From the tree to the configuration: every value checked, every mistake noted.

mod capacity;
mod cluster;
mod conflicts;
mod discovery;
pub(crate) mod endpoint;
mod fields;
mod fleet;
mod hash;
mod health;
mod health_warnings;
mod http2;
mod listener;
mod notify;
mod process;
mod retry;
mod route;
pub(crate) mod scenario;
pub(crate) mod strategy;
mod tls;
mod weights;

pub(crate) use process::check_admin;

use toml::de::DeTable;

use crate::Config;
use crate::raw::section::Section;
use crate::raw::walk::Walk;

/// The configuration in a tree. Where a mistake was noted it holds a default instead.
pub(crate) fn config(walk: &mut Walk<'_>, tree: &DeTable<'_>) -> Config {
    let top = walk.open(Section::top(tree));
    let admin = process::admin(walk, &top);
    let log = process::log(walk, &top);
    let runtime = process::runtime(walk, &top);
    let fleet = fleet::fleet(walk, &top);
    let notify = notify::notify(walk, &top);
    let listeners = listener::listeners(walk, &top);
    let mut clusters = cluster::clusters(walk, &top, fleet.is_some());
    conflicts::listeners(walk, &listeners, admin.as_ref());
    conflicts::clusters(walk, &listeners, &clusters);
    conflicts::circles(walk, &listeners, &clusters);
    capacity::warn_of_routes(walk, &listeners, &clusters);
    for placed in &listeners {
        cluster::add_views(&mut clusters, &placed.listener);
    }
    Config {
        admin: admin.map(|admin| admin.admin),
        log,
        runtime,
        fleet,
        notify,
        listeners: listeners
            .into_iter()
            .map(|listener| listener.listener)
            .collect(),
        clusters,
    }
}
