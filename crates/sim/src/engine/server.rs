//! A backend: what it is working on, what waits, and how it is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use evenkeel_core::{Nanos, Rng, Signal};

use super::cache::KeyCache;
use super::estimate::Estimate;
use crate::chance::{self, Sampler};

/// What one backend is.
#[derive(Clone, Debug)]
pub(crate) struct ServerSpec {
    pub(crate) id: String,
    pub(crate) group: u32,
    pub(crate) service: Sampler,
    /// Slots (in order) or cores (all at once); infinite without a limit.
    pub(crate) cores: f64,
    pub(crate) shared: bool,
    pub(crate) queue: Option<u32>,
    pub(crate) weight: u16,
    pub(crate) zone: Option<String>,
    pub(crate) tier: u8,
    pub(crate) capacity: Option<u32>,
    pub(crate) calls: Vec<u32>,
    pub(crate) cache: Option<(u32, Sampler)>,
    pub(crate) absent: bool,
}

impl ServerSpec {
    /// The requests a second that it can serve.
    pub(crate) fn rate(&self) -> f64 {
        self.cores * 1e9 / self.service.mean().max(1.0)
    }
}

/// What has befallen it.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// It takes so many times as long.
    pub(crate) slow: f64,
    pub(crate) down: bool,
    pub(crate) paused: bool,
    pub(crate) errors: Option<(f64, u16, Nanos)>,
    /// Balancers that cannot reach it.
    pub(crate) cut_off: CutOff,
}

/// Who cannot reach a backend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CutOff {
    All,
    Nobody,
    Some(Vec<u32>),
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            slow: 1.0,
            down: false,
            paused: false,
            errors: None,
            cut_off: CutOff::Nobody,
        }
    }
}

impl Conditions {
    pub(crate) fn is_cut_off(&self, balancer: u32) -> bool {
        match &self.cut_off {
            CutOff::All => true,
            CutOff::Nobody => false,
            CutOff::Some(balancers) => balancers.contains(&balancer),
        }
    }

    /// Whether a balancer that knows everything would send it anything.
    pub(super) fn is_well(&self) -> bool {
        !self.down && !self.paused && self.errors.is_none() && self.cut_off == CutOff::Nobody
    }
}

/// What was counted of it since things count.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerTally {
    pub(crate) requests: u64,
    pub(crate) failures: u64,
    pub(crate) max_present: u32,
    /// Requests in it, summed over time in nanoseconds.
    pub(crate) present_area: f64,
    /// Busy slots or cores, likewise.
    pub(crate) busy_area: f64,
}

/// Sums as they were when a backend last said anything of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SinceReport {
    pub(super) busy: f64,
    pub(super) answers: u64,
    pub(super) errors: u64,
}

/// A backend.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) spec: ServerSpec,
    pub(crate) conditions: Conditions,
    pub(super) tally: ServerTally,
    /// Requests in it: served, waiting, and waiting for others.
    pub(super) present: u32,
    touched: Nanos,
    /// Jobs that hold a slot.
    pub(super) running: u32,
    pub(super) waiting: VecDeque<u32>,
    pub(super) sharing: Sharing,
    pub(super) cache: Option<KeyCache>,
    pub(super) estimate: Estimate,
    /// Busy slots or cores over time, answers and errors, from the beginning.
    pub(super) all_busy: f64,
    pub(super) answers: u64,
    pub(super) errors: u64,
    /// What these were when it last said anything of itself, and what it says.
    pub(super) since_report: SinceReport,
    pub(super) report: Option<Signal>,
    /// The balancers for its calls, in their order.
    pub(super) sidecars: Vec<u32>,
    /// When each slot will be free, for the balancer that knows everything.
    free_at: BinaryHeap<Reverse<u64>>,
}

impl Server {
    pub(super) fn new(spec: ServerSpec, keys: u64) -> Self {
        Self {
            cache: spec
                .cache
                .as_ref()
                .map(|(size, _)| KeyCache::new(*size, keys)),
            estimate: Estimate::default(),
            all_busy: 0.0,
            answers: 0,
            errors: 0,
            since_report: SinceReport::default(),
            report: None,
            spec,
            conditions: Conditions::default(),
            tally: ServerTally::default(),
            present: 0,
            touched: Nanos(0),
            running: 0,
            waiting: VecDeque::new(),
            sharing: Sharing::default(),
            sidecars: Vec::new(),
            free_at: BinaryHeap::new(),
        }
    }

    /// Brings the sums over time up to `now`; to be called before anything changes.
    #[inline]
    pub(super) fn touch(&mut self, now: Nanos) {
        let span = now.since(self.touched).0 as f64;
        self.touched = now;
        self.tally.present_area += f64::from(self.present) * span;
        if !self.conditions.paused {
            let busy = if self.spec.shared {
                self.sharing.jobs.len() as f64
            } else {
                f64::from(self.running)
            };
            let busy = busy.min(self.spec.cores) * span;
            self.tally.busy_area += busy;
            self.all_busy += busy;
        }
    }

    /// Forgets what was counted.
    pub(super) fn count_anew(&mut self, now: Nanos) {
        self.touch(now);
        self.tally = ServerTally::default();
    }

