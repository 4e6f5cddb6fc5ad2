//! A reload from its first check to the last worker that goes by it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_config::{self as config, Config};
use evenkeel_core::DuplicateId;
use tokio::sync::oneshot;

use super::changes::Changes;
use super::diff::{Diff, Origin, in_force};
use crate::cluster::{Cluster, Site};
use crate::discovery::{first_lists, tell_members};
use crate::event::{Event, EventKind};
use crate::lifecycle::{Control, Plan, StartError, bind_listener};
use crate::listener::{Bound, Door};
use crate::tls::TlsSettings;
use crate::upstream::{FIRST_LOOKUP, lookup};
use crate::worker::{Command, Sockets};

/// What becomes of the changes that operators made while the gateway ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperatorChanges {
    /// They lie over the new configuration too.
    #[default]
    Keep,
    /// They are forgotten.
    Forget,
}

/// Why a reload was refused; all is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// A gateway would not start with it either.
    #[error(transparent)]
    Refused(#[from] StartError),
    /// The gateway is about to leave.
    #[error("the gateway drains")]
    Leaving,
    /// The process ends, or this met a mistake of ours; see the log.
    #[error("the reload did not come to its end")]
    Interrupted,
}

impl Control {
    /// Puts another configuration in force, as a whole or not at all, and says what it changed.
    ///
    /// When this returns, every request that begins goes by it. Requests under way finish as they
    /// began. Sockets that stay are never closed.
    ///
    /// # Errors
    ///
    /// When a new address cannot be bound, an endpoint id is listed twice, or the gateway drains;
    /// then all is as it was.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it goes on by itself, so that no worker is left behind.
    pub async fn reload(
        &self,
        config: &Config,
        operators: OperatorChanges,
    ) -> Result<Changes, ReloadError> {
        let (control, config) = (self.clone(), config.clone());
        let task = tokio::spawn(async move { control.reload_now(&config, operators).await });
        let result = task.await.unwrap_or(Err(ReloadError::Interrupted));
        let (cause, evidence) = match &result {
            Ok(changes) => ("success", changes.to_string()),
            Err(error) => ("failure", error.to_string()),
        };
        let event = Event::new(EventKind::Reload, cause, evidence);
        self.events().publish(event);
        if let Ok(changes) = &result {
            self.tell_of_endpoints(changes);
        }
        result
    }

    async fn reload_now(
        &self,
        config: &Config,
        operators: OperatorChanges,
    ) -> Result<Changes, ReloadError> {
        let _turn = self.shared.reloading.lock().await;
        if self.shared.draining.load(Ordering::Relaxed) {
            return Err(ReloadError::Leaving);
        }
        let old = self.shared.plan.load();
        let diff = Diff::between(&old.config, config);
        config.clusters.iter().try_for_each(check_ids)?;
        let tls = TlsSettings::load(config, &old.tls)?;
        let bound = self.bind(config, &diff)?;
        let names = new_names(config, &old.config);
        let names = tokio::time::timeout(FIRST_LOOKUP, lookup(names)).await;
        // Names that are not found in time are looked up again and again, as at the start.
        let names = names.unwrap_or_default();

        // Nothing fails from here on.
        let forget = operators == OperatorChanges::Forget;
        let site = &self.shared.site;
        let forgotten = if forget {
            overridden(&old, config)
        } else {
            Vec::new()
        };
        let clusters = clusters(config, site, &diff, &old, forget, &names, &tls)?;
        first_lists(&self.shared, &with_new_source(&clusters, &diff, &old)).await;
        let (doors, sockets) = deal(&diff, &old, bound, self.workers.len());
        let plan = Arc::new(Plan::new(
            in_force(&old.config, config),
            tls,
            clusters,
            doors,
        ));
        tell_of_overrides(&old, &plan);
        self.shared.plan.publish(Arc::clone(&plan));
        // Of clusters that are new the fleet may know something.
        site.operated().notify_one();
        self.adopt(&plan, sockets).await;
        self.shared.resolver.ask();
        site.bell().notify_one();
        if !diff.changes.listeners.is_empty() {
            self.shared.mind_descriptors();
        }
        for gone in &old.listeners {
            if plan.listener_at(gone.door()).is_none() {
                gone.door().remove_file();
            }
        }
        Ok(Changes {
            forgotten,
            ..diff.changes
        })
    }

    /// Endpoints that came and went are events, as those of discovery are.
    fn tell_of_endpoints(&self, changes: &Changes) {
        for (name, endpoints) in &changes.endpoints {
            let Some(cluster) = self.cluster(name) else {
                continue;
            };
            let tell = |ids, cause, why| tell_members(&self.shared, &cluster, ids, cause, why);
            tell(&endpoints.added, "added", "the configuration has it");
            tell(
                &endpoints.removed,
                "removed",
                "the configuration no longer has it",
            );
        }
    }

    /// Binds what is new.
    fn bind(&self, config: &Config, diff: &Diff) -> Result<Vec<Option<Bound>>, StartError> {
        let listeners = config.listeners.iter().zip(&diff.listeners);
        listeners
            .map(|(listener, origin)| match origin {
                Origin::New => bind_listener(listener, self.workers.len()).map(Some),
                Origin::Kept(_) | Origin::Changed(_) => Ok(None),
            })
            .collect()
    }

    /// Hands the plan to the workers, and waits until they go by it.
    async fn adopt(&self, plan: &Arc<Plan>, sockets: Vec<Sockets>) {
        let mut answers = Vec::with_capacity(self.workers.len());
        for (worker, sockets) in self.workers.iter().zip(sockets) {
            let (done, answer) = oneshot::channel();
            let command = Command::Adopt(Arc::clone(plan), sockets, done);
            if worker.send(command).await.is_ok() {
                answers.push(answer);
            }
        }
        self.await_workers(answers).await;
    }
}

