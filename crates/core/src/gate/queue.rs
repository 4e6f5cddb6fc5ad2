//! Who waits for a slot, in which order, and who gives way: the rules, without threads.
//!
//! The most important first, and among equals who came first. A request that would not be served in time
//! is refused at once, as soon as it is known how fast the line moves; the wait it had ahead comes with
//! the refusal. When the line is full, a more important newcomer takes the place of the newest of the
//! least important.

use std::collections::VecDeque;

use super::shed::{Priority, ShedReason};
use crate::clock::Nanos;

/// How many may wait, and how long.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Nanos, QueuePolicy, WaitingRoom};
///
/// let policy = QueuePolicy { size: 100, timeout: Nanos::from_secs(1) };
/// assert!(WaitingRoom::new(policy).is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePolicy {
    /// The most requests that wait, over all workers; with 0 nobody does.
    pub size: u32,
    /// The longest that one waits.
    pub timeout: Nanos,
}

/// A place in the line: names whoever has it until it is left.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Line, Nanos, Priority, QueuePolicy, ShedReason};
///
/// let policy = QueuePolicy { size: 1, timeout: Nanos::from_secs(1) };
/// let (mut line, now) = (Line::default(), Nanos(0));
/// let entered = line.enter("a", Priority::Default, policy, policy.timeout, now);
/// let (place, _) = entered.expect("room for one");
/// assert_eq!(line.leave(place), Some("a"));
/// assert_eq!(line.leave(place), None, "it is gone");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    priority: Priority,
    /// Counts all that ever came.
    number: u64,
}

/// A request that may not wait.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Line, Nanos, Priority, QueuePolicy, ShedReason};
///
/// let policy = QueuePolicy { size: 1, timeout: Nanos::from_secs(1) };
/// let (mut line, now) = (Line::default(), Nanos(0));
/// let _ = line.enter("a", Priority::Default, policy, policy.timeout, now);
/// let refused = line.enter("b", Priority::Default, policy, policy.timeout, now).expect_err("room for one");
/// assert_eq!(refused.reason, ShedReason::QueueFull);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Why not.
    pub reason: ShedReason,
    /// How long it would have waited, as far as that is known.
    pub wait: Option<Nanos>,
}

/// Those who wait.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Line, Nanos, Priority, QueuePolicy, ShedReason};
///
/// let policy = QueuePolicy { size: 1, timeout: Nanos::from_secs(1) };
/// let (mut line, now) = (Line::default(), Nanos(0));
/// let entered = line.enter("a", Priority::Default, policy, policy.timeout, now);
/// let (place, _) = entered.expect("room for one");
/// assert_eq!(line.first(|_| true), Some(place));
/// assert_eq!(line.serve(place), Some("a"));
/// ```
#[derive(Debug)]
pub struct Line<T> {
    /// By priority, each in the order of their numbers.
    classes: [VecDeque<(u64, T)>; Priority::ALL.len()],
    next: u64,
    pace: Pace,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            classes: Default::default(),
            next: 0,
            pace: Pace::default(),
        }
    }
}

impl<T> Line<T> {
    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.classes.iter().map(VecDeque::len).sum()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a place for a request that has to be served before `deadline`; with it comes whoever had
    /// to give way. O(1).
    ///
    /// # Errors
    ///
    /// When there is no place, or when it would be served too late.
    pub fn enter(
        &mut self,
        who: T,
        priority: Priority,
        policy: QueuePolicy,
        deadline: Nanos,
        now: Nanos,
    ) -> Result<(Place, Option<T>), Refused> {
        self.pace.look(now, self.is_empty());
        let ahead = &self.classes[..=priority as usize];
        let ahead = ahead.iter().map(VecDeque::len).sum();
        let wait = self.pace.wait(ahead, now);
        if wait.is_some_and(|wait| now + wait > deadline) {
            let reason = ShedReason::Deadline;
            return Err(Refused { reason, wait });
        }
        let mut gives_way = None;
        if self.len() >= policy.size as usize {
            gives_way = self.newest_below(priority);
            if gives_way.is_none() {
                let reason = match policy.size {
                    0 => ShedReason::Capacity,
                    _ => ShedReason::QueueFull,
                };
                return Err(Refused { reason, wait });
            }
        }
        self.next += 1;
        let number = self.next;
        self.classes[priority as usize].push_back((number, who));
        Ok((Place { priority, number }, gives_way))
    }

