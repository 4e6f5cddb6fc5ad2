//! Against lists that lose most endpoints at once: a registry that was emptied by mistake must not empty
//! the cluster.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Ascending, Endpoint, Nanos};

use crate::listing::Listing;

/// How much later a list that has moved must still say the same: as long as an answer of DNS lives at least.
const MOVED_AFTER: Nanos = Nanos::from_secs(1);

/// The last good list of a source, and the one that is held because it loses too much.
///
/// A list is held that loses more than a share of the good one, also one that is empty. It is taken when a
/// read at least one refresh later has lost the same endpoints, or when somebody accepts it. One that has no fewer
/// endpoints than the good one, though others, has moved and not shrunk: for it a second read a second later is enough,
/// since what it no longer names may be gone for good.
#[derive(Debug)]
pub struct Guard {
    max_drop: f64,
    refresh: Nanos,
    good: Option<Vec<Endpoint>>,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    list: Vec<Endpoint>,
    lost: BTreeSet<Arc<str>>,
    since: Nanos,
}

/// How much a list loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How many endpoints it no longer has.
    pub lost: usize,
    /// Of how many.
    pub of: usize,
}

/// What becomes of a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is the good one now.
    Taken,
    /// It loses too much.
    Held {
        /// How much.
        loss: Loss,
        /// Whether it is another one than was held before.
        is_new: bool,
        /// How much later it is believed if it is read again: when its source is to be asked.
        after: Nanos,
    },
}

impl Guard {
    /// A guard that knows no list yet: the first one is taken as it is. `max_drop` is a share from 0 to 1.
    #[must_use]
    pub fn new(max_drop: f64, refresh: Duration) -> Self {
        Self {
            max_drop,
            refresh: Nanos::from(refresh),
            good: None,
            held: None,
        }
    }

    /// Takes over other limits.
    pub fn set_limits(&mut self, max_drop: f64, refresh: Duration) {
        (self.max_drop, self.refresh) = (max_drop, Nanos::from(refresh));
    }

    /// Sets the good list, as one that was kept on disk.
    pub fn set_good(&mut self, list: Vec<Endpoint>) {
        (self.good, self.held) = (Some(list), None);
    }

    /// The good list.
    #[must_use]
    pub fn good(&self) -> &[Endpoint] {
        self.good.as_deref().unwrap_or_default()
    }

    /// Has what an endpoint was last stay in force where its entry makes no sense any more, until that is gone or right
    /// again: a slip of the hand is no order to take it out. The list and the good one are in the order of their ids.
    pub fn keep_last_good(&self, listing: &mut Listing) {
        let place = |list: &[Endpoint], id: &str| list.binary_search_by(|one| one.id().cmp(id));
        for fault in &mut listing.faults {
            let mut kept = false;
            for id in &fault.ids {
                if let Err(at) = place(&listing.endpoints, id)
                    && let Ok(last) = place(self.good(), id)
                {
                    listing.endpoints.insert(at, self.good()[last].clone());
                    kept = true;
                }
            }
            if kept {
                fault.why.push_str("; its last good value stays in force");
            }
        }
    }

    /// How much the list loses that is held, and how many endpoints it has.
    #[must_use]
    pub fn held(&self) -> Option<(Loss, usize)> {
        let held = self.held.as_ref()?;
        let loss = Loss {
            lost: held.lost.len(),
            of: self.good().len(),
        };
        Some((loss, held.list.len()))
    }

    /// Says what becomes of a list that was read now. O(n log n).
    pub fn offer(&mut self, list: Vec<Endpoint>, now: Nanos) -> Verdict {
        let lost = self.lost(&list);
        let loss = Loss {
            lost: lost.len(),
            of: self.good().len(),
        };
        if (loss.lost as f64) <= self.max_drop * loss.of as f64 {
            self.set_good(list);
            return Verdict::Taken;
        }
        let has_moved = list.len() >= loss.of;
        let after = if has_moved {
            MOVED_AFTER.min(self.refresh)
        } else {
            self.refresh
        };
        let same = self.held.take().filter(|held| held.lost == lost);
        let is_new = same.is_none();
        let since = same.map_or(now, |held| held.since);
        let believed = since + after;
        if !is_new && now >= believed {
            self.set_good(list);
            return Verdict::Taken;
        }
        self.held = Some(Held { list, lost, since });
        let after = believed.since(now);
        Verdict::Held {
            loss,
            is_new,
            after,
        }
    }

