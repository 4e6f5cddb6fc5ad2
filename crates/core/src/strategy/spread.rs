//! Weighted round robin by deadlines, for cycles too long to write down.
//!
//! Earliest deadline first: an endpoint of weight w is due every 1/w. What makes it as smooth as
//! smooth weighted round robin are the first deadlines: the j-th of m endpoints of equal weight
//! starts (j + 1/2)/m into its period. Plain EDF, as Envoy's `EdfLoadBalancerBase` has it, starts
//! them all together: with weights 5, 1, 1 it gives AAAABCA, where a count is up to 1.43 from its
//! share; here and in smooth weighted round robin it is up to 0.71 and 0.57.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Cursor, Inputs, Place, Table};

/// The virtual time of a cycle, in which each endpoint is due as often as its weight says. With
/// weights below 2^32 no period is shorter than 2^30, and twice a cycle fits into 64 bits.
const CYCLE: u64 = 1 << 62;

/// When in a cycle an endpoint is due.
#[derive(Clone, Copy, Debug)]
struct Beat {
    first: u64,
    period: u64,
    last: u64,
}

impl Beat {
    /// The beat of the endpoint at place `at`, the `turn`-th of `size` that have this `weight`.
    ///
    /// All times are `at` modulo `lanes`, a power of two: so no two endpoints are ever due at once,
    /// and a time tells whose it is. What rounding takes from the periods, the gap between the last
    /// beat of a cycle and the first of the next one gives back.
    fn new(at: u64, weight: u64, turn: u64, size: u64, lanes: u64) -> Self {
        let lane = !(lanes - 1);
        let period = (CYCLE / weight) & lane;
        let spread = u128::from(period) * u128::from(2 * turn + 1) / u128::from(2 * size);
        let first = (spread as u64 & lane).max(lanes) | at;
        Self {
            first,
            period,
            last: first + (weight - 1) * period,
        }
    }

    /// The first deadline after `now`, which is within a cycle.
    fn after(self, now: u64) -> u64 {
        if now < self.first {
            self.first
        } else if now < self.last {
            self.first + ((now - self.first) / self.period + 1) * self.period
        } else {
            CYCLE + self.first
        }
    }

    /// How often it is due up to `now`, which is within a cycle.
    fn count(self, now: u64) -> u64 {
        if now < self.first {
            return 0;
        }
        (now.min(self.last) - self.first) / self.period + 1
    }

    /// The deadline that follows `deadline`, which is one of the beat within a cycle.
    #[inline]
    fn next(self, deadline: u64) -> u64 {
        if deadline == self.last {
            CYCLE + self.first
        } else {
            deadline + self.period
        }
    }
}

/// The beats of all endpoints of a group.
#[derive(Debug)]
pub(super) struct SpreadTable {
    eligible: Box<[u32]>,
    beats: Box<[Beat]>,
    lanes: u64,
    /// The picks of a cycle.
    length: u64,
}

impl SpreadTable {
    /// `weights` are those of `eligible`, at least 1. O(n log n).
    pub(super) fn new(eligible: &[u32], weights: &[u32]) -> Self {
        let lanes = (weights.len() as u64).next_power_of_two();
        let mut groups: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for weight in weights {
            groups.entry(*weight).or_default().1 += 1;
        }
        let beats = (0..).zip(weights).map(|(at, weight)| {
            let (turn, size) = groups.entry(*weight).or_default();
            *turn += 1;
            Beat::new(at, u64::from(*weight), *turn - 1, *size, lanes)
        });
        Self {
            eligible: eligible.into(),
            beats: beats.collect(),
            lanes,
            length: weights.iter().map(|weight| u64::from(*weight)).sum(),
        }
    }

    fn schedule(&self, now: u64) -> Schedule {
        let queue = self.beats.iter().map(|beat| Reverse(beat.after(now)));
        Schedule {
            queue: queue.collect::<Vec<_>>().into(),
            now,
        }
    }

