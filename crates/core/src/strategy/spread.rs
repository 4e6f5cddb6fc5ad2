//! Weighted round robin by deadlines, for cycles too long to write down.
//!
//! Earliest deadline first: an endpoint of weight w is due every 1/w. What makes it as smooth as
//! smooth weighted round robin are the first deadlines: the j-th of m endpoints of equal weight
//! starts (j + 1/2)/m into its period. Plain EDF starts them all together and is three times as
//! uneven (`algorithms.md` 1.4).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Cursor, Inputs, Place, Table};

/// The period of the heaviest endpoint, in units of virtual time.
const UNIT: u64 = 1 << 32;

/// When deadlines reach this, all are moved back, so that none ever overflows.
const REBASE: u64 = 1 << 62;

/// When an endpoint is due: for the first time, and then every period.
#[derive(Clone, Copy, Debug)]
struct Beat {
    first: u64,
    period: u64,
}

impl Beat {
    /// The first deadline after `now`.
    fn after(self, now: u64) -> u64 {
        if now < self.first {
            return self.first;
        }
        self.first + ((now - self.first) / self.period + 1) * self.period
    }
}

/// The beats of all endpoints of a group.
#[derive(Debug)]
pub(super) struct SpreadTable {
    eligible: Box<[u32]>,
    beats: Box<[Beat]>,
    /// The virtual time after which the pattern repeats.
    cycle: u64,
}

impl SpreadTable {
    /// `weights` are those of `eligible`, without a common divisor. O(n log n).
    pub(super) fn new(eligible: &[u32], weights: &[u32]) -> Self {
        let heaviest = u64::from(weights.iter().copied().max().unwrap_or(1));
        let mut groups: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for weight in weights {
            groups.entry(*weight).or_default().1 += 1;
        }
        let beats = (0..).zip(weights).map(|(at, weight)| {
            let period = UNIT * heaviest / u64::from(*weight);
            let (seen, size) = groups.entry(*weight).or_default();
            let spread = u128::from(period) * u128::from(2 * *seen + 1) / u128::from(2 * *size);
            *seen += 1;
            // The small offset keeps deadlines of different groups apart: a tie that a new table
            // falls into would be skipped.
            Beat {
                first: spread as u64 + at,
                period,
            }
        });
        Self {
            eligible: eligible.into(),
            beats: beats.collect(),
            cycle: UNIT * heaviest,
        }
    }
}

impl Table for SpreadTable {
    /// O(n): once for each picker and generation.
    fn cursor(&self, place: Place) -> Cursor {
        let now = place.scaled(self.cycle).at;
        let queue = (0..)
            .zip(&self.beats)
            .map(|(at, beat)| Reverse((beat.after(now), at)));
        Cursor::Schedule(Box::new(Schedule {
            queue: queue.collect::<Vec<_>>().into(),
            now,
            cycle: self.cycle,
        }))
    }

    #[inline]
    fn choose(&self, cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let Cursor::Schedule(schedule) = cursor else {
            return None;
        };
        if inputs.is_traced() {
            return self.choose_traced(schedule, inputs);
        }
        let at = schedule.advance(&self.beats)?;
        Some(self.eligible[at as usize])
    }
}

impl SpreadTable {
    /// Puts the two first deadlines on the record and decides between them.
    fn choose_traced(&self, schedule: &mut Schedule, inputs: &mut Inputs<'_>) -> Option<u32> {
        let due = |due: Option<(u64, u32)>| {
            let (deadline, at) = due.unwrap_or_default();
            (self.eligible[at as usize], deadline)
        };
        let first = inputs.deadline(|| due(schedule.first()));
        let mut winner = first;
        if self.eligible.len() > 1 {
            let second = inputs.deadline(|| due(schedule.second()));
            if (second.1, second.0) < (first.1, first.0) {
                winner = second;
            }
        }
        schedule.advance(&self.beats)?;
        Some(winner.0)
    }
}

/// A picker's queue of deadlines.
#[derive(Debug)]
pub struct Schedule {
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    now: u64,
    cycle: u64,
}

