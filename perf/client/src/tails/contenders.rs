//! The balancers, each as its own documentation says to use it.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Result;
use evenkeel_client::core::Endpoint;
use evenkeel_client::{Cluster, Plain, Settings};
use pingora_load_balancing::discovery::ServiceDiscovery;
use pingora_load_balancing::selection::{BackendIter, BackendSelection, Random, RoundRobin};
use pingora_load_balancing::{Backend, Backends as PingoraBackends, LoadBalancer};
use tokio::sync::mpsc;
use tower::balance::p2c::Balance;
use tower::buffer::Buffer;
use tower::discover::Change;
use tower::load::{CompleteOnResponse, Load, PeakEwma, PendingRequests};
use tower::util::BoxCloneService;
use tower::{BoxError, Service, ServiceExt};

use super::backends::{Backends, COUNT, One};

/// A call: whether it has an answer.
pub(super) type Answer = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Makes calls.
pub(super) type Caller = Box<dyn FnMut() -> Answer + Send>;

type Building = Pin<Box<dyn Future<Output = Result<Caller>> + Send>>;

pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) build: fn(&Arc<Backends>) -> Building,
}

pub(super) fn contenders() -> Vec<Contender> {
    vec![
        Contender {
            name: "evenkeel-client least_request",
            build: |all| evenkeel("least_request", all),
        },
        Contender {
            name: "evenkeel-client peak_ewma",
            build: |all| evenkeel("peak_ewma", all),
        },
        Contender {
            name: "evenkeel-client prequal",
            build: |all| evenkeel("prequal", all),
        },
        Contender {
            name: "tower p2c, pending requests",
            build: |all| tower(all, pending),
        },
        Contender {
            name: "tower p2c, peak ewma",
            build: |all| tower(all, ewma),
        },
        Contender {
            name: "tonic's own (tower p2c, no load)",
            build: |all| tower(all, no_load),
        },
        Contender {
            name: "pingora round_robin",
            build: pingora::<RoundRobin>,
        },
        Contender {
            name: "pingora random",
            build: pingora::<Random>,
        },
    ]
}

fn services(all: &Arc<Backends>) -> (Vec<One>, Vec<One>) {
    let one = |number| One {
        all: Arc::clone(all),
        number,
    };
    let at_first = if all.joins_after().is_some() {
        COUNT - 1
    } else {
        COUNT
    };
    (
        (0..at_first).map(one).collect(),
        (at_first..COUNT).map(one).collect(),
    )
}

fn evenkeel(strategy: &'static str, all: &Arc<Backends>) -> Building {
    let all = Arc::clone(all);
    Box::pin(async move {
        let (first, later) = services(&all);
        let endpoint =
            |one: &One| Endpoint::new(format!("e{}", one.number), one.number.to_string());
        let settings = Settings::new("bench").strategy(strategy, &[])?;
        let list: Vec<Endpoint> = first.iter().map(endpoint).collect();
        let backends = Arc::clone(&all);
        let connect = move |endpoint: &Endpoint| One {
            all: Arc::clone(&backends),
            number: endpoint.address().parse().unwrap_or_default(),
        };
        let cluster = Cluster::new(settings, list, connect)?;
        let service = cluster.balance(Plain);
        if let Some(after) = all.joins_after() {
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                later.iter().map(endpoint).for_each(|one| {
                    cluster.upsert(one);
                });
            });
        }
        let call = move || -> Answer {
            let answer = service.clone().oneshot(());
            Box::pin(async move { answer.await.is_ok() })
        };
        Ok(Box::new(call) as Caller)
    })
}

fn pending(one: One) -> PendingRequests<One> {
    PendingRequests::new(one, CompleteOnResponse::default())
}

fn ewma(one: One) -> PeakEwma<One> {
    PeakEwma::new(
        one,
        Duration::from_millis(30),
        10e9,
        CompleteOnResponse::default(),
    )
}

/// As tonic's `Channel::balance_list` builds it: each connection has the load 0.
struct NoLoad(One);

impl Load for NoLoad {
    type Metric = usize;

