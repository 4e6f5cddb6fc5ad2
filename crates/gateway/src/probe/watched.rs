//! A cluster that is watched.

use std::sync::Arc;

use evenkeel_config::HealthCheck;
use evenkeel_core::health::{ActivePolicy, ProbeResult};
use evenkeel_core::{Nanos, Reader};
use tokio::sync::mpsc::Sender;

use super::agent;
use super::ask::{At, ask};
use super::rounds::{Ended, Question, Rounds};
use crate::cluster::{Cluster, Probed, View};
use crate::lifecycle::Shared;

/// A cluster that is watched. Dropping it ends its checks.
#[derive(Debug)]
pub(super) struct Watched {
    cluster: Arc<Cluster>,
    view: Reader<View>,
    check: Option<Arc<HealthCheck>>,
    checks: Rounds,
    /// How often agents are asked, and for how long.
    agents_policy: ActivePolicy,
    agents: Rounds,
    interval_ends: Option<Nanos>,
    next_tick: Option<Nanos>,
    /// Whether what it was told may be out of date.
    stale: bool,
}

impl Watched {
    pub(super) fn new(cluster: &Arc<Cluster>, shared: &Shared) -> Self {
        Self {
            view: Reader::new(Arc::clone(cluster.published())),
            cluster: Arc::clone(cluster),
            check: None,
            checks: Rounds::new(shared.seed),
            agents_policy: ActivePolicy::default(),
            agents: Rounds::new(!shared.seed),
            interval_ends: None,
            next_tick: None,
            stale: true,
        }
    }

    pub(super) fn is(&self, cluster: &Arc<Cluster>) -> bool {
        Arc::ptr_eq(&self.cluster, cluster)
    }

    /// Takes in those of the questions that are its own.
    pub(super) fn take_in(&mut self, batch: &mut Vec<Ended>, now: Nanos) {
        let is_own = |ended: &mut Ended| Arc::ptr_eq(&ended.cluster, &self.cluster);
        let own: Vec<Ended> = batch.extract_if(.., is_own).collect();
        let mut probed = Vec::new();
        let mut done = Vec::new();
        for ended in own {
            if let Question::Agent(agent) = &ended.question {
                let agent = Arc::clone(agent);
                self.take_in_agent(&agent, ended, now);
                continue;
            }
            let Some(began) = self.checks.end(&ended) else {
                continue;
            };
            done.push((Arc::clone(&ended.id), began));
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
            let fallback = self.check.as_ref().map(|check| check.policy.interval);
            let pace = self.cluster.pace(&id, now).or(fallback);
            self.checks
                .done(&id, began, pace.unwrap_or(Nanos::from_secs(1)), now);
        }
    }

    fn take_in_agent(&mut self, agent: &str, ended: Ended, now: Nanos) {
        let Some(began) = self.agents.end(&ended) else {
            return;
        };
        match ended.asked.map(|asked| asked.seen) {
            Some(Ok(sent)) => self.cluster.hear_agent(&ended.id, agent, &sent),
            // Whether its endpoint is well is for checks.
            Some(Err(why)) => {
                tracing::debug!(endpoint = %ended.id, "its agent does not speak: {why}");
            }
            None => {}
        }
        let interval = self.agents_policy.interval;
        self.agents.done(&ended.id, began, interval, now);
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
        let policy = check.as_ref().map(|check| check.policy);
        self.checks
            .follow_list(&ids, policy.map(|policy| policy.interval), now);
        if self.check.as_deref() != check.as_ref() {
            self.check = check.map(Arc::new);
            self.checks.begin_anew(now);
        }
        self.agents_policy = policy.unwrap_or_default();
        let ids = self.cluster.with_agents();
        self.agents
            .follow_list(&ids, Some(self.agents_policy.interval), now);
    }

    /// Starts the questions that are due.
    pub(super) fn begin(&mut self, sender: &Sender<Ended>, shared: &Arc<Shared>, now: Nanos) {
        let view = self.view.get();
        if let Some(check) = &self.check {
            self.checks.begin(&self.cluster, sender, now, |id| {
                let at = at(view, id);
                let (check, shared) = (Arc::clone(check), Arc::clone(shared));
                let asking = async move { ask(&check, &at?, &shared).await };
                (Question::Check, asking)
            });
        }
        let timeout = self.agents_policy.timeout;
        self.agents.begin(&self.cluster, sender, now, |id| {
            let endpoint = index(view, id).map(|at| &view.snapshot.endpoints()[at]);
            let agent = endpoint.and_then(|endpoint| endpoint.agent());
            let agent: Arc<str> = agent.unwrap_or_default().into();
            let (asked, shared) = (Arc::clone(&agent), Arc::clone(shared));
            let asking = async move { agent::ask(&asked, timeout, &shared).await };
            (Question::Agent(agent), asking)
        });
    }

    /// When there is something to do.
    pub(super) fn next(&self, now: Nanos) -> Nanos {
        let due = self.checks.next().filter(|_| self.check.is_some());
        let all = [due, self.agents.next(), self.interval_ends, self.next_tick];
        all.into_iter()
            .flatten()
            .min()
            .unwrap_or(now + super::PAUSE_MAX)
    }
}

fn index(view: &View, id: &str) -> Option<usize> {
    let endpoints = view.snapshot.endpoints();
    endpoints
        .binary_search_by(|endpoint| endpoint.id().cmp(id))
        .ok()
}

/// Where an endpoint is.
fn at(view: &View, id: &str) -> Option<At> {
    let at = index(view, id)?;
    Some(At {
        target: Arc::clone(&view.targets[at]),
        host: view.snapshot.endpoints()[at].address().into(),
        proxy_protocol: view.policies.proxy_protocol,
        tls: view.policies.tls.clone(),
        http2: view.policies.http2,
    })
}
