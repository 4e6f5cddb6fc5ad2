//! The control side's hold on a running gateway.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::strategy::Strategy;
use evenkeel_core::{Admin, Endpoint, UnknownEndpoint};
use tokio::sync::{mpsc, oneshot};

use super::shared::Shared;
use crate::cluster::Cluster;
use crate::listener::Listener;
use crate::worker::Command;

/// How long a change waits for a worker that does not come round to it.
const SETTLE: Duration = Duration::from_secs(2);

/// Sees and steers a running gateway. Copies are the same.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
    workers: Arc<[mpsc::Sender<Command>]>,
}

/// The endpoint is there already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is an endpoint {0:?} already")]
pub struct EndpointExists(pub Arc<str>);

impl Control {
    pub(super) fn new(shared: Arc<Shared>, workers: Arc<[mpsc::Sender<Command>]>) -> Self {
        Self { shared, workers }
    }

    /// All clusters, in the order of the configuration.
    #[must_use]
    pub fn clusters(&self) -> &[Arc<Cluster>] {
        &self.shared.clusters
    }

    /// The cluster of that name.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&Arc<Cluster>> {
        self.clusters()
            .iter()
            .find(|cluster| cluster.name() == name)
    }

    /// All listeners, in the order of the configuration.
    #[must_use]
    pub fn listeners(&self) -> &[Arc<Listener>] {
        &self.shared.listeners
    }

    /// Whether every listener accepts and the gateway is not about to leave.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.is_ready()
    }

    /// Adds an endpoint.
    ///
    /// # Errors
    ///
    /// When there is one of that id.
    pub async fn add(&self, cluster: &Cluster, endpoint: Endpoint) -> Result<(), EndpointExists> {
        let endpoint = cluster.adopt(endpoint);
        cluster.change(|members| {
            if members.get(endpoint.id()).is_some() {
                return Err(EndpointExists(endpoint.shared_id()));
            }
            members.upsert(endpoint);
            Ok(())
        })?;
        self.shared.resolver.ask();
        self.settle().await;
        Ok(())
    }

    /// Removes an endpoint. When this returns, no decision is made on a list with it any more; its
    /// requests in flight finish.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub async fn remove(&self, cluster: &Cluster, id: &str) -> Result<(), UnknownEndpoint> {
        cluster.change(|members| members.remove(id))?;
        self.settle().await;
        Ok(())
    }

    /// Changes an endpoint's weight, what an operator wants of it, or both.
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
    ) -> Result<(), UnknownEndpoint> {
        cluster.change(|members| {
            if let Some(weight) = weight {
                members.set_weight(id, weight)?;
            }
            if let Some(admin) = admin {
                members.set_admin(id, admin)?;
            }
            Ok(())
        })?;
        self.settle().await;
        Ok(())
    }

    /// Replaces a cluster's strategy; requests in flight finish under the old one.
    pub async fn set_strategy(&self, cluster: &Cluster, strategy: Arc<dyn Strategy>) {
        let changed: Result<(), std::convert::Infallible> = cluster.change(|members| {
            members.set_strategy(strategy);
            Ok(())
        });
        match changed {
            Ok(()) => self.settle().await,
            Err(never) => match never {},
        }
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
