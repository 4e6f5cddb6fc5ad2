//! Pingora's balancer, as a proxy uses it: one `LoadBalancer` shared by all threads, `select` with
//! the request's key. Hashing the key is part of `select` there; its ring is Ketama's.

use crate::contender::{Build, Case, Contender, Entry, Keys, address, weight};
use anyhow::{Context, Result};
use pingora_load_balancing::discovery::Static;
use pingora_load_balancing::selection::{
    BackendIter, BackendSelection, Consistent, Random, RoundRobin,
};
use pingora_load_balancing::{Backend, Backends, LoadBalancer};
use std::collections::BTreeSet;
use std::sync::Arc;

const SYSTEM: &str = "pingora-load-balancing";
/// Candidates that `select` may look at; the figure of its own examples.
const MAX_ITERATIONS: usize = 256;

pub(crate) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(SYSTEM, "round_robin", build::<RoundRobin>(|_| 1)),
        Entry::new(SYSTEM, "weighted_round_robin", build::<RoundRobin>(weight)),
        Entry::new(SYSTEM, "random", build::<Random>(|_| 1)),
        Entry::new(SYSTEM, "weighted_random", build::<Random>(weight)),
        Entry::new(SYSTEM, "ring_hash", build::<Consistent>(|_| 1)),
    ]
}

struct Pingora<S: BackendSelection> {
    balancer: Arc<LoadBalancer<S>>,
    keys: Keys,
    held: Vec<Option<Backend>>,
}

impl<S> Contender for Pingora<S>
where
    S: BackendSelection + Send + Sync + 'static,
    S::Iter: BackendIter,
{
    fn pick(&mut self, picks: usize) {
        let Self {
            balancer,
            keys,
            held,
        } = self;
        held.extend((0..picks).map(|_| balancer.select(keys.next(), MAX_ITERATIONS)));
    }

    fn release(&mut self) {
        assert!(
            self.held.iter().all(Option::is_some),
            "a healthy backend was not found"
        );
        self.held.clear();
    }
}

fn build<S>(weight: fn(usize) -> u16) -> Build
where
    S: BackendSelection + Send + Sync + 'static,
    S::Iter: BackendIter,
{
    Box::new(move |case| {
        let balancer = Arc::new(balancer::<S>(case, weight)?);
        let contender = |thread| {
            let (balancer, keys) = (Arc::clone(&balancer), Keys::new(thread));
            Box::new(Pingora {
                balancer,
                keys,
                held: Vec::new(),
            }) as Box<dyn Contender>
        };
        Ok((0..case.threads).map(contender).collect())
    })
}

fn balancer<S>(case: Case, weight: fn(usize) -> u16) -> Result<LoadBalancer<S>>
where
    S: BackendSelection + Send + Sync + 'static,
    S::Iter: BackendIter,
{
    let backend = |i| Backend::new_with_weight(&address(i), usize::from(weight(i)));
    let backends: Result<BTreeSet<_>, _> = (0..case.endpoints).map(backend).collect();
    let backends = Backends::new(Static::new(backends.context("an address of the bench")?));
    let balancer = LoadBalancer::from_backends(backends);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime
        .block_on(balancer.update())
        .context("pingora's first update")?;
    Ok(balancer)
}