    /// Takes the newest of the least important out, if it matters less than that.
    fn newest_below(&mut self, priority: Priority) -> Option<T> {
        let below = &mut self.classes[priority as usize + 1..];
        let least = below.iter_mut().rev().find(|class| !class.is_empty())?;
        least.pop_back().map(|(_, who)| who)
    }

    /// Leaves a place; none if it has been left before. O(n) at worst.
    pub fn leave(&mut self, place: Place) -> Option<T> {
        let class = &mut self.classes[place.priority as usize];
        let at = class.binary_search_by_key(&place.number, |(number, _)| *number);
        let left = class.remove(at.ok()?).map(|(_, who)| who);
        self.pace.pause_if(self.is_empty());
        left
    }

    /// Goes back to a place that was left, before all who came later.
    pub fn come_back(&mut self, place: Place, who: T) {
        let class = &mut self.classes[place.priority as usize];
        let at = class.partition_point(|(number, _)| *number < place.number);
        class.insert(at, (place.number, who));
    }

    /// The first in line for which `may` holds; it keeps its place. O(n) at worst.
    pub fn first(&self, mut may: impl FnMut(&T) -> bool) -> Option<Place> {
        Priority::ALL.into_iter().find_map(|priority| {
            let mut class = self.classes[priority as usize].iter();
            let (number, _) = class.find(|(_, who)| may(who))?;
            let number = *number;
            Some(Place { priority, number })
        })
    }

    /// Leaves a place because it was served.
    pub fn serve(&mut self, place: Place) -> Option<T> {
        self.pace.served += 1;
        self.leave(place)
    }

    /// All who wait.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.classes.iter_mut().flatten().map(|(_, who)| who)
    }
}

/// How fast the line moves, learned while there is one.
#[derive(Debug, Default)]
struct Pace {
    /// Since when it is counted; none while nobody waits.
    since: Option<Nanos>,
    served: u32,
    /// Requests a nanosecond, and when that was known.
    known: Option<(f64, Nanos)>,
}

/// A pace is known from so many on that were served in so short a time...
const SERVED_MIN: u32 = 8;
const SPELL_MIN: Nanos = Nanos::from_millis(100);

/// ...or from one on in so long a time.
const SPELL: Nanos = Nanos::from_secs(1);

/// How long a pace is believed in.
const KNOWN_FOR: Nanos = Nanos::from_secs(10);

impl Pace {
    /// Counts from now on, or works out what was counted.
    fn look(&mut self, now: Nanos, is_empty: bool) {
        let Some(since) = self.since.filter(|_| !is_empty) else {
            (self.since, self.served) = (Some(now), 0);
            return;
        };
        let spell = now.since(since);
        let is_enough = spell >= SPELL_MIN && self.served >= SERVED_MIN;
        if !is_enough && (spell < SPELL || self.served == 0) {
            return;
        }
        let pace = f64::from(self.served) / spell.0 as f64;
        let pace = match self.known {
            Some((known, at)) if now.since(at) < KNOWN_FOR => f64::midpoint(known, pace),
            _ => pace,
        };
        self.known = Some((pace, now));
        (self.since, self.served) = (Some(now), 0);
    }

    fn pause_if(&mut self, is_empty: bool) {
        if is_empty {
            self.since = None;
        }
    }

