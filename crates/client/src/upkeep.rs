//! Looks after a cluster: ejections begin and end, endpoints warm up, those who wait are served.
//!
//! By a thread of its own for each cluster, so that neither a runtime is needed nor any call pays for it.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use evenkeel_core::Nanos;

use crate::clock;
use crate::cluster::Inner;
use crate::connect::Connect;
use crate::observe::Trouble;
use crate::shared::Shared;

/// How often medians are looked at, as in the gateway.
const MEDIAN_INTERVAL: Nanos = Nanos::from_secs(5);

/// How often those who wait are looked after, while anybody does: what failures weighed fades.
const SERVE_INTERVAL: Nanos = Nanos::from_millis(50);

/// How long it sleeps at most.
const REST: Nanos = Nanos::from_secs(1);

/// Looks after a cluster until it ends. Where the system gives no thread, that is told, and calls go on without.
pub(crate) fn start<C: Connect>(inner: &Arc<Inner<C>>) {
    start_by(inner, |work| {
        let thread = std::thread::Builder::new().name("evenkeel-upkeep".to_owned());
        thread.spawn(work).map(drop)
    });
}

fn start_by<C: Connect>(
    inner: &Arc<Inner<C>>,
    spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> io::Result<()>,
) {
    let (weak, shared) = (Arc::downgrade(inner), Arc::clone(&inner.shared));
    if let Err(error) = spawn(Box::new(move || look_after(&weak, &shared))) {
        tell(&inner.shared, &Trouble::NoThread(&error));
    }
}

fn look_after<C: Connect>(cluster: &Weak<Inner<C>>, shared: &Shared) {
    let mut due = Due::new(shared, clock::now());
    while !shared.has_ended() {
        // Held for as long as it takes, so that the cluster can end.
        let Some(inner) = cluster.upgrade() else {
            return;
        };
        let next = due.look(&inner);
        // It may end the cluster, and so run code of others.
        guard(shared, move || drop(inner));
        let rest = next.since(clock::now()).min(REST);
        shared.wait(Duration::from_nanos(rest.0));
    }
}

/// Does a step in which code of others may run, and says whether it went through. What it panics with is told; the
/// thread goes on.
pub(crate) fn guard(shared: &Shared, step: impl FnOnce()) -> bool {
    // What the step holds is whole after a panic: see the locks that it takes.
    let Err(panic) = catch_unwind(AssertUnwindSafe(step)) else {
        return true;
    };
    let message = said(&*panic);
    tell(shared, &Trouble::Panicked { message });
    false
}

/// What a panic says.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a text")
}

/// Tells all observers; one that panics at this too has said so by its panic.
pub(crate) fn tell(shared: &Shared, trouble: &Trouble<'_>) {
    let settings = &shared.settings;
    let cluster = &*settings.name;
    #[cfg(feature = "tracing")]
    tracing::error!(cluster, "{trouble}");
    for observer in &settings.observers {
        let _ = catch_unwind(AssertUnwindSafe(|| observer.trouble(cluster, trouble)));
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
        let shared = &*inner.shared;
        let mut went_through = true;
        if shared.take_accusation() {
            went_through &= guard(shared, || inner.judge_runs());
        }
        if let (Some(at), Some(interval)) = (self.outlier, self.interval)
            && at <= now
        {
            self.outlier = Some(now + interval);
            went_through &= guard(shared, || inner.judge_interval());
        }
        if self.median <= now {
            self.median = now + MEDIAN_INTERVAL;
            went_through &= guard(shared, || inner.follow_median());
        }
        if inner.next_tick(now).is_some_and(|at| at <= now) {
            went_through &= guard(shared, || inner.tick());
        }
        let room = &shared.room;
        let serve = (!room.is_empty()).then(|| {
            went_through &= guard(shared, || room.serve(now));
            now + SERVE_INTERVAL
        });
        let dues = [self.outlier, inner.next_tick(now), serve, Some(self.median)];
        let next = dues.into_iter().flatten().min().unwrap_or(now + REST);
        match went_through {
            true => next,
            // What panics each time does not take the processor.
            false => next.max(now + SERVE_INTERVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use evenkeel_core::Endpoint;

    use super::*;
    use crate::{Cluster, Observe, Settings};

    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Observe for Heard {
        fn trouble(&self, cluster: &str, trouble: &Trouble<'_>) {
            let line = format!("{cluster}: {trouble}");
            self.0.lock().expect("whole").push(line);
        }
    }

    #[test]
    fn a_thread_that_the_system_does_not_give_is_told() {
        let heard = Arc::new(Heard::default());
        let settings = Settings::new("web").observe(heard.clone());
        let cluster = Cluster::new(settings, [], |_: &Endpoint| ()).expect("unique");
        start_by(&cluster.inner, |_| Err(io::Error::other("too many")));
        let line = "web: nothing looks after the cluster, no thread for it: too many";
        assert_eq!(*heard.0.lock().expect("whole"), [line]);
    }
}
