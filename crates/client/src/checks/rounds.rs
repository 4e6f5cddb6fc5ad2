//! Whose turn it is to be checked, and who is being checked.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use evenkeel_core::health::{ActivePolicy, ProbeResult, ProbeSchedule};
use evenkeel_core::{Endpoint, Nanos};
use tokio::task::{AbortHandle, JoinError, JoinSet};

use super::Check;
use crate::error::BoxError;
use crate::upkeep::said;

/// The rounds in which the endpoints of a cluster are checked. Dropping them ends what is under way.
pub(super) struct Rounds {
    policy: ActivePolicy,
    clock: fn() -> Nanos,
    schedule: ProbeSchedule,
    endpoints: BTreeMap<Arc<str>, Arc<Endpoint>>,
    running: BTreeMap<Arc<str>, Running>,
    /// The number of the next check, so that what is not awaited any more is known.
    number: u64,
    tasks: JoinSet<Ended>,
    /// A check that has ended and was not taken in yet.
    ended: Option<Result<Ended, JoinError>>,
    /// Whose next check is to be put into the schedule, with the begin of the last one.
    done: Vec<(Arc<str>, Nanos)>,
}

struct Running {
    number: u64,
    task: AbortHandle,
    began: Nanos,
}

/// A check that has come to its end.
struct Ended {
    id: Arc<str>,
    number: u64,
    /// Or what it panicked with: that says nothing of the endpoint.
    seen: Result<ProbeResult, Box<dyn Any + Send>>,
}

impl Rounds {
    pub(super) fn new(policy: ActivePolicy, clock: fn() -> Nanos, seed: u64) -> Self {
        Self {
            policy,
            clock,
            schedule: ProbeSchedule::new(seed),
            endpoints: BTreeMap::new(),
            running: BTreeMap::new(),
            number: 0,
            tasks: JoinSet::new(),
            ended: None,
            done: Vec::new(),
        }
    }

    /// Those of this list are checked from now on, and nobody else. What has another address is checked anew.
    pub(super) fn follow_list(&mut self, list: Vec<Arc<Endpoint>>) {
        let now = (self.clock)();
        // All that are there at the start are asked in turn; one that comes later is at once.
        let is_start = self.endpoints.is_empty();
        let list: BTreeMap<_, _> = list.into_iter().map(|one| (one.shared_id(), one)).collect();
        let before = std::mem::replace(&mut self.endpoints, list);
        for (id, old) in before {
            let new = self.endpoints.get(&id);
            if new.is_none_or(|new| new.address() != old.address()) {
                self.schedule.remove(&id);
                if let Some(running) = self.running.remove(&id) {
                    running.task.abort();
                }
            }
        }
        for id in self.endpoints.keys() {
            match self.schedule.contains(id) {
                true => {}
                false if is_start => self.schedule.add(id, self.policy.interval, now),
                false => self.schedule.hurry(id, now),
            }
        }
    }

    /// Starts the checks that are due.
    pub(super) fn begin(&mut self, check: &Arc<dyn Check>) {
        let now = (self.clock)();
        while let Some(id) = self.schedule.begin(now) {
            let Some(endpoint) = self.endpoints.get(&id).map(Arc::clone) else {
                continue;
            };
            self.number += 1;
            let (number, check) = (self.number, Arc::clone(check));
            let (of, timeout, clock) = (Arc::clone(&id), self.policy.timeout, self.clock);
            let task = self.tasks.spawn(async move {
                let checking = caught(async move { check.check(&endpoint).await });
                let seen = within(timeout, clock, checking).await;
                let seen = seen.unwrap_or_else(|| Ok(Err(late(timeout))));
                Ended {
                    id: of,
                    number,
                    seen: seen.map(result),
                }
            });
            let running = Running {
                number,
                task,
                began: now,
            };
            self.running.insert(id, running);
        }
    }

    /// Waits until a check has ended.
    ///
    /// # Cancel safety
    ///
    /// Nothing gets lost.
    pub(super) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(ended) => self.ended = Some(ended),
            None => std::future::pending().await,
        }
    }

    /// Takes in what has ended, and gives what was found. Hears of panics.
    pub(super) fn take_in(&mut self, panicked: impl Fn(&str)) -> Vec<(Arc<str>, ProbeResult)> {
        let mut found = Vec::new();
        while let Some(ended) = self.ended.take().or_else(|| self.tasks.try_join_next()) {
            // One that was broken off is not awaited.
            let Ok(Ended { id, number, seen }) = ended else {
                continue;
            };
            if self
                .running
                .get(&id)
                .is_none_or(|running| running.number != number)
            {
                continue;
            }
            let began = self.running.remove(&id).map(|running| running.began);
            self.done
                .extend(began.map(|began| (Arc::clone(&id), began)));
            match seen {
                Ok(result) => found.push((id, result)),
                Err(panic) => panicked(said(&*panic)),
            }
        }
        found
    }

    /// Has the next check of those whose last one was taken in come when it should.
    pub(super) fn go_on(&mut self, pace: impl Fn(&str) -> Option<Nanos>) {
        for (id, began) in self.done.drain(..) {
            let pace = pace(&id).unwrap_or(self.policy.interval);
            self.schedule.done(&id, began, pace, (self.clock)());
        }
    }

    /// When somebody is due.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.schedule.next()
    }
}

fn result(seen: Result<(), BoxError>) -> ProbeResult {
    ProbeResult {
        passed: seen.is_ok(),
        seen: seen.err().map(|why| in_words(&*why)).unwrap_or_default(),
    }
}

/// An error with what caused it.
fn in_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

fn late(timeout: Nanos) -> BoxError {
    format!("no answer within {:?}", Duration::from(timeout)).into()
}

/// What something comes to, or what it panics with.
async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

/// From this part of its time on we count as late.
const LATE_PART: u64 = 10;

/// What a check comes to within its time.
///
/// When this thread was not run at the end of that, for want of a processor, the endpoint has had no chance to be
/// heard: it gets as much longer as we are late, up to its time once more.
async fn within<T>(
    timeout: Nanos,
    clock: fn() -> Nanos,
    checking: impl Future<Output = T>,
) -> Option<T> {
    let began = clock();
    let mut checking = pin!(checking);
    let in_time = tokio::time::timeout(Duration::from(timeout), checking.as_mut()).await;
    if let Ok(seen) = in_time {
        return Some(seen);
    }
    let late = clock().since(began + timeout);
    if late < Nanos(timeout.0 / LATE_PART) {
        return None;
    }
    let longer = Duration::from(late.min(timeout));
    tokio::time::timeout(longer, checking).await.ok()
}
