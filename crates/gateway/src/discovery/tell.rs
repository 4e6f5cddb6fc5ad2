//! What operators hear of sources: lines in the log, and events.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Discovery;
use evenkeel_discovery::{Fault, Loss, SourceError};

use crate::cluster::{Cluster, Lost, Offered};
use crate::event::{Event, EventKind};
use crate::lifecycle::Shared;

/// Of how many endpoints that came or went at once each has its own event.
const MEMBERS_MAX: usize = 100;

/// Tells what became of a list.
pub(super) fn tell_offered(
    shared: &Shared,
    cluster: &Cluster,
    from: &Discovery,
    offered: &Offered,
    faults: &[Fault],
) {
    let source = &from.source;
    for fault in faults {
        tracing::warn!(cluster = cluster.name(), %source, "an entry makes no sense: {fault}");
        let said = format!("{source}: {fault}");
        tell(shared, cluster, EventKind::Discovery, "skipped", said);
    }
    match offered {
        Offered::Taken {
            came,
            went,
            is_back,
            ..
        } => {
            if *is_back {
                tracing::info!(cluster = cluster.name(), %source, "the source is back");
                let said = format!("{source} gives a list again");
                tell(shared, cluster, EventKind::Discovery, "back", said);
            }
            tell_members(shared, cluster, came, "added", &format!("{source} has it"));
            let gone = format!("{source} no longer has it");
            tell_members(shared, cluster, went, "removed", &gone);
        }
        Offered::Held {
            loss,
            is_new: true,
            after,
        } => {
            let said = held(cluster.name(), *loss, Duration::from(*after), from);
            tracing::warn!(cluster = cluster.name(), %source, "a list is held: {said}");
            tell(shared, cluster, EventKind::Discovery, "held", said);
        }
        Offered::Held { .. } | Offered::Stale => {}
    }
}

/// Tells that an operator had the held list put in force.
pub(crate) fn tell_accepted(shared: &Shared, cluster: &Cluster, offered: &Offered) {
    let Offered::Taken { came, went, .. } = offered else {
        return;
    };
    let said = format!("{} came and {} went", came.len(), went.len());
    tell(shared, cluster, EventKind::Operator, "accept", said);
    let why = "an operator accepted the held list";
    tell_members(shared, cluster, came, "added", why);
    tell_members(shared, cluster, went, "removed", why);
}

/// Tells that a source gives no list: when it is new, and once a minute.
pub(super) fn tell_lost(shared: &Shared, cluster: &Cluster, from: &Discovery, error: &SourceError) {
    let lost = cluster.lost(from, error, shared.clock.now());
    if lost == Lost::Known {
        return;
    }
    tracing::warn!(
        cluster = cluster.name(),
        "no list of endpoints, the last good one stays: {error}"
    );
    if lost == Lost::New {
        let said = error.to_string();
        tell(shared, cluster, EventKind::Discovery, error.as_str(), said);
    }
}

fn held(cluster: &str, loss: Loss, after: Duration, from: &Discovery) -> String {
    let Loss { lost, of } = loss;
    let most = from.max_drop;
    format!(
        "it loses {lost} of {of} endpoints, more than max_drop = {most} allows at once; it is taken when a \
         read {after:?} later says the same, or by POST /api/v1/clusters/{cluster}/discovery/accept"
    )
}

/// Tells who came or went, and why.
pub(crate) fn tell_members(
    shared: &Shared,
    cluster: &Cluster,
    ids: &[Arc<str>],
    cause: &'static str,
    why: &str,
) {
    for id in ids.iter().take(MEMBERS_MAX) {
        let event = Event::new(EventKind::Membership, cause, why);
        let event = event.of_cluster(cluster.shared_name());
        shared
            .site
            .events()
            .publish(event.of_endpoint(Arc::clone(id)));
    }
    if ids.len() > MEMBERS_MAX {
        let said = format!("{} more: {why}", ids.len() - MEMBERS_MAX);
        tell(shared, cluster, EventKind::Membership, cause, said);
    }
    if !ids.is_empty() {
        let count = ids.len();
        tracing::info!(cluster = cluster.name(), count, "endpoints {cause}: {why}");
    }
}

fn tell(shared: &Shared, cluster: &Cluster, kind: EventKind, cause: &'static str, said: String) {
    let event = Event::new(kind, cause, said).of_cluster(cluster.shared_name());
    shared.site.events().publish(event);
}
