//! The control side's hold on a running gateway.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evenkeel_core::strategy::Strategy;
use evenkeel_core::{Admin, Endpoint, UnknownEndpoint};
use tokio::sync::{mpsc, oneshot};

use super::restart::Task;
use super::shared::Shared;
use crate::cluster::{Cluster, CodeClass, EndpointReport};
use crate::decision::Receipts;
use crate::discovery::{keep, tell_accepted};
use crate::event::{Event, EventKind, Events};
use crate::listener::Listener;
use crate::log::LineFile;
use crate::span::Spans;
use crate::worker::Command;

/// How long a change waits for a worker that does not come round to it.
const SETTLE: Duration = Duration::from_secs(2);

/// Sees and steers a running gateway. Copies are the same.
#[derive(Clone, Debug)]
pub struct Control {
    pub(crate) shared: Arc<Shared>,
    pub(crate) workers: Arc<[mpsc::Sender<Command>]>,
}

/// The endpoint is there already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is an endpoint {0:?} already")]
pub struct EndpointExists(pub Arc<str>);

/// No list is held of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no list of endpoints is held")]
pub struct NothingHeld;

impl Control {
    pub(super) fn new(shared: Arc<Shared>, workers: Arc<[mpsc::Sender<Command>]>) -> Self {
        Self { shared, workers }
    }

    /// All clusters, in the order of the configuration.
    #[must_use]
    pub fn clusters(&self) -> Vec<Arc<Cluster>> {
        self.shared.plan.load().clusters.to_vec()
    }