    #[inline]
    pub(super) fn enter(&mut self, now: Nanos) {
        self.touch(now);
        self.present += 1;
        self.tally.max_present = self.tally.max_present.max(self.present);
    }

    #[inline]
    pub(super) fn has_slot(&self) -> bool {
        f64::from(self.running) < self.spec.cores
    }

    /// Whether a job that comes now would be turned away.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        let Some(queue) = self.spec.queue else {
            return false;
        };
        let beyond = if self.spec.shared {
            f64::from(self.present) - self.spec.cores
        } else if self.has_slot() {
            return false;
        } else {
            self.waiting.len() as f64
        };
        beyond >= f64::from(queue)
    }

    /// The work of a request, in nanoseconds of an untroubled slot.
    #[inline]
    pub(super) fn work(&mut self, seed: u64, key: u64) -> f64 {
        let mut rng = Rng::new(seed);
        let work = self.spec.service.draw(&mut rng);
        if let (Some(cache), Some((_, miss))) = (&mut self.cache, &self.spec.cache)
            && !cache.take(key)
        {
            return work + miss.draw(&mut rng);
        }
        work
    }

    /// The work that [`Server::work`] would find now; the cache stays as it is.
    pub(super) fn foreseen_work(&self, seed: u64, key: u64) -> f64 {
        let mut rng = Rng::new(seed);
        let work = self.spec.service.draw(&mut rng);
        match (&self.cache, &self.spec.cache) {
            (Some(cache), Some((_, miss))) if !cache.keeps(key) => work + miss.draw(&mut rng),
            _ => work,
        }
    }

    /// Whether this request gets an error instead of an answer.
    #[inline]
    pub(super) fn error(&self, seed: u64) -> Option<(u16, Nanos)> {
        let (share, status, after) = self.conditions.errors?;
        let mut rng = Rng::new(!seed);
        (chance::unit(&mut rng) < share).then_some((status, after))
    }

    /// When a request of `work` that comes now would be done, as far as that can be known.
    pub(super) fn foreseen(&mut self, now: Nanos, work: f64) -> f64 {
        let takes = work * self.conditions.slow;
        if self.spec.shared {
            let crowd = f64::from(self.present) + 1.0;
            return now.0 as f64 + takes * (crowd / self.spec.cores).max(1.0);
        }
        while self.free_at.peek().is_some_and(|Reverse(at)| *at <= now.0) {
            self.free_at.pop();
        }
        let start = match self.free_at.peek() {
            Some(Reverse(at)) if self.free_at.len() as f64 >= self.spec.cores => *at,
            _ => now.0,
        };
        start as f64 + takes
    }

    /// Notes that such a request comes.
    pub(super) fn foresee(&mut self, now: Nanos, work: f64) {
        if self.spec.shared || self.spec.cores.is_infinite() {
            return;
        }
        let done = self.foreseen(now, work) as u64;
        if self.free_at.len() as f64 >= self.spec.cores {
            self.free_at.pop();
        }
        self.free_at.push(Reverse(done));
    }
}

/// A job of a shared backend, by the work after which it is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) until: f64,
    number: u64,
    pub(super) job: u32,
}

impl Ord for Share {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let order = other.until.total_cmp(&self.until);
        order.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Share {}

/// Jobs that are served all at once. Each gets the same work in the same time, so it is enough to know
/// how much work each of them has had since the beginning, and at how much a job is done.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// Work that a job that was always there has had, in nanoseconds.
    had: f64,
    at: Nanos,
    pub(super) jobs: BinaryHeap<Share>,
    entered: u64,
    /// Which plan of the next end is in force.
    pub(super) epoch: u32,
}

impl Sharing {
    /// Work in a nanosecond for each job.
    #[inline]
    fn rate(&self, cores: f64, conditions: &Conditions) -> f64 {
        if conditions.paused || self.jobs.is_empty() {
            return 0.0;
        }
        (cores / self.jobs.len() as f64).min(1.0) / conditions.slow
    }

    /// Brings the work done up to `now`; to be called before anything changes.
    #[inline]
    pub(super) fn advance(&mut self, now: Nanos, cores: f64, conditions: &Conditions) {
        self.had += now.since(self.at).0 as f64 * self.rate(cores, conditions);
        self.at = now;
    }

    pub(super) fn add(&mut self, job: u32, work: f64) {
        self.entered += 1;
        self.jobs.push(Share {
            until: self.had + work,
            number: self.entered,
            job,
        });
    }

    /// A job that is done.
    pub(super) fn pop_done(&mut self) -> Option<u32> {
        // A nanosecond of work is below what times can tell apart.
        let done = self.jobs.peek()?.until <= self.had + 1.0;
        done.then(|| self.jobs.pop().map(|share| share.job))?
    }

    /// When the next job is done if nothing changes.
    #[inline]
    pub(super) fn next(&self, cores: f64, conditions: &Conditions) -> Option<Nanos> {
        let rate = self.rate(cores, conditions);
        let left = self.jobs.peek()?.until - self.had;
        if rate <= 0.0 {
            return None;
        }
        let span = (left.max(0.0) / rate) as u64;
        Some(self.at + Nanos(span + 1))
    }
}
