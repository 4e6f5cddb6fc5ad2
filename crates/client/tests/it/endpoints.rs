//! Endpoints that do what they are told, in the process of the test.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use evenkeel_client::core::Endpoint;
use evenkeel_client::{BoxError, Connect, Stats};
use tokio::sync::Semaphore;
use tower::Service;

/// How an endpoint behaves.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// Answers with its id.
    Answers,
    /// Fails.
    Fails,
    /// Is not even ready.
    Refuses,
    /// Answers once there is a permit.
    Waits(Arc<Semaphore>),
    /// Fails once there is a permit.
    FailsLate(Arc<Semaphore>),
    /// Panics.
    Panics,
}

/// Endpoints by their ids, and how often each was called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endpoints(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    manners: Mutex<BTreeMap<String, Manner>>,
    calls: Mutex<BTreeMap<String, u64>>,
    cloned: AtomicU64,
    retired: AtomicU64,
}

impl Endpoints {
    pub(crate) fn set(&self, id: &str, manner: Manner) {
        self.0
            .manners
            .lock()
            .expect("whole")
            .insert(id.to_owned(), manner);
    }

    pub(crate) fn calls(&self, id: &str) -> u64 {
        self.0
            .calls
            .lock()
            .expect("whole")
            .get(id)
            .copied()
            .unwrap_or(0)
    }

    /// How often services were cloned.
    pub(crate) fn cloned(&self) -> u64 {
        self.0.cloned.load(Ordering::Relaxed)
    }

    /// How often it was heard that an endpoint has left, or its cluster has ended.
    pub(crate) fn retired(&self) -> u64 {
        self.0.retired.load(Ordering::Relaxed)
    }

    fn manner(&self, id: &str) -> Manner {
        let manners = self.0.manners.lock().expect("whole");
        manners.get(id).cloned().unwrap_or(Manner::Answers)
    }
}

impl Connect for Endpoints {
    type Service = One;

    fn connect(&self, endpoint: &Endpoint) -> One {
        One {
            id: endpoint.id().to_owned(),
            all: self.clone(),
        }
    }

    fn retire(&self, _: &One) {
        self.0.retired.fetch_add(1, Ordering::Relaxed);
    }
}

/// The service of one endpoint.
#[derive(Debug)]
pub(crate) struct One {
    id: String,
    all: Endpoints,
}

impl Clone for One {
    fn clone(&self) -> Self {
        self.all.0.cloned.fetch_add(1, Ordering::Relaxed);
        Self {
            id: self.id.clone(),
            all: self.all.clone(),
        }
    }
}

impl Service<u64> for One {
    type Response = String;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<String, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self.all.manner(&self.id) {
            Manner::Refuses => Poll::Ready(Err("refused".into())),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, _: u64) -> Self::Future {
        let (id, manner) = (self.id.clone(), self.all.manner(&self.id));
        *self
            .all
            .0
            .calls
            .lock()
            .expect("whole")
            .entry(id.clone())
            .or_default() += 1;
        Box::pin(async move {
            match manner {
                Manner::Answers => Ok(id),
                Manner::Fails | Manner::Refuses => Err("failed".into()),
                Manner::Waits(gate) => {
                    gate.acquire().await.expect("open").forget();
                    Ok(id)
                }
                Manner::FailsLate(gate) => {
                    gate.acquire().await.expect("open").forget();
                    Err("failed".into())
                }
                Manner::Panics => panic!("a panic of the test"),
            }
        })
    }
}

/// Endpoints of these ids.
pub(crate) fn listed(ids: &[&str]) -> Vec<Endpoint> {
    ids.iter()
        .map(|id| Endpoint::new(*id, "10.0.0.1:80"))
        .collect()
}

/// The sum over all endpoints.
pub(crate) fn in_flight(stats: &Stats) -> u32 {
    stats
        .endpoints
        .iter()
        .map(|endpoint| endpoint.in_flight)
        .sum()
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..4000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}");
}
