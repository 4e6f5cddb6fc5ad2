//! The six backends: a thread of their own, a free port each.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use evenkeel_core::{Endpoint, Rng};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::backend::{self, Behaviour, LatencyLaw, Mood, Work};
use crate::exit::Failure;
use crate::host::event_loop;

/// Name, median latency in milliseconds, and how many requests it works on at once. At the default
/// rate an even share is 67 requests a second: a fast one could take five times that, the slow one
/// about half.
const CAST: [(&str, u64, u32); 6] = [
    ("fast-1", 20, 8),
    ("fast-2", 20, 8),
    ("fast-3", 20, 8),
    ("fast-4", 20, 8),
    ("medium", 40, 4),
    ("slow", 100, 4),
];

/// The name of the slowest.
pub(super) const SLOWEST: &str = "slow";

/// How widely latencies spread: the deviation of their logarithm.
const SPREAD: f64 = 0.3;

/// How many requests may wait in front of a backend before it refuses, as servers do.
const QUEUE: u32 = 40;

/// The running backends. Dropped, they end.
pub(super) struct Fleet {
    backends: Vec<Backend>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// One of them.
pub(super) struct Backend {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    concurrency: u32,
    work: Arc<Work>,
}

impl Backend {
    /// How many requests a second it can work on, by the time that each took it.
    pub(super) fn ability(&self) -> Option<f64> {
        Some(f64::from(self.concurrency) / self.work.mean_seconds()?)
    }

    /// How it is told to be.
    pub(super) fn mood(&self) -> Arc<Mood> {
        self.work.mood()
    }

    /// The mean time that it worked on a request.
    pub(super) fn mean_seconds(&self) -> Option<f64> {
        self.work.mean_seconds()
    }
}

impl Fleet {
    /// Starts them.
    pub(super) fn start(rng: &mut Rng) -> Result<Self, Failure> {
        let runtime = event_loop()?;
        let mut backends = Vec::new();
        let mut serving = JoinSet::new();
        for (name, median, concurrency) in CAST {
            let (listener, address) = bind(name)?;
            let _guard = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener).map_err(Failure::runtime)?;
            let behaviour = Behaviour {
                name: name.to_owned(),
                latency: LatencyLaw::LogNormal(Duration::from_millis(median), SPREAD),
                errors: 0.0,
                concurrency: Some(concurrency),
                queue: Some(QUEUE),
            };
            let (work, served) = backend::serve(listener, behaviour, rng.next_u64());
            serving.spawn_on(served, runtime.handle());
            backends.push(Backend {
                name,
                address,
                concurrency,
                work,
            });
        }
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("backends".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    tokio::select! {
                        Some(Ok(error)) = serving.join_next() => {
                            tracing::error!(%error, "a backend ended");
                        }
                        _ = ended => {}
                    }
                });
            })
            .map_err(Failure::runtime)?;
        Ok(Self {
            backends,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// All of them.
    pub(super) fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// As the gateway gets to know them: equal.
    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        let backends = self.backends.iter();
        backends
            .map(|backend| Endpoint::new(backend.name, backend.address.to_string()))
            .collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It ends by itself, and a panic in it was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn bind(name: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bound = TcpListener::bind(any).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|error| {
        Failure::runtime(format!("backend {name} cannot listen on {any}: {error}"))
    })
}
