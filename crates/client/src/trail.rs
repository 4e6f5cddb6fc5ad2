//! The decisions made for one call, for whoever wants receipts.

use std::sync::{Arc, Mutex};

use evenkeel_core::{Nanos, Receipt, unpoisoned};

use crate::clock;
use crate::observe::{Decided, Decision};
use crate::shared::Shared;
use crate::view::View;

/// The decisions of one call. Told when the last one who holds it lets go: the call itself, or a body that is
/// still read.
#[derive(Debug)]
pub(crate) struct Trail {
    shared: Arc<Shared>,
    request_id: Option<Box<str>>,
    decisions: Mutex<Vec<Decision>>,
}

impl Trail {
    /// Of a call, if anybody wants its receipts.
    #[inline]
    pub(crate) fn of(
        shared: &Arc<Shared>,
        request_id: impl FnOnce() -> Option<Box<str>>,
    ) -> Option<Arc<Self>> {
        let mut observers = shared.settings.observers.iter();
        observers
            .any(|observer| observer.wants_receipts())
            .then(|| {
                Arc::new(Self {
                    shared: Arc::clone(shared),
                    request_id: request_id(),
                    decisions: Mutex::default(),
                })
            })
    }

    /// Takes down a decision, and gives the place of it.
    pub(crate) fn push(
        self: &Arc<Self>,
        view: Arc<View>,
        receipt: Receipt,
        chosen_at: Nanos,
        decision_ns: u64,
    ) -> Mark {
        let mut decisions = unpoisoned(self.decisions.lock());
        decisions.push(Decision {
            view,
            receipt,
            decision_ns,
            chosen_at,
            ended_at: None,
            outcome: None,
            status: None,
            error: None,
        });
        Mark {
            trail: Arc::clone(self),
            place: decisions.len() - 1,
        }
    }

    /// Forgets the latest decision if it chose nobody, since another one takes its place.
    pub(crate) fn forget_nobody(&self) {
        let mut decisions = unpoisoned(self.decisions.lock());
        if decisions
            .last()
            .is_some_and(|last| last.receipt.chosen.is_none())
        {
            decisions.pop();
        }
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        let decisions = unpoisoned(self.decisions.get_mut());
        if decisions.is_empty() {
            return;
        }
        let call = Decided {
            request_id: self.request_id.as_deref(),
            decisions,
            now: clock::now(),
        };
        for observer in &self.shared.settings.observers {
            observer.decided(&call);
        }
    }
}

/// The place of a decision.
#[derive(Debug)]
pub(crate) struct Mark {
    trail: Arc<Trail>,
    place: usize,
}

impl Mark {
    pub(crate) fn note(&self, note: impl FnOnce(&mut Decision)) {
        // A place was given for each.
        if let Some(decision) = unpoisoned(self.trail.decisions.lock()).get_mut(self.place) {
            note(decision);
        }
    }
}