    /// The place among the eligible whose deadline this is.
    #[inline]
    fn owner(&self, deadline: u64) -> usize {
        (deadline & (self.lanes - 1)) as usize
    }

    #[cold]
    fn trace(&self, schedule: &Schedule, inputs: &mut Inputs<'_>) {
        for deadline in schedule.first_two() {
            inputs.note_deadline(self.eligible[self.owner(deadline)], deadline);
        }
    }
}

impl Table for SpreadTable {
    /// Once for each picker and generation: O(n) after another table of this kind, else O(n log n).
    fn cursor(&self, place: Place) -> Cursor {
        if place.of == CYCLE {
            return Cursor::Schedule(Box::new(self.schedule(place.scaled(CYCLE).at)));
        }
        // A place counts picks, and those are not spread evenly over the time: a fresh picker that
        // began at a random time would favour the heavy ones. So begin a little early, since no
        // endpoint is ever a whole pick off, and count.
        let picks = place.scaled(self.length).at;
        let sure = picks.saturating_sub(self.beats.len() as u64);
        let now = Place::new(sure, self.length).scaled(CYCLE).at;
        let mut schedule = self.schedule(now);
        let done: u64 = self.beats.iter().map(|beat| beat.count(now)).sum();
        for _ in done..picks {
            schedule.advance(self);
        }
        Cursor::Schedule(Box::new(schedule))
    }

    #[inline]
    fn choose(&self, cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let Cursor::Schedule(schedule) = cursor else {
            return None;
        };
        if inputs.is_traced() {
            self.trace(schedule, inputs);
        }
        let at = schedule.advance(self)?;
        self.eligible.get(at).copied()
    }
}

/// A picker's queue of deadlines: a function of the table and the time alone.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::Cursor;
///
/// /// Whether a picker keeps deadlines, one for each endpoint.
/// fn has_deadlines(cursor: &Cursor) -> bool {
///     matches!(cursor, Cursor::Schedule(_))
/// }
/// ```
#[derive(Debug)]
pub struct Schedule {
    queue: BinaryHeap<Reverse<u64>>,
    /// The last deadline that was served, within a cycle.
    now: u64,
}

impl Schedule {
    pub(super) fn place(&self) -> Place {
        Place::new(self.now, CYCLE)
    }

    /// The first deadline, and the second: one of the two below the top of the heap.
    fn first_two(&self) -> impl Iterator<Item = u64> + use<> {
        let due = |at: usize| self.queue.as_slice().get(at).map(|due| due.0);
        let second = match (due(1), due(2)) {
            (Some(left), Some(right)) => Some(left.min(right)),
            (left, _) => left,
        };
        due(0).into_iter().chain(second)
    }

    /// Takes the endpoint that is due and sets its next deadline. O(log n).
    #[inline]
    fn advance(&mut self, table: &SpreadTable) -> Option<usize> {
        if self.queue.peek()?.0 >= CYCLE {
            self.begin_cycle();
        }
        let mut top = self.queue.peek_mut()?;
        let deadline = top.0;
        let at = table.owner(deadline);
        top.0 = table.beats.get(at)?.next(deadline);
        self.now = deadline;
        Some(at)
    }