    /// Takes the list that is held; false when none is.
    pub fn accept(&mut self) -> bool {
        let Some(held) = self.held.take() else {
            return false;
        };
        self.set_good(held.list);
        true
    }

    fn lost(&self, list: &[Endpoint]) -> BTreeSet<Arc<str>> {
        gone(self.good(), list).into_iter().collect()
    }
}

/// The ids of `before`, each of which it has once, that are not in `after`. O(n) where both are in the order of their
/// ids, as listings are.
#[must_use]
pub fn gone(before: &[Endpoint], after: &[Endpoint]) -> Vec<Arc<str>> {
    let (before, after) = without_the_same(before, after);
    let is_sorted = |list: &[Endpoint]| list.is_sorted_by_key(Endpoint::id);
    let ids = after.iter().map(Endpoint::id);
    if is_sorted(before) && is_sorted(after) {
        let mut others = Ascending::new(ids.map(|id| (id, ())));
        let missing = before.iter().filter(|it| others.take(it.id()).is_none());
        return missing.map(Endpoint::shared_id).collect();
    }
    let others: BTreeSet<&str> = ids.collect();
    let missing = before.iter().filter(|it| !others.contains(it.id()));
    missing.map(Endpoint::shared_id).collect()
}

/// What is left of two lists without their like beginnings and ends: of most changes one endpoint.
fn without_the_same<'l>(
    one: &'l [Endpoint],
    other: &'l [Endpoint],
) -> (&'l [Endpoint], &'l [Endpoint]) {
    let alike = |(one, other): &(&Endpoint, &Endpoint)| one == other;
    let first = one.iter().zip(other).take_while(alike).count();
    let (one, other) = (&one[first..], &other[first..]);
    let ends = one.iter().rev().zip(other.iter().rev());
    let last = ends.take_while(alike).count();
    (&one[..one.len() - last], &other[..other.len() - last])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::listing::Fault;

    const REFRESH: Duration = Duration::from_secs(30);

    fn list(ids: &[u8]) -> Vec<Endpoint> {
        let ids: BTreeSet<&u8> = ids.iter().collect();
        ids.into_iter()
            .map(|id| Endpoint::new(format!("e{id}"), "127.0.0.1:1"))
            .collect()
    }

    fn guard(ids: &[u8]) -> Guard {
        let mut guard = Guard::new(0.5, REFRESH);
        assert_eq!(guard.offer(list(ids), Nanos(0)), Verdict::Taken);
        guard
    }

    fn held(lost: usize, of: usize, is_new: bool, after_ms: u64) -> Verdict {
        Verdict::Held {
            loss: Loss { lost, of },
            is_new,
            after: Nanos::from_millis(after_ms),
        }
    }

    #[test]
    fn half_may_go_at_once_and_more_may_not() {
        let mut guard = guard(&[1, 2, 3, 4]);
        assert_eq!(guard.offer(list(&[4]), Nanos(1)), held(3, 4, true, 30_000));
        assert_eq!(guard.good().len(), 4);
        assert_eq!(guard.offer(list(&[3, 4]), Nanos(2)), Verdict::Taken);
        assert_eq!(guard.held(), None);
        assert_eq!(guard.offer(list(&[]), Nanos(3)), held(2, 2, true, 30_000));
    }

    #[test]
    fn a_second_read_a_refresh_later_is_believed() {
        let mut guard = guard(&[1, 2, 3]);
        assert_eq!(
            guard.offer(list(&[]), Nanos::from_secs(1)),
            held(3, 3, true, 30_000)
        );
        assert_eq!(
            guard.offer(list(&[]), Nanos::from_secs(30)),
            held(3, 3, false, 1_000)
        );
        assert_eq!(guard.offer(list(&[]), Nanos::from_secs(31)), Verdict::Taken);
        assert!(guard.good().is_empty());
    }

    /// As a name in DNS that points elsewhere: what it pointed at may be dead.
    #[test]
    fn a_move_is_believed_a_second_later() {
        let mut guard = guard(&[1, 2]);
        assert_eq!(
            guard.offer(list(&[3, 4]), Nanos(0)),
            held(2, 2, true, 1_000)
        );
        let soon = Nanos::from_millis(999);
        assert_eq!(guard.offer(list(&[3, 4]), soon), held(2, 2, false, 1));
        // Smaller again: that is no move.
        assert_eq!(
            guard.offer(list(&[3]), Nanos::from_secs(1)),
            held(2, 2, false, 29_000)
        );
        assert_eq!(
            guard.offer(list(&[3, 4]), Nanos::from_secs(1)),
            Verdict::Taken
        );
    }

    #[test]
    fn another_loss_begins_anew_and_others_that_join_do_not_matter() {
        let mut guard = guard(&[1, 2, 3]);
        assert_eq!(guard.offer(list(&[]), Nanos(0)), held(3, 3, true, 30_000));
        let late = Nanos::from_secs(60);
        assert_eq!(guard.offer(list(&[1]), late), held(2, 3, true, 30_000));
        assert_eq!(guard.offer(list(&[1, 9]), late), held(2, 3, false, 30_000));
        let later = Nanos::from_secs(90);
        assert_eq!(guard.offer(list(&[1, 9]), later), Verdict::Taken);
        assert_eq!(guard.good().len(), 2);
    }

    #[test]
    fn what_an_entry_was_last_stays_until_it_is_gone_or_right() {
        let mut guard = guard(&[1, 2, 3]);
        let wrong = |ids: &[&str]| {
            let fault = Fault::new("key", "it makes no sense");
            fault.about(ids.iter().copied())
        };
        let mut said = Listing {
            endpoints: list(&[1]),
            // One is new, and never was any good; one is listed beside it.
            faults: vec![
                wrong(&["e3"]),
                wrong(&["e2", "e9"]),
                wrong(&["e9"]),
                wrong(&["e1"]),
            ],
        };
        guard.keep_last_good(&mut said);
        assert_eq!(said.endpoints, list(&[1, 2, 3]));
        let whys: Vec<bool> = said
            .faults
            .iter()
            .map(|f| f.why.contains("stays"))
            .collect();
        assert_eq!(whys, [true, true, false, false]);
        assert_eq!(guard.offer(said.endpoints, Nanos(1)), Verdict::Taken);
        // Still wrong: it stays. Gone: it goes.
        let mut said = Listing {
            endpoints: list(&[1, 2]),
            faults: vec![wrong(&["e3"])],
        };
        guard.keep_last_good(&mut said);
        assert_eq!(said.endpoints, list(&[1, 2, 3]));
        let mut said = Listing {
            endpoints: list(&[1, 2]),
            faults: Vec::new(),
        };
        guard.keep_last_good(&mut said);
        assert_eq!(said.endpoints, list(&[1, 2]));
    }

    #[test]
    fn an_operator_may_accept_what_is_held() {
        let mut guard = guard(&[1, 2, 3]);
        assert!(!guard.accept());
        guard.offer(list(&[9]), Nanos(1));
        assert_eq!(guard.held(), Some((Loss { lost: 3, of: 3 }, 1)));
        assert!(guard.accept());
        assert_eq!(guard.good()[0].id(), "e9");
        assert_eq!(guard.held(), None);
    }

    proptest! {
        /// Whatever is read in whatever order within one refresh: no more than the share goes at once, unless as many
        /// come for them.
        #[test]
        fn no_read_within_a_refresh_takes_more_than_the_share(
            lists in prop::collection::vec(prop::collection::vec(0_u8..12, 0..12), 1..20),
            max_drop in 0.0..=1.0_f64,
        ) {
            let mut guard = Guard::new(max_drop, REFRESH);
            for (at, ids) in (0..).zip(&lists) {
                let before: BTreeSet<Arc<str>> = guard.good().iter().map(Endpoint::shared_id).collect();
                let verdict = guard.offer(list(ids), Nanos::from_secs(at));
                let after: BTreeSet<Arc<str>> = guard.good().iter().map(Endpoint::shared_id).collect();
                let lost = before.difference(&after).count() as f64;
                let has_moved = after.len() >= before.len();
                prop_assert!(lost <= max_drop * before.len() as f64 || has_moved);
                prop_assert_eq!(verdict == Verdict::Taken, guard.good() == list(ids));
            }
        }
    }

    #[test]
    fn what_is_gone_is_found_in_any_order() {
        let list = |ids: &str| -> Vec<Endpoint> {
            let ids = ids.split_whitespace();
            ids.map(|id| Endpoint::new(id, "127.0.0.1:1")).collect()
        };
        for (before, after, wanted) in [
            ("a b c", "a c", "b"),
            ("a b c", "", "a b c"),
            ("", "a", ""),
            ("b d", "a b c d e", ""),
            ("c a b", "c", "a b"),
            ("a b", "c b", "a"),
        ] {
            let gone = gone(&list(before), &list(after));
            assert_eq!(gone.join(" "), wanted, "{before} | {after}");
        }
    }
}
