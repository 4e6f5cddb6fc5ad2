//! How much endpoints take at once, and settings of that which cannot work.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Endpoint, Nanos, QueuePolicy, Watermarks};
use toml::de::DeValue;

use super::listener::PlacedListener;
use crate::Mistake;
use crate::model::capacity::{Capacity, Peak};
use crate::model::cluster::{Cluster, Timeouts};
use crate::model::strategy_choice::StrategyChoice;
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;

/// A timeout of a route, with the clusters that it is for.
pub(super) struct RouteTimeout {
    pub(super) clusters: Vec<Arc<str>>,
    pub(super) timeout: Duration,
    pub(super) at: Range<usize>,
}

/// The capacity of a cluster, whose other settings say whether it can work.
pub(super) fn capacity(
    walk: &mut Walk<'_>,
    cluster: &Section<'_>,
    endpoints: &[Endpoint],
    strategy: &StrategyChoice,
    timeout: &Timeouts,
) -> Option<Capacity> {
    let Sub::Table(section) = walk.table(cluster, "capacity") else {
        return None;
    };
    let default = Capacity::default();
    let peak = peak(walk, &section);
    let capacity = Capacity {
        peak: peak.unwrap_or(default.peak),
        watermarks: watermarks(walk, &section),
        queue: queue(walk, &section, timeout),
    };
    warn_of_levels(walk, &section, &capacity, endpoints);
    warn_of_keys(walk, &section, strategy);
    Some(capacity)
}

fn peak(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Peak> {
    let entry = section.get("peak")?;
    if let DeValue::String(text) = entry.value.get_ref()
        && walk.expand(&entry.value.span(), text)? == "auto"
    {
        return Some(Peak::Learned);
    }
    walk.integer(section, "peak").map(Peak::Requests)
}

fn watermarks(walk: &mut Walk<'_>, section: &Section<'_>) -> Watermarks {
    let default = Watermarks::default();
    let stop = walk.number(section, "stop").unwrap_or(default.stop());
    let resume = walk.share(section, "resume");
    if let (Some(resume), Some(entry)) = (resume, section.get("resume"))
        && resume > stop
    {
        let message = format!("{} = {resume} is above stop = {stop}", entry.subject);
        let help = "an endpoint is asked again at `resume`, on the way down from `stop`";
        walk.error(entry.value.span(), Mistake::new(message, help));
    }
    let resume = resume.unwrap_or(default.resume()).min(stop);
    Watermarks::new(stop, resume).unwrap_or_default()
}

fn queue(walk: &mut Walk<'_>, section: &Section<'_>, timeouts: &Timeouts) -> Option<QueuePolicy> {
    let default = Capacity::QUEUE;
    let queue = match walk.table(section, "queue") {
        Sub::Table(queue) => queue,
        Sub::Off => return None,
        Sub::Absent => return Some(default),
    };
    let size = walk.integer(&queue, "size").unwrap_or(default.size);
    let timeout = walk.duration(&queue, "timeout");
    if let (Some(timeout), Some(entry)) = (timeout, queue.get("timeout"))
        && timeout > timeouts.response
    {
        let message = format!(
            "{} = {timeout:?} is above timeout.response = {:?}, which counts from the request on: \
             nobody waits longer than that",
            entry.subject, timeouts.response
        );
        walk.warning(entry.span, Mistake::new(message, "make it shorter"));
    }
    Some(QueuePolicy {
        size,
        timeout: timeout.map_or(default.timeout, Nanos::from),
    })
}

/// Warns of shares that come to nothing.
fn warn_of_levels(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    capacity: &Capacity,
    endpoints: &[Endpoint],
) {
    let own = endpoints.iter().filter_map(Endpoint::capacity);
    let shared = match capacity.peak {
        Peak::Requests(peak) => Some(peak),
        Peak::Learned => None,
    };
    let Some(least) = own.chain(shared).min() else {
        return;
    };
    let (stop, resume) = (capacity.watermarks.stop(), capacity.watermarks.resume());
    let in_requests = |share: f64| (share * f64::from(least) * 100.0).round() / 100.0;
    let levels = capacity.watermarks.levels(least);
    let written = |key: &str| section.get(key).or_else(|| section.get("peak"));
    if in_requests(stop) < 1.0
        && least > 1
        && let Some(entry) = written("stop")
    {
        let message = format!(
            "stop = {stop} of a peak of {least} is {} requests, which rounds to nothing: 1 is taken",
            in_requests(stop)
        );
        let help = "raise stop or the peak";
        walk.warning(entry.span, Mistake::new(message, help));
    } else if stop > resume
        && levels.stop > 1
        && in_requests(resume) as u32 >= levels.stop
        && let Some(entry) = written("resume")
    {
        let message = format!(
            "stop = {stop} and resume = {resume} of a peak of {least} are both {} requests: there is no \
             gap between them",
            levels.stop
        );
        let help = "lower resume, else an endpoint is let in and out with each answer";
        walk.warning(entry.span, Mistake::new(message, help));
    }
}

/// Warns of levels that a strategy does not look at.
fn warn_of_keys(walk: &mut Walk<'_>, section: &Section<'_>, strategy: &StrategyChoice) {
    let descriptor = strategy.build().descriptor();
    if !descriptor.traits.keyed {
        return;
    }
    for key in ["stop", "resume"] {
        if let Some(entry) = section.get(key) {
            let message = format!(
                "{} has no effect under {}: a key keeps its endpoint up to the peak",
                entry.subject, descriptor.name
            );
            walk.warning(entry.span, Mistake::new(message, ""));
        }
    }
}

/// Warns of routes whose requests are given up before their time in the queue is over.
pub(super) fn warn_of_routes(
    walk: &mut Walk<'_>,
    listeners: &[PlacedListener],
    clusters: &[Cluster],
) {
    for route in listeners.iter().flat_map(|placed| &placed.timeouts) {
        let named = clusters
            .iter()
            .filter(|cluster| route.clusters.contains(&cluster.name));
        for cluster in named {
            let queue = cluster.capacity.and_then(|capacity| capacity.queue);
            let Some(queue) = queue.filter(|queue| queue.timeout > Nanos::from(route.timeout))
            else {
                continue;
            };
            let message = format!(
                "timeout = {:?} of this route is below the {:?} that its requests may wait in the queue of \
                 cluster {:?}",
                route.timeout,
                Duration::from_nanos(queue.timeout.0),
                cluster.name
            );
            let help = "it counts from the request on, so they wait no longer than that";
            walk.warning(route.at.clone(), Mistake::new(message, help));
        }
    }
}