    /// Moves the time back by a cycle. Order stays, so the heap is as good as it was.
    ///
    /// O(n) once in as many picks as the weights add up to, which is never less than n.
    #[cold]
    fn begin_cycle(&mut self) {
        let mut queue = std::mem::take(&mut self.queue).into_vec();
        for due in &mut queue {
            due.0 -= CYCLE;
        }
        self.queue = queue.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{Endpoint, Membership, Nanos, PickContext, Picker, PickerSeed, Receipt, Score};

    fn table(weights: &[u32]) -> SpreadTable {
        let eligible: Vec<u32> = (0..weights.len() as u32).collect();
        SpreadTable::new(&eligible, weights)
    }

    fn schedule(table: &SpreadTable, place: Place) -> Schedule {
        match table.cursor(place) {
            Cursor::Schedule(schedule) => *schedule,
            _ => panic!("a spread table has a schedule"),
        }
    }

    fn run(weights: &[u32], place: Place, picks: usize) -> Vec<usize> {
        let table = table(weights);
        let mut schedule = schedule(&table, place);
        (0..picks)
            .map(|_| schedule.advance(&table).expect("due"))
            .collect()
    }

    /// Why it was this one: its deadline is the first, and the next one is told beside it.
    #[test]
    fn a_receipt_tells_the_first_two_deadlines() {
        let strategy = registry::build("weighted_round_robin", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        for (id, weight) in [("a", 65_521), ("b", 65_519), ("c", 3)] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80").with_weight(weight));
        }
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let mut receipt = Receipt::default();
        for _ in 0..100 {
            let lease = picker.pick_traced(&snapshot, &PickContext::at(Nanos(0)), &mut receipt);
            let index = lease.expect("all are open").index();
            let (winner, next) = (receipt.winner(), receipt.runner_up());
            let (winner, next) = (winner.expect("the first"), next.expect("the second"));
            assert_eq!(winner.index as usize, index);
            let deadlines = (winner.score, next.score);
            assert!(
                matches!(deadlines, (Score::Deadline(first), Score::Deadline(then)) if first < then)
            );
        }
    }

    #[test]
    fn each_cycle_holds_each_endpoint_as_often_as_its_weight() {
        let weights = [5, 1, 1, 3];
        let picks = run(&weights, Place::START, 100);
        for cycle in picks.chunks(10) {
            assert_eq!(cycle, &picks[..10], "every cycle is the same");
            for (at, weight) in weights.iter().enumerate() {
                let count = cycle.iter().filter(|pick| **pick == at).count();
                assert_eq!(count, *weight as usize, "{picks:?}");
            }
        }
    }

    /// The deviation from the ideal stays within one pick, as for smooth weighted round robin.
    #[test]
    fn it_is_smooth() {
        let mut one_heavy = vec![1; 100];
        one_heavy[40] = 10;
        let rising = (0..1_000).map(|at| 1 + at * 37 % 100).collect();
        for weights in [vec![5, 1, 1], one_heavy, rising, (1..=100).collect()] {
            assert_smooth(&weights);
        }
    }

    fn assert_smooth(weights: &[u32]) {
        let total: u32 = weights.iter().sum();
        let mut counts = vec![0.0; weights.len()];
        for (picks, at) in (1..).zip(run(weights, Place::START, total as usize)) {
            counts[at] += 1.0;
            for (count, weight) in counts.iter().zip(weights) {
                let ideal = f64::from(picks) * f64::from(*weight) / f64::from(total);
                assert!((count - ideal).abs() <= 1.01, "{picks}: {count} {ideal}");
            }
        }
    }

    /// Also over the ends of cycles, and with weights whose periods do not divide one.
    #[test]
    fn a_new_cursor_goes_on_where_the_old_one_was() {
        let weights = [7, 4, 4, 1, 13];
        let table = table(&weights);
        let mut place = Place::START;
        for expected in run(&weights, Place::START, 29 * 3) {
            let mut schedule = schedule(&table, place);
            assert_eq!(schedule.advance(&table), Some(expected));
            place = schedule.place();
        }
    }

    /// A place in any other cycle is that share of the picks, not of the time.
    #[test]
    fn a_place_counts_picks() {
        let weights = [7, 4, 4, 1, 13];
        let picks = run(&weights, Place::START, 29);
        for at in 0..29 {
            assert_eq!(run(&weights, Place::new(at, 29), 1)[0], picks[at as usize]);
        }
    }

    /// The heaviest and the lightest that there can be, at any place.
    #[test]
    fn time_never_overflows() {
        let weights = [u32::MAX, 1, 65_535 * 256, u32::MAX - 1];
        for place in [
            Place::START,
            Place::fraction(u64::MAX),
            Place::new(1, 2),
            Place::new(u64::MAX, 1),
        ] {
            assert_eq!(run(&weights, place, 1_000).len(), 1_000);
        }
    }
}
