//! When which endpoint is checked.
//!
//! Each endpoint has its own rhythm: it begins at a phase that its id alone determines, so that checks are
//! spread over the interval from the start and over all gateways, and goes on with some jitter. No
//! endpoint is checked twice at a time, and so many at most are under way. What is late is done next,
//! never twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::clock::Nanos;
use crate::hash::{Algorithm, Hasher};
use crate::rng::{Rng, scale};

/// So many checks may be under way, or the part of the endpoints below if that is more.
const UNDER_WAY_MIN: usize = 256;
const UNDER_WAY_PART: usize = 8;

/// How far a check is moved from its rhythm, either way: a tenth.
const JITTER_PART: u64 = 10;

/// When which endpoint of a cluster is checked. O(log n) for each check.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_core::{Nanos, health::ProbeSchedule};
///
/// let (mut schedule, id) = (ProbeSchedule::new(7), Arc::from("a"));
/// schedule.add(&id, Nanos::from_secs(2), Nanos(0));
/// let due = schedule.next().expect("there is one");
/// assert_eq!(schedule.begin(due), Some(id));
/// assert_eq!(schedule.under_way(), 1);
/// ```
#[derive(Debug)]
pub struct ProbeSchedule {
    endpoints: BTreeMap<Arc<str>, Place>,
    due: BTreeSet<(Nanos, Arc<str>)>,
    under_way: usize,
    rng: Rng,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Due(Nanos),
    UnderWay,
}

impl ProbeSchedule {
    /// A schedule without endpoints, with jitter of its own.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            endpoints: BTreeMap::new(),
            due: BTreeSet::new(),
            under_way: 0,
            rng: Rng::new(seed),
        }
    }

    /// Adds an endpoint at its phase within `interval` from `now`; one that is there stays as it is.
    pub fn add(&mut self, id: &Arc<str>, interval: Nanos, now: Nanos) {
        if self.endpoints.contains_key(id) {
            return;
        }
        let phase = Hasher::new(Algorithm::Xxh3, 0).hash(id.as_bytes());
        self.put(id, now + Nanos(phase % interval.0.max(1)));
    }

    /// Adds an endpoint that is to be checked at once, or hurries one that is there.
    pub fn hurry(&mut self, id: &Arc<str>, now: Nanos) {
        match self.endpoints.get(id) {
            Some(Place::UnderWay) => {}
            Some(Place::Due(at)) => {
                self.due.remove(&(*at, Arc::clone(id)));
                self.put(id, now);
            }
            None => self.put(id, now),
        }
    }

    /// Removes an endpoint. If its check is under way, [`ProbeSchedule::done`] says so no more.
    pub fn remove(&mut self, id: &str) {
        match self.endpoints.remove_entry(id) {
            Some((id, Place::Due(at))) => {
                self.due.remove(&(at, id));
            }
            Some((_, Place::UnderWay)) => self.under_way -= 1,
            None => {}
        }
    }

    /// The endpoints that are here.
    pub fn ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.endpoints.keys()
    }

    /// Whether an endpoint is here.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.endpoints.contains_key(id)
    }

    /// The next endpoint to check now, which is under way from here on.
    pub fn begin(&mut self, now: Nanos) -> Option<Arc<str>> {
        if self.under_way >= self.under_way_max() || self.due.first()?.0 > now {
            return None;
        }
        let (_, id) = self.due.pop_first()?;
        self.endpoints.insert(Arc::clone(&id), Place::UnderWay);
        self.under_way += 1;
        Some(id)
    }

    /// The check of an endpoint that began at `began` has ended at `now`: the next one begins `pace` after
    /// it began, or at once if that is over. Returns whether the endpoint is still here.
    pub fn done(&mut self, id: &str, began: Nanos, pace: Nanos, now: Nanos) -> bool {
        let Some((id, Place::UnderWay)) = self.endpoints.get_key_value(id) else {
            return false;
        };
        let id = Arc::clone(id);
        self.under_way -= 1;
        let jitter = pace.0 / JITTER_PART;
        let (drawn, _) = scale(self.rng.next_u64(), 2 * jitter + 1);
        let next = began + Nanos(pace.0 - jitter + drawn);
        self.put(&id, next.max(now));
        true
    }

    /// When something is due; none while all that may be is under way, or nothing is here.
    #[must_use]
    pub fn next(&self) -> Option<Nanos> {
        if self.under_way >= self.under_way_max() {
            return None;
        }
        self.due.first().map(|(at, _)| *at)
    }

    /// How many checks are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    fn under_way_max(&self) -> usize {
        UNDER_WAY_MIN.max(self.endpoints.len() / UNDER_WAY_PART)
    }

    fn put(&mut self, id: &Arc<str>, at: Nanos) {
        self.endpoints.insert(Arc::clone(id), Place::Due(at));
        self.due.insert((at, Arc::clone(id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schedule where so many endpoints are due at once.
    fn due(count: usize) -> ProbeSchedule {
        let mut schedule = ProbeSchedule::new(1);
        for at in 0..count {
            schedule.hurry(&Arc::from(format!("e{at}")), Nanos(0));
        }
        schedule
    }

    #[test]
    fn an_eighth_may_be_under_way_but_256_at_least() {
        for (count, most) in [(100, 100), (300, 256), (4_000, 500)] {
            let mut schedule = due(count);
            let begun = std::iter::from_fn(|| schedule.begin(Nanos(0))).count();
            assert_eq!((begun, schedule.under_way()), (most, most), "{count}");
            assert_eq!(schedule.next(), None, "nothing may be begun");
        }
    }

    #[test]
    fn it_knows_who_is_here() {
        let mut schedule = due(2);
        assert!(schedule.contains("e1") && !schedule.contains("e2"));
        schedule.remove("e1");
        assert!(!schedule.contains("e1"));
    }

    /// The jitter is a tenth either way, and all of it is used.
    #[test]
    fn the_rhythm_is_kept_but_for_a_tenth() {
        let (mut schedule, pace) = (due(1), Nanos::from_millis(1_000));
        let mut gaps = Vec::new();
        let mut now = Nanos(0);
        for _ in 0..200 {
            let id = schedule.begin(now).expect("it is due");
            assert!(schedule.done(&id, now, pace, now));
            let next = schedule.next().expect("it goes on");
            gaps.push(next.since(now).as_millis());
            now = next;
        }
        let (least, most) = (gaps.iter().min(), gaps.iter().max());
        let (least, most) = (*least.expect("many"), *most.expect("many"));
        assert!(
            (900..910).contains(&least) && (1_090..=1_100).contains(&most),
            "{least} {most}"
        );
        let mean = now.as_millis() / 200;
        assert!((980..1_020).contains(&mean), "{mean}");
        let id = schedule.begin(now).expect("it is due");
        assert!(schedule.done(&id, now, Nanos(0), now));
        assert_eq!(schedule.next(), Some(now), "without a rhythm at once");
    }
}