    /// How long it takes until so many are served. Whoever has nobody ahead is next: no pace counts
    /// against it.
    fn wait(&self, ahead: usize, now: Nanos) -> Option<Nanos> {
        let (pace, at) = self.known?;
        let is_known = ahead > 0 && now.since(at) < KNOWN_FOR;
        is_known.then(|| Nanos((ahead as f64 / pace) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use Priority::{Critical, Default, Sheddable};

    const POLICY: QueuePolicy = QueuePolicy {
        size: 3,
        timeout: Nanos::from_secs(1),
    };

    fn enter(
        line: &mut Line<u32>,
        who: u32,
        priority: Priority,
        ms: u64,
    ) -> Result<(Place, Option<u32>), Refused> {
        let now = Nanos::from_millis(ms);
        line.enter(who, priority, POLICY, now + POLICY.timeout, now)
    }

    fn next(line: &mut Line<u32>) -> Option<u32> {
        let place = line.first(|_| true)?;
        line.serve(place)
    }

    #[test]
    fn the_most_important_is_first_and_among_equals_who_came_first() {
        let mut line = Line::default();
        for (who, priority) in [(1, Sheddable), (2, Default), (3, Critical)] {
            enter(&mut line, who, priority, 0).expect("room");
        }
        assert_eq!(line.len(), 3);
        assert_eq!([next(&mut line), next(&mut line)], [Some(3), Some(2)]);
        enter(&mut line, 4, Sheddable, 0).expect("room");
        assert_eq!(
            [next(&mut line), next(&mut line), next(&mut line)],
            [Some(1), Some(4), None]
        );
    }

    #[test]
    fn a_full_line_gives_way_to_who_matters_more() {
        let mut line = Line::default();
        for (who, priority) in [(1, Sheddable), (2, Default), (3, Sheddable)] {
            enter(&mut line, who, priority, 0).expect("room");
        }
        let refused = enter(&mut line, 4, Sheddable, 0).map_err(|refused| refused.reason);
        assert_eq!(refused, Err(ShedReason::QueueFull));
        let given_way =
            |entered: Result<(Place, Option<u32>), Refused>| entered.map(|(_, gone)| gone);
        assert_eq!(
            given_way(enter(&mut line, 5, Critical, 0)),
            Ok(Some(3)),
            "the newest of the least"
        );
        assert_eq!(given_way(enter(&mut line, 6, Default, 0)), Ok(Some(1)));
        assert!(
            enter(&mut line, 7, Default, 0).is_err(),
            "nobody matters less"
        );
        assert_eq!(given_way(enter(&mut line, 8, Critical, 0)), Ok(Some(6)));
        assert_eq!(
            [next(&mut line), next(&mut line), next(&mut line)],
            [Some(5), Some(8), Some(2)]
        );
    }

    #[test]
    fn who_may_not_use_a_slot_keeps_its_place() {
        let mut line = Line::default();
        let places = [1, 2, 3].map(|who| enter(&mut line, who, Default, 0).expect("room").0);
        let even = line.first(|who| who % 2 == 0);
        assert_eq!(even.and_then(|place| line.serve(place)), Some(2));
        assert_eq!(line.leave(places[1]), None, "it has left");
        assert_eq!(line.leave(places[0]), Some(1));
        line.come_back(places[0], 1);
        assert_eq!([next(&mut line), next(&mut line)], [Some(1), Some(3)]);
    }

    #[test]
    fn who_would_be_too_late_is_refused_once_there_is_a_pace() {
        let long = QueuePolicy {
            size: 1_000,
            timeout: Nanos::from_secs(1),
        };
        let mut line = Line::default();
        let come = |line: &mut Line<u32>, ms: u64, priority| {
            let now = Nanos::from_millis(ms);
            line.enter(0, priority, long, now + long.timeout, now)
        };
        // Nothing is known, so everybody may try.
        for _ in 0..100 {
            come(&mut line, 0, Default).expect("no pace yet");
        }
        // Fifty a second are served.
        for _ in 0..10 {
            next(&mut line);
        }
        let refused = come(&mut line, 200, Default).expect_err("ninety ahead are 1.8 s");
        assert_eq!(refused.reason, ShedReason::Deadline);
        assert_eq!(refused.wait, Some(Nanos::from_millis(1_800)));
        come(&mut line, 200, Critical).expect("it has nobody ahead");
        while line.len() > 40 {
            next(&mut line);
        }
        come(&mut line, 200, Default).expect("forty ahead are 0.8 s");
        // Ten seconds later nobody knows any more.
        while next(&mut line).is_some() {}
        for _ in 0..200 {
            come(&mut line, 10_200, Sheddable).expect("no pace any more");
        }
    }

    /// Ten a second, and then thirty: twenty. Ten seconds later the thirty alone would count.
    #[test]
    fn a_new_pace_is_averaged_with_the_one_that_is_known() {
        for (pause, wait_ms) in [(0, 2_000), (10_000, 1_333)] {
            let mut pace = Pace::default();
            for (ms, served) in [(0, 0), (1_000, 10), (1_000 + pause, 0), (2_000 + pause, 30)] {
                pace.pause_if(pause > 0 && served == 0);
                pace.served += served;
                pace.look(Nanos::from_millis(ms), false);
            }
            let wait = pace.wait(40, Nanos::from_millis(2_000 + pause));
            assert_eq!(wait.map(|wait| wait.as_millis()), Some(wait_ms), "{pause}");
        }
    }

    #[test]
    fn a_slow_line_has_a_pace_after_a_second_if_any_was_served() {
        let policy = QueuePolicy {
            size: 100,
            ..POLICY
        };
        let come = |line: &mut Line<u32>, ms: u64| {
            let now = Nanos::from_millis(ms);
            line.enter(0, Default, policy, now + policy.timeout, now)
        };
        for served in [0, 2] {
            let mut line = Line::default();
            for _ in 0..5 + served {
                come(&mut line, 0).expect("no pace yet");
            }
            for _ in 0..served {
                next(&mut line);
            }
            come(&mut line, 999).expect("two in less than a second say nothing");
            let wait = come(&mut line, 1_000).map_err(|refused| refused.wait);
            match served {
                0 => assert!(wait.is_ok(), "that nobody was served says nothing"),
                _ => assert_eq!(
                    wait.err(),
                    Some(Some(Nanos::from_secs(3))),
                    "six, two a second"
                ),
            }
        }
    }

    #[test]
    fn a_line_of_one_is_never_too_slow() {
        let mut line = Line::default();
        for second in 0..20 {
            enter(&mut line, 1, Default, second * 3_000).expect("it is the next");
            next(&mut line);
        }
    }

    #[test]
    fn without_places_it_is_the_capacity_that_refuses() {
        let none = QueuePolicy { size: 0, ..POLICY };
        let refused = Line::default().enter((), Critical, none, Nanos(1), Nanos(0));
        assert_eq!(
            refused.map_err(|refused| refused.reason),
            Err(ShedReason::Capacity)
        );
    }

    #[derive(Clone, Debug)]
    enum Step {
        Enter(Priority),
        Serve,
        Leave(usize),
        ComeBack(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let priority = prop_oneof![Just(Critical), Just(Default), Just(Sheddable)];
        let step = prop_oneof![
            4 => priority.prop_map(Step::Enter),
            2 => Just(Step::Serve),
            1 => (0usize..40).prop_map(Step::Leave),
            1 => (0usize..40).prop_map(Step::ComeBack),
        ];
        prop::collection::vec(step, 0..120)
    }

    proptest! {
        /// Against a plain list: sorted by importance and number, cut at the size.
        #[test]
        fn it_does_what_a_sorted_list_does(steps in steps()) {
            let policy = QueuePolicy { size: 5, timeout: Nanos::from_secs(1) };
            let mut line = Line::default();
            let mut model: Vec<(Priority, u32)> = Vec::new();
            let mut places = Vec::new();
            for (who, step) in (0u32..).zip(steps) {
                match step {
                    Step::Enter(priority) => {
                        let entered = line.enter(who, priority, policy, Nanos::from_secs(9), Nanos(0));
                        let least = model.last().copied();
                        let full = model.len() >= 5;
                        match (full, least) {
                            (true, Some(least)) if least.0 > priority => {
                                let class = model.iter().rposition(|other| other.0 == least.0);
                                let newest = model.remove(class.expect("the least"));
                                prop_assert_eq!(entered.map(|(_, gone)| gone), Ok(Some(newest.1)));
                            }
                            (true, _) => {
                                prop_assert!(entered.is_err());
                                continue;
                            }
                            (false, _) => prop_assert_eq!(entered.map(|(_, gone)| gone), Ok(None)),
                        }
                        places.push((entered.expect("entered").0, priority, who));
                        model.push((priority, who));
                        model.sort();
                    }
                    Step::Serve => {
                        let served = line.first(|_| true).and_then(|place| line.serve(place));
                        let due = (!model.is_empty()).then(|| model.remove(0).1);
                        prop_assert_eq!(served, due);
                    }
                    Step::Leave(at) => {
                        let Some((place, priority, who)) = places.get(at).copied() else { continue };
                        let there = model.iter().position(|other| *other == (priority, who));
                        prop_assert_eq!(line.leave(place), there.map(|at| model.remove(at).1));
                    }
                    Step::ComeBack(at) => {
                        let Some((place, priority, who)) = places.get(at).copied() else { continue };
                        if !model.contains(&(priority, who)) {
                            line.come_back(place, who);
                            model.push((priority, who));
                            model.sort();
                        }
                    }
                }
                prop_assert_eq!(line.len(), model.len());
            }
        }
    }
}
