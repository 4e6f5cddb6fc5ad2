//! What becomes of what when one configuration replaces another.

use std::sync::Arc;

use evenkeel_config::{Cluster, Config, Listener, Runtime};

use super::changes::{Changes, Difference};
use super::endpoints::EndpointChanges;

/// Where each part of the new configuration comes from, and what the reload comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Diff {
    /// In the order of the new clusters.
    pub(super) clusters: Vec<Origin>,
    /// In the order of the new listeners.
    pub(super) listeners: Vec<Origin>,
    pub(super) changes: Changes,
}

/// Where a part of the new configuration comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was not there.
    New,
    /// It was at this place, and stays as it is.
    Kept(usize),
    /// It was at this place, with other settings.
    Changed(usize),
}

impl Diff {
    /// What it takes to get from one configuration to another.
    pub(super) fn between(old: &Config, new: &Config) -> Self {
        let (clusters, cluster_changes) =
            compare(&old.clusters, &new.clusters, same_cluster, cluster_settings);
        let (listeners, listener_changes) = compare(
            &old.listeners,
            &new.listeners,
            same_listener,
            listener_settings,
        );
        let drain = old.runtime.drain_timeout != new.runtime.drain_timeout;
        Self {
            clusters,
            listeners,
            changes: Changes {
                clusters: cluster_changes,
                endpoints: endpoint_changes(old, new),
                listeners: listener_changes,
                settings: differing(&[
                    ("runtime.drain_timeout", drain),
                    ("notify", old.notify != new.notify),
                    ("fleet", old.fleet != new.fleet),
                ]),
                next_start: next_start(old, new),
                forgotten: Vec::new(),
            },
        }
    }
}

/// The new configuration with what cannot change while the process runs as it was.
pub(super) fn in_force(old: &Config, new: &Config) -> Config {
    Config {
        admin: old.admin.clone(),
        log: old.log.clone(),
        runtime: Runtime {
            drain_timeout: new.runtime.drain_timeout,
            ..old.runtime.clone()
        },
        ..new.clone()
    }
}

fn next_start(old: &Config, new: &Config) -> Vec<&'static str> {
    let keys = [
        ("admin", old.admin != new.admin),
        ("log", old.log != new.log),
        (
            "runtime.workers",
            old.runtime.workers != new.runtime.workers,
        ),
        (
            "runtime.instance",
            old.runtime.instance != new.runtime.instance,
        ),
        ("runtime.zone", old.runtime.zone != new.runtime.zone),
        (
            "runtime.state_dir",
            old.runtime.state_dir != new.runtime.state_dir,
        ),
    ];
    differing(&keys)
}

fn compare<T: PartialEq + Named>(
    old: &[T],
    new: &[T],
    is_same: impl Fn(&T, &T) -> bool,
    settings: impl Fn(&T, &T) -> Vec<&'static str>,
) -> (Vec<Origin>, Difference) {
    let mut difference = Difference::default();
    let mut stays = vec![false; old.len()];
    let origins = new
        .iter()
        .map(|part| {
            let Some(place) = old.iter().position(|known| is_same(known, part)) else {
                difference.added.push(part.name());
                return Origin::New;
            };
            stays[place] = true;
            if old[place] == *part {
                return Origin::Kept(place);
            }
            let what = settings(&old[place], part);
            difference.changed.push((part.name(), what));
            Origin::Changed(place)
        })
        .collect();
    let gone = old.iter().zip(stays).filter(|(_, stays)| !stays);
    difference.removed = gone.map(|(part, _)| part.name()).collect();
    (origins, difference)
}

trait Named {
    fn name(&self) -> Arc<str>;
}

impl Named for Cluster {
    fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }
}

impl Named for Listener {
    fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }
}

fn same_cluster(old: &Cluster, new: &Cluster) -> bool {
    old.name == new.name
}

/// A listener is its address, so that one that is renamed keeps its socket. Where the port was left
/// open there may be several of one address, and the name tells them apart.
fn same_listener(old: &Listener, new: &Listener) -> bool {
    old.address == new.address && (!old.address.is_open() || old.name == new.name)
}

fn cluster_settings(old: &Cluster, new: &Cluster) -> Vec<&'static str> {
    or_other(differing(&[
        ("endpoints", old.endpoints != new.endpoints),
        ("discovery", old.discovery != new.discovery),
        ("strategy", old.strategy != new.strategy),
        ("health", old.health != new.health),
        ("outlier", old.outlier != new.outlier),
        ("slow_start", old.slow_start != new.slow_start),
        ("panic", old.panic != new.panic),
        ("protocol", old.http2 != new.http2),
        ("proxy_protocol", old.proxy_protocol != new.proxy_protocol),
        ("tls", old.tls != new.tls),
        ("hash", old.keys != new.keys),
        ("subset", old.subset != new.subset),
        ("route.labels", old.views != new.views),
        ("capacity", old.capacity != new.capacity),
        (
            "dynamic_weights",
            old.dynamic_weights != new.dynamic_weights,
        ),
        ("retry", old.retry != new.retry),
        ("timeout", old.timeout != new.timeout),
        ("sticky", old.sticky != new.sticky),
        ("shadow", old.shadow != new.shadow),
    ]))
}

/// Of each cluster that stays, if its endpoints are others.
fn endpoint_changes(old: &Config, new: &Config) -> Vec<(Arc<str>, EndpointChanges)> {
    let stays = new.clusters.iter().filter_map(|cluster| {
        let before = old.clusters.iter().find(|old| same_cluster(old, cluster))?;
        let changes = EndpointChanges::between(&before.endpoints, &cluster.endpoints);
        (!changes.is_empty()).then(|| (cluster.name(), changes))
    });
    stays.collect()
}

