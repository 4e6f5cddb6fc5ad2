//! Whose turn it is to be asked, and who is being asked.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

use evenkeel_core::Nanos;
use evenkeel_core::health::ProbeSchedule;
use tokio::sync::mpsc::{OwnedPermit, Sender};
use tokio::task::AbortHandle;

use super::ask::Asked;
use crate::cluster::Cluster;

/// The rounds in which the endpoints of a cluster are asked one thing. Dropping them ends what is under way.
#[derive(Debug)]
pub(super) struct Rounds {
    schedule: ProbeSchedule,
    running: BTreeMap<Arc<str>, Running>,
    /// The number of the next question, so that what is not awaited any more is known.
    number: u64,
}

#[derive(Debug)]
struct Running {
    number: u64,
    began: Nanos,
    task: AbortHandle,
}

/// What is asked.
#[derive(Debug)]
pub(super) enum Question {
    /// Whether the endpoint is well.
    Check,
    /// What the agent at this address says of it.
    Agent(Arc<str>),
}

/// A question that has come to its end.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) cluster: Arc<Cluster>,
    pub(super) id: Arc<str>,
    pub(super) question: Question,
    number: u64,
    /// None when it was broken off: that says nothing of the endpoint.
    pub(super) asked: Option<Asked>,
}

impl Drop for Rounds {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.task.abort();
        }
    }
}

impl Rounds {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            schedule: ProbeSchedule::new(seed),
            running: BTreeMap::new(),
            number: 0,
        }
    }

    /// Takes in the end of a question, and says when it was begun, if it is one that is awaited.
    pub(super) fn end(&mut self, ended: &Ended) -> Option<Nanos> {
        let running = self.running.get(&ended.id)?;
        if running.number != ended.number {
            return None;
        }
        self.running.remove(&ended.id).map(|running| running.began)
    }

    /// The question that began then has ended: the next one comes `pace` after that.
    pub(super) fn done(&mut self, id: &str, began: Nanos, pace: Nanos, now: Nanos) {
        self.schedule.done(id, began, pace, now);
    }

    /// Those of this list are asked from now on, and nobody else.
    pub(super) fn follow_list(&mut self, ids: &[Arc<str>], interval: Option<Nanos>, now: Nanos) {
        let wanted: BTreeSet<&Arc<str>> = ids.iter().collect();
        let known = self.schedule.ids();
        let gone: Vec<Arc<str>> = known.filter(|id| !wanted.contains(id)).cloned().collect();
        for id in gone {
            self.forget(&id);
            self.schedule.remove(&id);
        }
        let Some(interval) = interval else {
            return;
        };
        // All that are there at the start are asked in turn; one that comes later is at once.
        let is_start = self.schedule.ids().next().is_none();
        for id in ids {
            if is_start {
                self.schedule.add(id, interval, now);
            } else if !self.schedule.contains(id) {
                self.schedule.hurry(id, now);
            }
        }
    }

    /// What is asked is another thing now: what is under way is worth nothing, and all are asked at once.
    pub(super) fn begin_anew(&mut self, now: Nanos) {
        let ids: Vec<Arc<str>> = self.running.keys().cloned().collect();
        for id in ids {
            self.forget(&id);
        }
        for id in self.schedule.ids().cloned().collect::<Vec<_>>() {
            self.schedule.hurry(&id, now);
        }
    }

    /// Breaks off the question of an endpoint that is under way; the next one is due at once.
    fn forget(&mut self, id: &Arc<str>) {
        if let Some(running) = self.running.remove(id) {
            running.task.abort();
            self.schedule.remove(id);
            self.schedule.hurry(id, running.began);
        }
    }

    /// Starts the questions that are due.
    pub(super) fn begin<F>(
        &mut self,
        cluster: &Arc<Cluster>,
        sender: &Sender<Ended>,
        now: Nanos,
        mut ask: impl FnMut(&str) -> (Question, F),
    ) where
        F: Future<Output = Option<Asked>> + Send + 'static,
    {
        // A place for its end is had before it begins, so that none gets lost.
        while let Ok(place) = sender.clone().try_reserve_owned() {
            let Some(id) = self.schedule.begin(now) else {
                return;
            };
            self.number += 1;
            let (question, asking) = ask(&id);
            let mut ending = Ending {
                place: Some(place),
                ended: Some(Ended {
                    cluster: Arc::clone(cluster),
                    id: Arc::clone(&id),
                    question,
                    number: self.number,
                    asked: None,
                }),
            };
            let task = tokio::spawn(async move {
                let asked = asking.await;
                if let Some(ended) = &mut ending.ended {
                    ended.asked = asked;
                }
            });
            let running = Running {
                number: self.number,
                began: now,
                task: task.abort_handle(),
            };
            self.running.insert(id, running);
        }
    }

    /// When somebody is due.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.schedule.next()
    }
}

/// Says that a question has ended, whatever becomes of it: it may be broken off, or meet a mistake of ours,
/// and either says nothing of the endpoint.
#[derive(Debug)]
struct Ending {
    place: Option<OwnedPermit<Ended>>,
    ended: Option<Ended>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let (Some(place), Some(ended)) = (self.place.take(), self.ended.take()) {
            place.send(ended);
        }
    }
}
