//! The latest receipts, for whoever asks.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use evenkeel_config::DecisionLog;
use evenkeel_core::{Aside, unpoisoned};

use super::asides::Asides;
use super::watch::Watches;
use crate::clock::Clock;
use crate::log::LineFile;
use evenkeel_receipts::Sample;

/// A receipt that was kept.
#[derive(Debug)]
pub struct Kept {
    /// The request.
    pub request_id: Box<str>,
    /// Its cluster.
    pub cluster: Arc<str>,
    /// The endpoint that was chosen, if one was.
    pub chosen: Option<Arc<str>>,
    /// Which try of the request it was, from 1.
    pub attempt: u32,
    /// The line of the decision log, an object of JSON.
    pub line: Box<str>,
    /// Whether all of the cluster was asked for, and not those with some labels.
    pub(super) of_all: bool,
    /// Who could get nothing in its generation.
    pub(super) asides: Arc<Asides>,
}

impl Kept {
    /// The endpoints that could get nothing when it was decided, and why, but for the one that was chosen all
    /// the same: up to 32, those out of service first.
    pub fn asides(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let told = self.asides.told().filter(|(id, aside)| {
            // Among those with some labels tiers and zones have other turns.
            self.chosen.as_deref() != Some(*id) && (self.of_all || *aside != Aside::Spare)
        });
        told.map(|(id, aside)| (id, aside.as_str()))
    }

    /// How many more there were.
    #[must_use]
    pub fn asides_left_out(&self) -> usize {
        self.asides.left_out()
    }
}

/// Which receipts are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Those of this cluster.
    pub cluster: Option<&'a str>,
    /// Those whose choice this endpoint was.
    pub endpoint: Option<&'a str>,
    /// At most so many.
    pub limit: usize,
}

impl Wanted<'_> {
    fn takes(&self, kept: &Kept) -> bool {
        self.cluster.is_none_or(|name| *kept.cluster == *name)
            && self
                .endpoint
                .is_none_or(|id| kept.chosen.as_deref() == Some(id))
    }
}

/// The receipts of a gateway: the latest in memory, and the log they are written to.
#[derive(Debug)]
pub struct Receipts {
    keep: usize,
    ring: Mutex<VecDeque<Arc<Kept>>>,
    pub(super) sample: Sample,
    /// The share that it takes.
    share: f64,
    pub(super) header: Option<Box<str>>,
    pub(crate) file: Option<Arc<LineFile>>,
    pub(super) clock: Clock,
    pub(super) watches: Watches,
}

impl Receipts {
    /// Opens the log, if there is one.
    ///
    /// # Errors
    ///
    /// When its file cannot be opened or the system gives no thread.
    pub(crate) fn open(config: &DecisionLog, clock: Clock) -> io::Result<Self> {
        let file = config.path.as_deref();
        let file = file.map(|path| LineFile::open(path, "decision", clock));
        Ok(Self {
            keep: config.keep as usize,
            ring: Mutex::default(),
            sample: Sample::new(config.sample),
            share: config.sample,
            header: config.header.as_deref().map(Into::into),
            file: file.transpose()?.map(Arc::new),
            clock,
            watches: Watches::default(),
        })
    }

    /// Which share of the requests is kept, whatever comes of them: from 0 to 1.
    #[must_use]
    pub fn sample(&self) -> f64 {
        self.share
    }

    /// The latest receipts that are wanted, the newest first. O(kept).
    #[must_use]
    pub fn latest(&self, wanted: Wanted<'_>) -> Vec<Arc<Kept>> {
        let ring = unpoisoned(self.ring.lock());
        let newest = ring.iter().rev().filter(|kept| wanted.takes(kept));
        newest.take(wanted.limit).cloned().collect()
    }

    /// The receipts of a request, the first try first; none when none was kept. Of several requests
    /// with one id, those of the latest. O(kept).
    #[must_use]
    pub fn of_request(&self, request_id: &str) -> Vec<Arc<Kept>> {
        let ring = unpoisoned(self.ring.lock());
        let mut found: Vec<Arc<Kept>> = Vec::new();
        for kept in ring.iter().rev() {
            if *kept.request_id != *request_id {
                continue;
            }
            if found
                .last()
                .is_some_and(|later| later.attempt <= kept.attempt)
            {
                break;
            }
            found.push(Arc::clone(kept));
        }
        found.reverse();
        found
    }

