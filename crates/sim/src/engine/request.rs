//! A request, its tries, and the work that one of them makes.

use evenkeel_core::{Attempts, Nanos, OwnedLease, Serial};

use super::slab::NONE;
use super::waiting::Wait;

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
    pub(super) tried: Tried,
    /// The try that it is on.
    pub(super) at: Try,
    /// An earlier one that has been silent for so long that the one above was made beside it.
    pub(super) silent: Option<Box<Try>>,
    /// What it waits for while it is on none.
    pub(super) wait: Option<Box<Wait>>,
}

/// A backend that a request was sent to.
#[derive(Debug)]
pub(super) struct Try {
    /// None for one that knows everything.
    pub(super) lease: Option<OwnedLease>,
    /// No other try of the run has it, nor has a wait: an answer to another one is none.
    pub(super) number: u32,
    /// Where it is, and as which job.
    pub(super) server: u32,
    pub(super) job: u32,
}

impl Try {
    /// No backend.
    pub(super) const NOWHERE: Self = Self {
        lease: None,
        number: NONE,
        server: NONE,
        job: NONE,
    };
}

/// Which of the tries of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The one that it is on.
    Latest,
    /// The one before.
    Silent,
}

impl Request {
    /// The try that `is_it` holds for, if there is one.
    pub(super) fn find(&self, is_it: impl Fn(&Try) -> bool) -> Option<Which> {
        if is_it(&self.at) {
            return Some(Which::Latest);
        }
        let silent = self.silent.as_ref()?;
        is_it(silent).then_some(Which::Silent)
    }
}

/// The backends that a request was sent to. Most are sent to one, which takes no memory beside.
#[derive(Clone, Debug, Default)]
pub(super) struct Tried {
    first: Serial,
    all: Option<Box<Attempts>>,
    count: u8,
}

impl Tried {
    #[inline]
    pub(super) fn push(&mut self, serial: Serial) {
        if self.count == 0 {
            self.first = serial;
        } else {
            let mut all = self.attempts();
            all.push(serial);
            self.all = Some(Box::new(all));
        }
        self.count = self.count.saturating_add(1);
    }

    #[inline]
    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// As a decision wants to know it.
    #[inline]
    pub(super) fn attempts(&self) -> Attempts {
        match &self.all {
            Some(all) => (**all).clone(),
            None => {
                let mut attempts = Attempts::default();
                if self.count > 0 {
                    attempts.push(self.first);
                }
                attempts
            }
        }
    }
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
    /// Changes with its pace: an end that was planned before is none. No other job of the run has it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_backends_are_remembered() {
        let mut tried = Tried::default();
        assert_eq!((tried.count(), tried.attempts().count()), (0, 0));
        for serial in 1..=4 {
            tried.push(Serial(serial));
            let attempts = tried.attempts();
            assert_eq!(u64::from(attempts.count()), serial);
            assert!((1..=serial).all(|serial| attempts.contains(Serial(serial))));
            assert!(!attempts.contains(Serial(serial + 1)));
        }
    }
}
