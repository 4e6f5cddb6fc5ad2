//! A cluster that is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_config::HealthCheck;
use evenkeel_core::health::{ProbeResult, ProbeSchedule};
use evenkeel_core::{Nanos, Reader};
use tokio::sync::mpsc::{OwnedPermit, Sender};
use tokio::task::AbortHandle;

use super::ask::{Asked, At, ask};
use crate::cluster::{Cluster, Probed, View};
use crate::lifecycle::Shared;

/// A cluster that is watched. Dropping it ends its checks.
#[derive(Debug)]
pub(super) struct Watched {
    cluster: Arc<Cluster>,
    view: Reader<View>,
    check: Option<Arc<HealthCheck>>,
    schedule: ProbeSchedule,
    /// Checks under way.
    running: BTreeMap<Arc<str>, Running>,
    /// The number of the next check, so that what is not awaited any more is known.
    number: u64,
    interval_ends: Option<Nanos>,
    next_tick: Option<Nanos>,
    /// Whether what it was told may be out of date.
    stale: bool,
}

#[derive(Debug)]
struct Running {
    number: u64,
    began: Nanos,
    task: AbortHandle,
}

/// A check that has come to its end.
#[derive(Debug)]
pub(super) struct Ended {
    cluster: Arc<Cluster>,
    id: Arc<str>,
    number: u64,
    /// None when it was broken off: that says nothing of the endpoint.
    asked: Option<Asked>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.task.abort();
        }
    }
}

impl Watched {
    pub(super) fn new(cluster: &Arc<Cluster>, shared: &Shared) -> Self {
        Self {
            view: Reader::new(Arc::clone(cluster.published())),
            cluster: Arc::clone(cluster),
            check: None,
            schedule: ProbeSchedule::new(shared.seed),
            running: BTreeMap::new(),
            number: 0,
            interval_ends: None,
            next_tick: None,
            stale: true,
        }
    }

    pub(super) fn is(&self, cluster: &Arc<Cluster>) -> bool {
        Arc::ptr_eq(&self.cluster, cluster)
    }

    /// Takes in those of the checks that are its own.
    pub(super) fn take_in(&mut self, batch: &mut Vec<Ended>, now: Nanos) {
        let own = batch.extract_if(.., |ended| Arc::ptr_eq(&ended.cluster, &self.cluster));
        let mut probed = Vec::new();
        let mut done = Vec::new();
        for ended in own {
            let running = self.running.get(&ended.id);
            let Some(running) = running.filter(|running| running.number == ended.number) else {
                continue;
            };
            done.push((Arc::clone(&ended.id), running.began));
            if let Some(asked) = ended.asked {
                if let Ok(body) = &asked.seen {
                    self.cluster.hear_body(&ended.id, body);
                }
                probed.push(Probed {
                    id: ended.id,
                    took: asked.took,
                    result: ProbeResult {
                        passed: asked.seen.is_ok(),
                        seen: asked.seen.err().unwrap_or_default(),
                    },
                });
            }
        }
        if !probed.is_empty() {
            self.cluster.probed(&probed);
        }
        for (id, began) in done {
            self.running.remove(&id);
            let fallback = self.check.as_ref().map(|check| check.policy.interval);
            let pace = self.cluster.pace(&id, now).or(fallback);
            self.schedule
                .done(&id, began, pace.unwrap_or(Nanos::from_secs(1)), now);
        }
    }

    /// Has judged what is to be judged now.
    pub(super) fn judge(&mut self, now: Nanos) {
        if self.cluster.take_accusation() {
            self.cluster.judge_runs();
        }
        if self.interval_ends.is_some_and(|end| end <= now) {
            self.interval_ends = None;
            self.stale = true;
            self.cluster.judge_interval();
        }
        if self.next_tick.is_some_and(|tick| tick <= now) {
            self.stale = true;
            self.cluster.tick();
        }
        // Another version, whoever made it.
        if self.view.refresh() || std::mem::take(&mut self.stale) {
            self.follow_cluster(now);
        }
    }