fn check_ids(cluster: &config::Cluster) -> Result<(), StartError> {
    let mut seen = BTreeSet::new();
    let mut endpoints = cluster.endpoints.iter();
    match endpoints.find(|endpoint| !seen.insert(endpoint.id())) {
        None => Ok(()),
        Some(twice) => Err(StartError::Duplicate {
            cluster: Arc::clone(&cluster.name),
            error: DuplicateId(twice.shared_id()),
        }),
    }
}

/// The clusters in their new order: those that stay are the same ones, with their new settings.
fn clusters(
    config: &Config,
    site: &Arc<Site>,
    diff: &Diff,
    old: &Plan,
    forget: bool,
    names: &BTreeMap<Arc<str>, SocketAddr>,
    tls: &TlsSettings,
) -> Result<Vec<Arc<Cluster>>, StartError> {
    let mut clusters = Vec::with_capacity(config.clusters.len());
    for (wanted, origin) in config.clusters.iter().zip(&diff.clusters) {
        let duplicate = |error| StartError::Duplicate {
            cluster: Arc::clone(&wanted.name),
            error,
        };
        let cluster = match origin {
            Origin::New => Arc::new(
                Cluster::new(wanted.clone(), site, tls.cluster(&wanted.name), false)
                    .map_err(duplicate)?,
            ),
            Origin::Kept(place) | Origin::Changed(place) => Arc::clone(&old.clusters[*place]),
        };
        if forget || !matches!(origin, Origin::Kept(_)) {
            cluster
                .configure(wanted.clone(), forget, names, tls.cluster(&wanted.name))
                .map_err(duplicate)?;
        }
        clusters.push(cluster);
    }
    Ok(clusters)
}

/// Clusters that ask another source than before.
fn with_new_source(clusters: &[Arc<Cluster>], diff: &Diff, old: &Plan) -> Vec<Arc<Cluster>> {
    let asks_another = |(cluster, origin): (&Arc<Cluster>, &Origin)| {
        let before = match origin {
            Origin::New => None,
            Origin::Kept(place) | Origin::Changed(place) => {
                old.config.clusters[*place].discovery.as_ref()
            }
        };
        let now = cluster.discovers()?;
        let is_same = before.is_some_and(|before| before.source == now.source);
        (!is_same).then(|| Arc::clone(cluster))
    };
    let both = clusters.iter().zip(&diff.clusters);
    both.filter_map(asks_another).collect()
}

/// The doors in the order of the new listeners, and the new sockets by worker.
fn deal(
    diff: &Diff,
    old: &Plan,
    bound: Vec<Option<Bound>>,
    workers: usize,
) -> (Vec<Arc<Door>>, Vec<Sockets>) {
    let mut by_worker: Vec<Sockets> = (0..workers).map(|_| Vec::new()).collect();
    let mut doors = Vec::with_capacity(bound.len());
    for (origin, bound) in diff.listeners.iter().zip(bound) {
        if let Some(bound) = bound {
            for (own, socket) in by_worker.iter_mut().zip(bound.sockets) {
                own.push((Arc::clone(&bound.door), socket));
            }
            doors.push(bound.door);
        } else if let Origin::Kept(place) | Origin::Changed(place) = origin {
            doors.push(Arc::clone(old.listeners[*place].door()));
        }
    }
    (doors, by_worker)
}

/// The addresses of endpoints that were not there before: names among them are looked up first.
fn new_names(config: &Config, old: &Config) -> BTreeSet<Arc<str>> {
    let addresses = |config: &Config| -> BTreeSet<(Arc<str>, Arc<str>)> {
        let clusters = config.clusters.iter();
        let endpoints = clusters.flat_map(|cluster| {
            let name = &cluster.name;
            let endpoints = cluster.endpoints.iter();
            endpoints.map(|endpoint| (Arc::clone(name), endpoint.address().into()))
        });
        endpoints.collect()
    };
    let known = addresses(old);
    let new = addresses(config).into_iter();
    let new = new.filter(|address| !known.contains(address));
    new.map(|(_, address)| address).collect()
}

/// What operators have changed of clusters that stay: `strategy`, or ids of endpoints.
fn overridden(old: &Plan, config: &Config) -> Vec<(Arc<str>, Vec<Arc<str>>)> {
    let stays = |cluster: &&Arc<Cluster>| {
        let mut names = config.clusters.iter().map(|cluster| &*cluster.name);
        names.any(|name| name == cluster.name())
    };
    let changed = old.clusters.iter().filter(stays).map(|cluster| {
        let overrides = cluster.overrides();
        let strategy = overrides.strategy().map(|_| Arc::from("strategy"));
        let endpoints = overrides.endpoints().map(|(id, _)| Arc::clone(id));
        (
            cluster.name().into(),
            strategy.into_iter().chain(endpoints).collect(),
        )
    });
    changed
        .filter(|(_, what): &(_, Vec<_>)| !what.is_empty())
        .collect()
}

/// What operators changed of a cluster goes with it, but not in silence.
fn tell_of_overrides(old: &Plan, new: &Plan) {
    for gone in &old.clusters {
        if new.cluster(gone.name()).is_none() && !gone.overrides().is_empty() {
            tracing::warn!(
                cluster = gone.name(),
                "the cluster was removed, and what operators changed of it is forgotten"
            );
        }
    }
}
