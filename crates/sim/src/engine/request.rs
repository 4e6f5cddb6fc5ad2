//! A request, and the work that one of its tries makes.

use evenkeel_core::{Attempts, Nanos, OwnedLease};

use super::deadlines::{LISTS, Link};

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// A job that passed it on.
    Job(u32),
    /// Nobody any more.
    Nobody,
    /// A user, who will ask again.
    User(u32),
    /// The world.
    World,
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) struct Request {
    /// All chance of it follows from this, so that other strategies meet the same requests.
    pub(super) seed: u64,
    pub(super) arrived: Nanos,
    /// The number of its key.
    pub(super) key: u64,
    pub(super) balancer: u32,
    pub(super) caller: Caller,
    pub(super) stage: u32,
    /// Whether it counts for results.
    pub(super) counts: bool,
    pub(super) attempts: Attempts,
    /// Counts what it waited for: an answer to an earlier try is none.
    pub(super) epoch: u32,
    pub(super) lease: Option<OwnedLease>,
    /// Where it is, and as which job.
    pub(super) server: u32,
    pub(super) job: u32,
    pub(super) links: [Link; LISTS],
}

/// The work of a try, at a backend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// None when nobody waits for it any more.
    pub(super) request: u32,
    pub(super) server: u32,
    pub(super) seed: u64,
    pub(super) key: u64,
    /// Work left when it last went on, in nanoseconds of an untroubled slot.
    pub(super) left: f64,
    pub(super) since: Nanos,
    pub(super) epoch: u32,
    /// Whether it holds a slot and works.
    pub(super) working: bool,
    /// When it came, and how many were there then.
    pub(super) came: Nanos,
    pub(super) found: u32,
    /// How many calls it has made.
    pub(super) calls: u32,
    /// The call that it waits for.
    pub(super) awaits: u32,
}