    fn load(&self) -> usize {
        0
    }
}

impl Service<()> for NoLoad {
    type Response = ();
    type Error = BoxError;
    type Future = <One as Service<()>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, (): ()) -> Self::Future {
        self.0.call(())
    }
}

fn no_load(one: One) -> NoLoad {
    NoLoad(one)
}

/// The endpoints as tower wants to hear of them.
struct Changes<S>(mpsc::Receiver<(usize, S)>);

impl<S> futures_core::Stream for Changes<S> {
    type Item = Result<Change<usize, S>, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.poll_recv(cx) {
            Poll::Ready(Some((key, service))) => {
                Poll::Ready(Some(Ok(Change::Insert(key, service))))
            }
            // The list is what it is from here on.
            _ => Poll::Pending,
        }
    }
}

impl<S> Unpin for Changes<S> {}

fn tower<S>(all: &Arc<Backends>, load: fn(One) -> S) -> Building
where
    S: Service<(), Error = BoxError> + Load + Send + 'static,
    S::Metric: std::fmt::Debug,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    let all = Arc::clone(all);
    Box::pin(async move {
        let (first, later) = services(&all);
        let (sender, receiver) = mpsc::channel(COUNT);
        for one in first {
            sender
                .try_send((one.number, load(one)))
                .map_err(|_| anyhow::anyhow!("room for all"))?;
        }
        let after = all.joins_after();
        tokio::spawn(async move {
            tokio::time::sleep(after.unwrap_or_default()).await;
            for one in later {
                let _ = sender.send((one.number, load(one))).await;
            }
        });
        // A `Balance` is shared through a buffer.
        let buffer = Buffer::new(Balance::new(Changes(receiver)), 1024);
        let buffer = BoxCloneService::new(buffer);
        let call = move || -> Answer {
            let answer = buffer.clone().oneshot(());
            Box::pin(async move { answer.await.is_ok() })
        };
        Ok(Box::new(call) as Caller)
    })
}

fn pingora<S>(all: &Arc<Backends>) -> Building
where
    S: BackendSelection + Send + Sync + 'static,
    S::Iter: BackendIter,
{
    let all = Arc::clone(all);
    Box::pin(async move {
        let backend = |one: &One| Backend::new(&format!("127.0.0.1:{}", one.number + 1));
        let (first, later) = services(&all);
        let list: Result<BTreeSet<_>, _> = first.iter().map(backend).collect();
        let list = list.map_err(|error| anyhow::anyhow!("{error}"))?;
        let shared = Arc::new(Mutex::new(list));
        let backends = PingoraBackends::new(Box::new(Source(Arc::clone(&shared))));
        let balancer = Arc::new(LoadBalancer::<S>::from_backends(backends));
        balancer
            .update()
            .await
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        if let Some(after) = all.joins_after() {
            let balancer = Arc::clone(&balancer);
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                for one in &later {
                    shared
                        .lock()
                        .expect("whole")
                        .insert(backend(one).expect("an address"));
                }
                let _ = balancer.update().await;
            });
        }
        let call = move || -> Answer {
            let (balancer, all) = (Arc::clone(&balancer), Arc::clone(&all));
            Box::pin(async move {
                let Some(chosen) = balancer.select(b"", 256) else {
                    return false;
                };
                let port = chosen.addr.as_inet().map_or(1, |address| address.port());
                let mut one = One {
                    all,
                    number: usize::from(port) - 1,
                };
                match one.ready().await {
                    Ok(one) => one.call(()).await.is_ok(),
                    Err(_) => false,
                }
            })
        };
        Ok(Box::new(call) as Caller)
    })
}

/// A list that can be added to.
struct Source(Arc<Mutex<BTreeSet<Backend>>>);

#[async_trait::async_trait]
impl ServiceDiscovery for Source {
    async fn discover(&self) -> pingora_error::Result<(BTreeSet<Backend>, HashMap<u64, bool>)> {
        Ok((self.0.lock().expect("whole").clone(), HashMap::new()))
    }
}
