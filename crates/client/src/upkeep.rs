//! Looks after a cluster: ejections begin and end, endpoints warm up, those who wait are served.
//!
//! By a thread of its own for each cluster, so that neither a runtime is needed nor any call pays for it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use evenkeel_core::Nanos;

use crate::clock;
use crate::cluster::Inner;
use crate::connect::Connect;
use crate::shared::Shared;

/// How often medians are looked at, as in the gateway.
const MEDIAN_INTERVAL: Nanos = Nanos::from_secs(5);

/// How often those who wait are looked after, while anybody does: what failures weighed fades.
const SERVE_INTERVAL: Nanos = Nanos::from_millis(50);

/// How long it sleeps at most.
const REST: Nanos = Nanos::from_secs(1);

/// Looks after a cluster until it ends. Where the system gives no thread, calls go on without.
pub(crate) fn start<C: Connect>(inner: &Arc<Inner<C>>) {
    let (weak, shared) = (Arc::downgrade(inner), Arc::clone(&inner.shared));
    let thread = std::thread::Builder::new().name("evenkeel-upkeep".to_owned());
    let _ = thread.spawn(move || look_after(&weak, &shared));
}

fn look_after<C: Connect>(cluster: &Weak<Inner<C>>, shared: &Shared) {
    let mut due = Due::new(shared, clock::now());
    while !shared.has_ended() {
        // Held for as long as it takes, so that the cluster can end.
        let Some(inner) = cluster.upgrade() else {
            return;
        };
        let next = due.look(&inner);
        drop(inner);
        let rest = next.since(clock::now()).min(REST);
        shared.wait(Duration::from_nanos(rest.0));
    }
}

/// When what is to be done.
struct Due {
    interval: Option<Nanos>,
    median: Nanos,
    outlier: Option<Nanos>,
}

impl Due {
    fn new(shared: &Shared, now: Nanos) -> Self {
        let outlier = shared.settings.health.outlier;
        let interval = outlier.map(|outlier| outlier.interval);
        Self {
            interval,
            median: now + MEDIAN_INTERVAL,
            outlier: interval.map(|interval| now + interval),
        }
    }

    /// Does what is due, and says when to come again.
    fn look<C: Connect>(&mut self, inner: &Inner<C>) -> Nanos {
        let now = clock::now();
        if inner.shared.take_accusation() {
            inner.judge_runs();
        }
        if let (Some(at), Some(interval)) = (self.outlier, self.interval)
            && at <= now
        {
            inner.judge_interval();
            self.outlier = Some(now + interval);
        }
        if self.median <= now {
            inner.follow_median();
            self.median = now + MEDIAN_INTERVAL;
        }
        if inner.next_tick(now).is_some_and(|at| at <= now) {
            inner.tick();
        }
        let room = &inner.shared.room;
        let serve = (!room.is_empty()).then(|| {
            room.serve(now);
            now + SERVE_INTERVAL
        });
        let dues = [self.outlier, inner.next_tick(now), serve, Some(self.median)];
        dues.into_iter().flatten().min().unwrap_or(now + REST)
    }
}
