//! The list that decides where keys go, and what has been worked out for it.

use std::sync::{Arc, Weak};

use super::Members;
use crate::sync::{Mutex, lock};

/// The endpoints of a group in id order, healthy or not, with their configured weights.
///
/// Where keys go follows from this and from nothing else, so neither health nor warm-up moves the
/// keys of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Roster {
    pub(super) ids: Box<[Arc<str>]>,
    pub(super) weights: Box<[u16]>,
}

impl Roster {
    pub(super) fn of(members: &Members<'_>) -> Self {
        let endpoints = members.in_service().iter();
        let endpoints = endpoints.map(|index| members.endpoint(*index));
        Self {
            ids: endpoints
                .clone()
                .map(|endpoint| endpoint.shared_id())
                .collect(),
            weights: endpoints.map(|endpoint| endpoint.weight().max(1)).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Endpoints `e00000` and on, of these weights.
    #[cfg(test)]
    pub(super) fn weighing(weights: &[u16]) -> Self {
        let id = |at| Arc::from(format!("e{at:05}"));
        Self {
            ids: (0..weights.len()).map(id).collect(),
            weights: weights.into(),
        }
    }
}

/// Something that is worked out from a roster alone, and takes long to.
pub(super) trait Layout {
    /// What it was worked out from.
    fn roster(&self) -> &Roster;
}

/// Keeps what was worked out as long as some snapshot uses it: a new generation in which only health
/// or warm-up has changed takes it over (case B06).
#[derive(Debug)]
pub(super) struct Memo<L> {
    kept: Mutex<Vec<Weak<L>>>,
}

impl<L> Default for Memo<L> {
    fn default() -> Self {
        Self {
            kept: Mutex::new(Vec::new()),
        }
    }
}

impl<L: Layout> Memo<L> {
    /// What belongs to `roster`: known, or built now.
    pub(super) fn get(&self, roster: Roster, build: impl FnOnce(Roster) -> L) -> Arc<L> {
        let known = {
            let mut kept = lock(&self.kept);
            kept.retain(|layout| layout.strong_count() > 0);
            let mut alive = kept.iter().filter_map(Weak::upgrade);
            alive.find(|layout| *layout.roster() == roster)
        };
        // Built outside the lock: it takes long.
        known.unwrap_or_else(|| {
            let built = Arc::new(build(roster));
            lock(&self.kept).push(Arc::downgrade(&built));
            built
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Built(Roster);

    impl Layout for Built {
        fn roster(&self) -> &Roster {
            &self.0
        }
    }

    fn roster(ids: &[&str]) -> Roster {
        Roster {
            ids: ids.iter().map(|id| Arc::from(*id)).collect(),
            weights: ids.iter().map(|_| 1).collect(),
        }
    }

    #[test]
    fn a_roster_is_worked_out_once_while_it_is_in_use() {
        let memo = Memo::default();
        let mut builds = 0;
        let mut get = |ids: &[&str]| {
            memo.get(roster(ids), |roster| {
                builds += 1;
                Built(roster)
            })
        };
        let first = get(&["a", "b"]);
        let other = get(&["a", "c"]);
        assert!(Arc::ptr_eq(&first, &get(&["a", "b"])));
        assert!(Arc::ptr_eq(&other, &get(&["a", "c"])));
        drop(first);
        let _again = get(&["a", "b"]);
        assert_eq!(builds, 3);
    }
}