    fn follow_cluster(&mut self, now: Nanos) {
        self.view.refresh();
        self.next_tick = self.cluster.next_tick(now);
        self.interval_ends = match (self.cluster.outlier_interval(), self.interval_ends) {
            (Some(interval), Some(end)) => Some(end.min(now + interval)),
            (Some(interval), None) => Some(now + interval),
            (None, _) => None,
        };
        let (check, ids) = match self.cluster.checked() {
            Some((check, ids)) => (Some(check), ids),
            None => (None, Vec::new()),
        };
        self.follow_list(&ids, check.as_ref(), now);
        if self.check.as_deref() != check.as_ref() {
            self.check = check.map(Arc::new);
            // What is asked is another thing now: what was is worth nothing.
            let ids: Vec<Arc<str>> = self.running.keys().cloned().collect();
            for id in ids {
                self.forget(&id);
            }
            for id in self.schedule.ids().cloned().collect::<Vec<_>>() {
                self.schedule.hurry(&id, now);
            }
        }
    }

    fn follow_list(&mut self, ids: &[Arc<str>], check: Option<&HealthCheck>, now: Nanos) {
        let wanted: BTreeSet<&Arc<str>> = ids.iter().collect();
        let known = self.schedule.ids();
        let gone: Vec<Arc<str>> = known.filter(|id| !wanted.contains(id)).cloned().collect();
        for id in gone {
            self.forget(&id);
            self.schedule.remove(&id);
        }
        let Some(check) = check else {
            return;
        };
        // All that are there at the start are checked in turn; one that comes later is at once.
        let is_start = self.schedule.ids().next().is_none();
        for id in ids {
            if is_start {
                self.schedule.add(id, check.policy.interval, now);
            } else if !self.schedule.contains(id) {
                self.schedule.hurry(id, now);
            }
        }
    }

    /// Breaks off the check of an endpoint that is under way; the next one is due at once.
    fn forget(&mut self, id: &Arc<str>) {
        if let Some(running) = self.running.remove(id) {
            running.task.abort();
            self.schedule.remove(id);
            self.schedule.hurry(id, running.began);
        }
    }

    /// Starts the checks that are due.
    pub(super) fn begin_checks(
        &mut self,
        sender: &Sender<Ended>,
        shared: &Arc<Shared>,
        now: Nanos,
    ) {
        let Some(check) = self.check.clone() else {
            return;
        };
        // A place for its end is had before it begins, so that none gets lost.
        while let Ok(place) = sender.clone().try_reserve_owned() {
            let Some(id) = self.schedule.begin(now) else {
                return;
            };
            self.number += 1;
            let ending = Ending {
                place: Some(place),
                cluster: Arc::clone(&self.cluster),
                id: Arc::clone(&id),
                number: self.number,
            };
            let target = self.target(&id);
            let (check, shared) = (Arc::clone(&check), Arc::clone(shared));
            let task = tokio::spawn(async move {
                let asked = match target {
                    Some(at) => ask(&check, &at, &shared).await,
                    None => None,
                };
                ending.end(asked);
            });
            let running = Running {
                number: self.number,
                began: now,
                task: task.abort_handle(),
            };
            self.running.insert(id, running);
        }
    }

    fn target(&mut self, id: &str) -> Option<At> {
        let view = self.view.get();
        let endpoints = view.snapshot.endpoints();
        let at = endpoints
            .binary_search_by(|endpoint| endpoint.id().cmp(id))
            .ok()?;
        Some(At {
            target: Arc::clone(&view.targets[at]),
            host: endpoints[at].address().into(),
            proxy_protocol: view.policies.proxy_protocol,
            tls: view.policies.tls.clone(),
        })
    }

    /// When there is something to do.
    pub(super) fn next(&self, now: Nanos) -> Nanos {
        let due = self.schedule.next().filter(|_| self.check.is_some());
        let all = [due, self.interval_ends, self.next_tick];
        all.into_iter()
            .flatten()
            .min()
            .unwrap_or(now + super::PAUSE_MAX)
    }
}

/// Says that a check has ended, whatever becomes of it.
#[derive(Debug)]
struct Ending {
    place: Option<OwnedPermit<Ended>>,
    cluster: Arc<Cluster>,
    id: Arc<str>,
    number: u64,
}

impl Ending {
    fn end(mut self, asked: Option<Asked>) {
        self.send(asked);
    }

    fn send(&mut self, asked: Option<Asked>) {
        if let Some(place) = self.place.take() {
            place.send(Ended {
                cluster: Arc::clone(&self.cluster),
                id: Arc::clone(&self.id),
                number: self.number,
                asked,
            });
        }
    }
}

impl Drop for Ending {
    /// It was broken off, or met a mistake of ours: either says nothing of the endpoint.
    fn drop(&mut self) {
        self.send(None);
    }
}