    /// The cluster of that name.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<Arc<Cluster>> {
        self.shared.plan.load().cluster(name).cloned()
    }

    /// All listeners, in the order of the configuration.
    #[must_use]
    pub fn listeners(&self) -> Vec<Arc<Listener>> {
        self.shared.plan.load().listeners.to_vec()
    }

    /// Reloads that were counted: those that succeeded, and those that failed.
    #[must_use]
    pub fn reloads(&self) -> [u64; 2] {
        let reloads = self.shared.reloads.each_ref();
        reloads.map(|count| count.load(Ordering::Relaxed))
    }

    /// Requests that no cluster took, by [`CodeClass::ALL`]: without a route, redirected, or not read on a listener
    /// without a cluster.
    #[must_use]
    pub fn unrouted(&self) -> [u64; CodeClass::ALL.len()] {
        let unrouted = self.shared.unrouted.each_ref();
        unrouted.map(|count| count.load(Ordering::Relaxed))
    }

    /// Counts a reload. Whoever reads the configuration does, since most that fail never get here.
    pub fn count_reload(&self, success: bool) {
        let [succeeded, failed] = &self.shared.reloads;
        let count = if success { succeeded } else { failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a task of the control side met a mistake of ours and was begun again.
    #[must_use]
    pub fn restarts(&self, task: Task) -> u64 {
        self.shared.restarts.count(task)
    }

    /// What happens that operators want to know.
    #[must_use]
    pub fn events(&self) -> &Events {
        self.shared.site.events()
    }

    /// The logs of requests that are written.
    #[must_use]
    pub fn logs(&self) -> Vec<Arc<LineFile>> {
        self.shared.logs()
    }

    /// How many spans of requests were lost on their way to a collector.
    #[must_use]
    pub fn spans_dropped(&self) -> u64 {
        self.shared.spans.as_ref().map_or(0, Spans::dropped)
    }

    /// What would be decided now for a request with this key: a receipt with every endpoint. Nothing
    /// is changed by it.
    #[must_use]
    pub fn dry_run(&self, cluster: &Cluster, key: Option<&str>) -> serde_json::Value {
        let now = self.shared.clock.now();
        cluster.dry_run(key, self.shared.seed ^ now.0, now)
    }

    /// Whether all is heard that the gateways of the fleet share; none when there is none.
    #[must_use]
    pub fn fleet_is_heard(&self) -> Option<bool> {
        self.shared.plan.load().config.fleet.as_ref()?;
        Some(self.shared.fleet.is_in_contact())
    }

    /// Who belongs to the fleet, in the order of the names; none when there is none, or nobody was heard of yet.
    #[must_use]
    pub fn fleet_members(&self) -> Option<Vec<Arc<str>>> {
        self.shared.fleet.members()
    }

    /// Receipts of decisions, if any are kept.
    #[must_use]
    pub fn receipts(&self) -> Option<&Arc<Receipts>> {
        self.shared.receipts.as_ref()
    }

    /// Whether every listener accepts and the gateway is not about to leave.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.is_ready()
    }

    /// Adds an endpoint, and reports it as it was then: it may be gone again when this returns. None: it was
    /// removed in the same moment.
    ///
    /// # Errors
    ///
    /// When there is one of that id.
    pub async fn add(
        &self,
        cluster: &Cluster,
        endpoint: Endpoint,
    ) -> Result<Option<EndpointReport>, EndpointExists> {
        let id = endpoint.shared_id();
        cluster
            .add(endpoint)
            .ok_or_else(|| EndpointExists(Arc::clone(&id)))?;
        let report = cluster.endpoint(&id);
        self.tell_member(cluster, &id, "added", "an operator added it");
        self.shared.site.operated().notify_one();
        self.shared.resolver.ask();
        self.settle().await;
        Ok(report)
    }

    /// Removes an endpoint. When this returns, no decision is made on a list with it any more; its
    /// requests in flight finish.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub async fn remove(&self, cluster: &Cluster, id: &str) -> Result<(), UnknownEndpoint> {
        let missing = || UnknownEndpoint(id.into());
        cluster.remove(id).ok_or_else(missing)?;
        self.tell_member(cluster, &id.into(), "removed", "an operator removed it");
        self.shared.site.operated().notify_one();
        self.settle().await;
        Ok(())
    }

    /// Changes an endpoint's weight, what an operator wants of it, or both, and reports it as [`Control::add`]
    /// does.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub async fn update(
        &self,
        cluster: &Cluster,
        id: &str,
        weight: Option<u16>,
        admin: Option<Admin>,
    ) -> Result<Option<EndpointReport>, UnknownEndpoint> {
        let missing = || UnknownEndpoint(id.into());
        cluster.update(id, weight, admin).ok_or_else(missing)?;
        let report = cluster.endpoint(id);
        let weight = weight.map(|weight| format!("weight {weight}"));
        let admin = admin.map(|admin| admin.as_str().to_owned());
        let what: Vec<String> = weight.into_iter().chain(admin).collect();
        let event = Event::new(EventKind::Operator, "update", what.join(", "));
        self.tell(event.of_endpoint(id.into()), cluster);
        self.shared.site.operated().notify_one();
        self.settle().await;
        Ok(report)
    }

    /// Replaces a cluster's strategy; requests in flight finish under the old one.
    pub async fn set_strategy(&self, cluster: &Cluster, strategy: Arc<dyn Strategy>) {
        let name = strategy.descriptor().name;
        cluster.set_strategy(strategy);
        let event = Event::new(EventKind::Operator, "strategy", format!("strategy {name}"));
        self.tell(event, cluster);
        self.shared.site.operated().notify_one();
        self.settle().await;
    }

    /// Puts the list of endpoints in force that is held because it loses too much. When this returns, no
    /// decision is made on the old one any more.
    ///
    /// # Errors
    ///
    /// When none is held.
    pub async fn accept_list(&self, cluster: &Cluster) -> Result<(), NothingHeld> {
        let accepted = cluster.accept().ok_or(NothingHeld)?;
        tell_accepted(&self.shared, cluster, &accepted);
        self.shared.resolver.ask();
        if let Some(from) = cluster.discovers() {
            keep(&self.shared, cluster, &from).await;
        }
        self.settle().await;
        Ok(())
    }

    fn tell_member(&self, cluster: &Cluster, id: &Arc<str>, cause: &'static str, what: &str) {
        let event = Event::new(EventKind::Membership, cause, what);
        self.tell(event.of_endpoint(Arc::clone(id)), cluster);
    }

    fn tell(&self, event: Event, cluster: &Cluster) {
        self.events()
            .publish(event.of_cluster(cluster.shared_name()));
    }

    /// Waits until every decision that began before now has been made.
    ///
    /// A worker makes a decision in one go, so it has made all of those once it answers. One that
    /// does not within two seconds is stuck in something else than a decision.
    async fn settle(&self) {
        let mut answers = Vec::with_capacity(self.workers.len());
        for worker in &*self.workers {
            let (done, answer) = oneshot::channel();
            if worker.send(Command::Settle(done)).await.is_ok() {
                answers.push(answer);
            }
        }
        self.await_workers(answers).await;
    }

    /// Waits until all workers have answered, for a while.
    pub(crate) async fn await_workers(&self, answers: Vec<oneshot::Receiver<()>>) {
        let all = async {
            for answer in answers {
                // A worker that has ended decides nothing any more.
                let _ = answer.await;
            }
        };
        if tokio::time::timeout(SETTLE, all).await.is_err() {
            tracing::warn!("a worker did not take over a change within two seconds");
        }
    }
}