    /// Up to `limit` ids of requests that begin like this, each once, the newest first. O(kept * limit).
    #[must_use]
    pub fn ids_beginning(&self, beginning: &str, limit: usize) -> Vec<Arc<str>> {
        let ring = unpoisoned(self.ring.lock());
        let mut found: Vec<Arc<str>> = Vec::new();
        for kept in ring.iter().rev() {
            if found.len() >= limit {
                break;
            }
            if kept.request_id.starts_with(beginning)
                && !found.iter().any(|id| **id == *kept.request_id)
            {
                found.push((&*kept.request_id).into());
            }
        }
        found
    }

    /// Keeps a receipt, and lets go of the oldest one when there is no room.
    pub(super) fn keep(&self, kept: Kept) -> Arc<Kept> {
        let kept = Arc::new(kept);
        if self.keep == 0 {
            return kept;
        }
        let oldest = {
            let mut ring = unpoisoned(self.ring.lock());
            let oldest = (ring.len() >= self.keep).then(|| ring.pop_front());
            ring.push_back(Arc::clone(&kept));
            oldest
        };
        // Its memory is given back outside the lock.
        drop(oldest);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipts(keep: u32) -> Receipts {
        let config = DecisionLog {
            keep,
            ..DecisionLog::default()
        };
        Receipts::open(&config, Clock::start()).expect("no file")
    }

    fn kept(id: &str, attempt: u32, cluster: &str, chosen: Option<&str>) -> Kept {
        Kept {
            request_id: id.into(),
            cluster: cluster.into(),
            chosen: chosen.map(Into::into),
            attempt,
            line: format!("{id}/{attempt}").into(),
            of_all: true,
            asides: Arc::default(),
        }
    }

    fn lines(all: &[Arc<Kept>]) -> Vec<&str> {
        all.iter().map(|kept| &*kept.line).collect()
    }

    #[test]
    fn the_latest_are_kept_and_the_newest_come_first() {
        let receipts = receipts(3);
        for (id, chosen) in [
            ("r1", Some("a")),
            ("r2", Some("b")),
            ("r3", None),
            ("r4", Some("b")),
        ] {
            receipts.keep(kept(id, 1, "web", chosen));
        }
        let latest = |endpoint, cluster, limit| {
            receipts.latest(Wanted {
                cluster,
                endpoint,
                limit,
            })
        };
        assert_eq!(lines(&latest(None, None, 9)), ["r4/1", "r3/1", "r2/1"]);
        assert_eq!(lines(&latest(Some("b"), Some("web"), 1)), ["r4/1"]);
        assert_eq!(lines(&latest(Some("b"), None, 9)), ["r4/1", "r2/1"]);
        assert!(latest(Some("a"), None, 9).is_empty());
        assert!(latest(None, Some("api"), 9).is_empty());
        assert!(receipts.of_request("r1").is_empty());
    }

    #[test]
    fn the_tries_of_the_latest_request_of_an_id_are_found() {
        let receipts = receipts(100);
        for (id, attempt) in [
            ("x", 1),
            ("x", 2),
            ("y", 1),
            ("x", 1),
            ("y", 2),
            ("x", 2),
            ("x", 3),
        ] {
            receipts.keep(kept(id, attempt, "web", None));
        }
        assert_eq!(lines(&receipts.of_request("x")), ["x/1", "x/2", "x/3"]);
        assert_eq!(receipts.of_request("x").len(), 3);
        assert_eq!(lines(&receipts.of_request("y")), ["y/1", "y/2"]);
    }

    #[test]
    fn nothing_is_kept_when_nothing_is_to_be() {
        let receipts = receipts(0);
        receipts.keep(kept("x", 1, "web", None));
        assert!(receipts.of_request("x").is_empty());
    }
}