fn listener_settings(old: &Listener, new: &Listener) -> Vec<&'static str> {
    let trusted = (&old.trusted_proxies, old.trusts_unix);
    or_other(differing(&[
        ("name", old.name != new.name),
        ("protocol", old.protocol != new.protocol),
        ("proxy_protocol", old.proxy_protocol != new.proxy_protocol),
        ("tls", old.tls != new.tls),
        ("cluster", old.cluster != new.cluster),
        ("route", old.routes != new.routes),
        ("limits", old.limits != new.limits),
        (
            "trusted_proxies",
            trusted != (&new.trusted_proxies, new.trusts_unix),
        ),
    ]))
}

fn differing(keys: &[(&'static str, bool)]) -> Vec<&'static str> {
    let differ = keys.iter().filter(|(_, differs)| *differs);
    differ.map(|(key, _)| *key).collect()
}

/// Something differs that has no word here.
fn or_other(mut settings: Vec<&'static str>) -> Vec<&'static str> {
    if settings.is_empty() {
        settings.push("other");
    }
    settings
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use evenkeel_core::{Endpoint, Rng};

    use super::*;

    /// Some configuration: few names and few values, so that two of them have much in common.
    fn some(rng: &mut Rng) -> Config {
        let mut draw = |below: u64| rng.next_u64() % below;
        let mut clusters: Vec<Cluster> = Vec::new();
        for name in ["a", "b", "c", "d"] {
            if draw(3) > 0 {
                let mut cluster = Cluster::new(name);
                cluster.endpoints = (0..draw(3))
                    .map(|number| {
                        Endpoint::new(format!("e{number}"), format!("127.0.0.1:{}", draw(2) + 1))
                    })
                    .collect();
                cluster.timeout.response = Duration::from_secs(draw(2) + 1);
                cluster.retry.attempts = draw(2) as u8 + 1;
                let place = draw(clusters.len() as u64 + 1) as usize;
                clusters.insert(place, cluster);
            }
        }
        let mut listeners: Vec<Listener> = Vec::new();
        for port in [0, 0, 1, 2, 3] {
            if draw(3) > 0 {
                let mut listener = Listener::new(SocketAddr::from(([127, 0, 0, 1], port)));
                listener.name = format!("{}-{}", listeners.len(), draw(2)).into();
                listener.cluster = clusters.first().map(|cluster| Arc::clone(&cluster.name));
                listener.limits.header_timeout = Duration::from_secs(draw(2) + 1);
                let place = draw(listeners.len() as u64 + 1) as usize;
                listeners.insert(place, listener);
            }
        }
        Config {
            admin: None,
            log: evenkeel_config::Log::default(),
            runtime: Runtime {
                drain_timeout: Duration::from_secs(draw(2) + 1),
                ..Runtime::default()
            },
            fleet: None,
            notify: Vec::new(),
            listeners,
            clusters,
        }
    }

    fn carry<T: Clone>(origins: &[Origin], old: &[T], new: &[T]) -> Vec<T> {
        let part = |(origin, new): (&Origin, &T)| match origin {
            Origin::Kept(place) => old[*place].clone(),
            Origin::New | Origin::Changed(_) => new.clone(),
        };
        origins.iter().zip(new).map(part).collect()
    }

    /// Case G12: what is kept by a diff is what the new configuration asks for, over a walk of
    /// configurations that differ in all ways.
    #[test]
    fn g12_applying_a_difference_gives_the_new_configuration() {
        let mut rng = Rng::new(12);
        let mut running = some(&mut rng);
        for step in 0..5_000 {
            let wanted = some(&mut rng);
            let diff = Diff::between(&running, &wanted);
            let next = Config {
                clusters: carry(&diff.clusters, &running.clusters, &wanted.clusters),
                listeners: carry(&diff.listeners, &running.listeners, &wanted.listeners),
                ..in_force(&running, &wanted)
            };
            assert_eq!(next, wanted, "step {step}");
            for origins in [&diff.clusters, &diff.listeners] {
                let mut places: Vec<usize> = origins.iter().filter_map(place).collect();
                places.sort_unstable();
                assert!(
                    places.windows(2).all(|pair| pair[0] != pair[1]),
                    "{places:?}"
                );
            }
            running = next;
        }
    }

    fn place(origin: &Origin) -> Option<usize> {
        match origin {
            Origin::New => None,
            Origin::Kept(place) | Origin::Changed(place) => Some(*place),
        }
    }

    #[test]
    fn nothing_changes_when_nothing_differs() {
        let mut rng = Rng::new(1);
        for _ in 0..100 {
            let config = some(&mut rng);
            let diff = Diff::between(&config, &config);
            assert!(diff.changes.is_empty(), "{:?}", diff.changes);
        }
    }

    #[test]
    fn what_waits_for_the_next_start_stays_and_is_told() {
        let old = some(&mut Rng::new(3));
        let mut new = old.clone();
        new.runtime.workers = evenkeel_config::Workers::new(3).expect("three");
        new.log.level = evenkeel_config::Level::Debug;
        let diff = Diff::between(&old, &new);
        assert_eq!(diff.changes.next_start, ["log", "runtime.workers"]);
        assert_eq!(in_force(&old, &new), old);
    }

    #[test]
    fn a_renamed_listener_keeps_its_socket() {
        let mut old = some(&mut Rng::new(5));
        old.listeners = vec![Listener::new(SocketAddr::from(([127, 0, 0, 1], 80)))];
        let mut new = old.clone();
        new.listeners[0].name = "front".into();
        let diff = Diff::between(&old, &new);
        assert_eq!(diff.listeners, [Origin::Changed(0)]);
        assert_eq!(diff.changes.listeners.changed[0].1, ["name"]);
    }
}