impl Schedule {
    pub(super) fn place(&self) -> Place {
        Place {
            at: self.now % self.cycle,
            of: self.cycle,
        }
    }

    fn first(&self) -> Option<(u64, u32)> {
        self.queue.peek().map(|due| due.0)
    }

    /// The second deadline: one of the two below the top of the heap.
    fn second(&self) -> Option<(u64, u32)> {
        self.queue
            .as_slice()
            .iter()
            .skip(1)
            .take(2)
            .map(|due| due.0)
            .min()
    }

    /// Takes the endpoint that is due and sets its next deadline. O(log n).
    #[inline]
    fn advance(&mut self, beats: &[Beat]) -> Option<u32> {
        let mut top = self.queue.peek_mut()?;
        let (deadline, at) = top.0;
        top.0.0 = deadline + beats[at as usize].period;
        drop(top);
        self.now = deadline;
        if deadline >= REBASE {
            self.rebase();
        }
        Some(at)
    }

    /// Moves the time back by whole cycles. Order stays, so the heap is as good as it was.
    #[cold]
    fn rebase(&mut self) {
        let back = self.now / self.cycle * self.cycle;
        let mut queue = std::mem::take(&mut self.queue).into_vec();
        for due in &mut queue {
            due.0.0 -= back;
        }
        self.queue = queue.into();
        self.now -= back;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(weights: &[u32], place: Place, picks: usize) -> Vec<u32> {
        let eligible: Vec<u32> = (0..weights.len() as u32).collect();
        let table = SpreadTable::new(&eligible, weights);
        let Cursor::Schedule(mut schedule) = table.cursor(place) else {
            panic!("a spread table has a schedule");
        };
        (0..picks)
            .map(|_| schedule.advance(&table.beats).expect("due"))
            .collect()
    }

    #[test]
    fn each_cycle_holds_each_endpoint_as_often_as_its_weight() {
        let weights = [5, 1, 1, 3];
        let picks = run(&weights, Place::START, 100);
        for cycle in picks.chunks(10) {
            for (at, weight) in (0..).zip(weights) {
                let count = cycle.iter().filter(|pick| **pick == at).count();
                assert_eq!(count, weight as usize, "{picks:?}");
            }
        }
    }

    /// The deviation from the ideal stays within one pick, as for smooth weighted round robin.
    #[test]
    fn it_is_smooth() {
        let weights: Vec<u32> = (1..=100).collect();
        let total: u32 = weights.iter().sum();
        let mut counts = vec![0.0; weights.len()];
        for (picks, at) in (1..).zip(run(&weights, Place::START, total as usize)) {
            counts[at as usize] += 1.0;
            for (count, weight) in counts.iter().zip(&weights) {
                let ideal = f64::from(picks) * f64::from(*weight) / f64::from(total);
                assert!((count - ideal).abs() <= 1.01, "{picks}: {count} {ideal}");
            }
        }
    }

    #[test]
    fn a_new_cursor_goes_on_where_the_old_one_was() {
        let weights = [7, 4, 4, 1];
        let expected = run(&weights, Place::START, 64);
        let eligible = [0, 1, 2, 3];
        let table = SpreadTable::new(&eligible, &weights);
        let mut place = Place::START;
        for expected in expected {
            let Cursor::Schedule(mut schedule) = table.cursor(place) else {
                panic!("a spread table has a schedule");
            };
            assert_eq!(schedule.advance(&table.beats), Some(expected));
            place = schedule.place();
        }
    }

    #[test]
    fn time_never_overflows() {
        let weights = [65_535 * 512, 1];
        let eligible = [0, 1];
        let table = SpreadTable::new(&eligible, &weights);
        let Cursor::Schedule(mut schedule) = table.cursor(Place::START) else {
            panic!("a spread table has a schedule");
        };
        schedule.now += REBASE / 2;
        let far = schedule.queue.into_vec().into_iter();
        schedule.queue = far
            .map(|due| Reverse((due.0.0 + REBASE, due.0.1)))
            .collect();
        assert_eq!(schedule.advance(&table.beats), Some(0));
        assert!(schedule.now < table.cycle);
        assert_eq!(schedule.advance(&table.beats), Some(0));
    }
}
