//! Caps that are learned from how long answers take: `peak = "auto"`.
//!
//! Workers count answers, each for itself; once a second the control side takes what is new of each endpoint
//! to its limit, and publishes another version when one has moved. So a decision looks at nothing but its
//! snapshot, and its receipt says what the cap was.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_core::{LearnedLimit, Membership, Nanos, Samples};

/// What was learned of each endpoint.
#[derive(Debug, Default)]
pub(super) struct Learning {
    pub(super) limits: BTreeMap<Arc<str>, LearnedLimit>,
}

impl Learning {
    /// Goes on with what was learned in another process, where caps are learned here too.
    pub(super) fn recall(
        &mut self,
        membership: &mut Membership,
        learned: BTreeMap<Arc<str>, LearnedLimit>,
    ) {
        for (id, limit) in learned {
            if membership.set_learned_cap(&id, limit.requests()).is_ok() {
                self.limits.insert(id, limit);
            }
        }
    }

    /// Learns from what was heard, and says whether a cap moved.
    pub(super) fn learn(
        &mut self,
        membership: &mut Membership,
        heard: Vec<(Arc<str>, Samples)>,
        now: Nanos,
    ) -> bool {
        self.limits.retain(|id, _| membership.get(id).is_some());
        let mut moved = false;
        for (id, samples) in heard {
            if membership.get(&id).is_none() {
                continue;
            }
            let limit = self.limits.entry(Arc::clone(&id)).or_default();
            let before = limit.requests();
            if limit.observe(samples, now) && limit.requests() != before {
                // It was there a few lines ago.
                moved |= membership.set_learned_cap(&id, limit.requests()).is_ok();
            }
        }
        moved
    }
}
