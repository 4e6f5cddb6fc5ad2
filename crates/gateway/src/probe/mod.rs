//! Checks of endpoints, and whoever watches over them: on the control thread, so that traffic does not
//! hold them up.
//!
//! One task watches all clusters. It starts what is due, takes in what has ended, has failures judged
//! that workers report, and wakes up when an ejection ends or an endpoint is a step warmer. What all
//! that comes to is decided by the core's machines.

mod agent;
mod ask;
mod grpc;
mod http;
mod http2;
mod rounds;
mod watched;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::Nanos;
use tokio::sync::mpsc;

use crate::lifecycle::Shared;
pub(crate) use http::call;
use rounds::Ended;
use watched::Watched;
pub(crate) use wire::open;

/// How many checks that have ended may wait to be taken in.
const ENDED_MAX: usize = 4096;

/// How many are taken in at once: what they change is published once.
const BATCH: usize = 1024;

/// Between two looks at what is due, at least: the runtime's timers are no finer.
const PAUSE_MIN: Nanos = Nanos::from_millis(1);

/// And at most: whatever should have rung the bell and has not.
const PAUSE_MAX: Nanos = Nanos::from_millis(500);

/// Watches over all endpoints, on and on.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let (sender, mut ended) = mpsc::channel(ENDED_MAX);
    let mut all: Vec<Watched> = Vec::new();
    let mut batch: Vec<Ended> = Vec::with_capacity(BATCH);
    loop {
        follow_plan(&mut all, &shared);
        let now = shared.clock.now();
        let mut next = now + PAUSE_MAX;
        for watched in &mut all {
            watched.take_in(&mut batch, now);
            watched.judge(now);
            watched.begin(&sender, &shared, now);
            next = next.min(watched.next(now));
        }
        // What is left is of clusters that are gone.
        batch.clear();
        let pause = Nanos(next.since(shared.clock.now()).0.max(PAUSE_MIN.0));
        tokio::select! {
            () = tokio::time::sleep(Duration::from(pause)) => {}
            () = shared.site.bell().notified() => {}
            _ = ended.recv_many(&mut batch, BATCH) => {}
        }
    }
}

/// Begins to watch clusters that are new, and ceases with those that are gone: their checks end there.
fn follow_plan(all: &mut Vec<Watched>, shared: &Shared) {
    let plan = shared.plan.load();
    let is_same = all.len() == plan.clusters.len()
        && all
            .iter()
            .zip(&plan.clusters)
            .all(|(watched, cluster)| watched.is(cluster));
    if is_same {
        return;
    }
    let mut old = std::mem::take(all);
    for cluster in &plan.clusters {
        let known = old.iter().position(|watched| watched.is(cluster));
        let watched = match known {
            Some(at) => old.swap_remove(at),
            None => Watched::new(cluster, shared),
        };
        all.push(watched);
    }
}
