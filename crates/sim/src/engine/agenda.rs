//! What will happen, in the order in which it does.
//!
//! A heap would look at a dozen far places for each event once tens of thousands are under way. Times only move
//! on, so a wheel does with a few near ones: events lie in slots by the highest byte in which their time differs
//! from the beginning of the last slot that was opened. The next slot is opened when what came before has happened:
//! few events are sorted, many are spread over slots of the byte below. As large as what is under way, never as
//! what has been.

use std::cmp::Reverse;

use evenkeel_core::Nanos;

use super::events::Event;

const BITS: u32 = 8;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = (u64::BITS / BITS) as usize;

/// A slot of at most so many events is sorted at once.
const SORTED_MAX: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Nanos,
    event: Event,
}

/// The slots of one byte.
#[derive(Debug)]
struct Level {
    slots: Vec<Vec<Entry>>,
    /// A bit for each slot that holds something.
    used: [u64; SLOTS / 64],
}

impl Level {
    fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            used: [0; SLOTS / 64],
        }
    }

    #[inline]
    fn push(&mut self, slot: usize, entry: Entry) {
        self.slots[slot].push(entry);
        self.used[slot / 64] |= 1 << (slot % 64);
    }

    #[inline]
    fn first_used(&self) -> Option<usize> {
        let word = self.used.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.used[word].trailing_zeros() as usize)
    }
}

/// What will happen.
#[derive(Debug)]
pub(super) struct Agenda {
    /// What happens before `end`, the next last; of two at the same moment the one that was planned first.
    near: Vec<Entry>,
    end: Nanos,
    /// Where the last slot that was opened begins; nothing happens before.
    base: u64,
    levels: Vec<Level>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            near: Vec::new(),
            end: Nanos(0),
            base: 0,
            levels: (0..LEVELS).map(|_| Level::new()).collect(),
        }
    }
}

impl Agenda {
    /// Plans an event, not before the last one that happened.
    #[inline]
    pub(super) fn plan(&mut self, at: Nanos, event: Event) {
        let entry = Entry { at, event };
        if at >= self.end {
            return self.put(entry);
        }
        let place = self.near.partition_point(|other| other.at > at);
        self.near.insert(place, entry);
        if self.near.len() > 2 * SORTED_MAX {
            self.put_back_half();
        }
    }

    /// Takes what happens next, if it does by `limit`; time has come there then, if there was nothing.
    #[inline]
    pub(super) fn pop(&mut self, limit: Nanos) -> Option<(Nanos, Event)> {
        while self.near.is_empty() {
            self.open_next(limit)?;
        }
        let next = self.near.pop_if(|next| next.at <= limit)?;
        Some((next.at, next.event))
    }

    /// Puts an event into its slot.
    #[inline]
    fn put(&mut self, entry: Entry) {
        // Times in the first slot differ in no byte.
        let differs = (entry.at.0 ^ self.base) | 1;
        let level = ((u64::BITS - 1 - differs.leading_zeros()) / BITS) as usize;
        let slot = (entry.at.0 >> (level as u32 * BITS)) as usize % SLOTS;
        self.levels[level].push(slot, entry);
    }

    /// Opens the next slot, unless it begins after `limit`.
    fn open_next(&mut self, limit: Nanos) -> Option<()> {
        let found = self.levels.iter().enumerate();
        let (level, slot) = found
            .filter_map(|(level, slots)| Some((level, slots.first_used()?)))
            .next()?;
        let shift = level as u32 * BITS;
        let above = match shift + BITS {
            u64::BITS.. => 0,
            all => self.base >> all << all,
        };
        let begins = above | (slot as u64) << shift;
        if begins > limit.0 {
            return None;
        }
        self.base = begins;
        let opened = &mut self.levels[level];
        opened.used[slot / 64] &= !(1 << (slot % 64));
        let mut entries = std::mem::take(&mut opened.slots[slot]);
        if entries.len() > SORTED_MAX && level > 0 {
            for entry in entries.drain(..) {
                self.put(entry);
            }
            return Some(());
        }
        // Stable, and read from the end.
        self.near.extend(entries.drain(..).rev());
        self.near.sort_by_key(|entry| Reverse(entry.at));
        self.end = self
            .near
            .first()
            .map_or(self.end, |last| Nanos(last.at.0.saturating_add(1)));
        self.levels[level].slots[slot] = entries;
        Some(())
    }

    /// Puts the later half of what is near into slots: many were planned before what was thought to be next.
    #[cold]
    fn put_back_half(&mut self) {
        let middle = self.near[self.near.len() / 2].at;
        // All of a moment stay together.
        let kept = self.near.partition_point(|entry| entry.at >= middle);
        let Some(first_kept) = self.near.get(kept) else {
            return;
        };
        self.end = Nanos(first_kept.at.0 + 1);
        let later: Vec<Entry> = self.near.drain(..kept).collect();
        for entry in later.into_iter().rev() {
            self.put(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_core::Rng;

    use super::*;
    use crate::chance::below;

    /// Against a sorted list, over spans from a nanosecond to years, with many events at the same moments.
    #[test]
    fn events_happen_in_the_order_of_their_times_and_then_of_their_planning() {
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let (mut agenda, mut model) = (Agenda::default(), BTreeMap::new());
            let (mut now, mut planned) = (0, 0_u32);
            let most = 1 << below(&mut rng, 12);
            for _ in 0..20_000 {
                if below(&mut rng, 3) > 0 && model.len() < most {
                    let bits = below(&mut rng, 56);
                    let span = below(&mut rng, 1 << bits);
                    let span = if below(&mut rng, 4) == 0 {
                        span & !0xFFF
                    } else {
                        span
                    };
                    planned += 1;
                    agenda.plan(Nanos(now + span), Event::User { user: planned });
                    model.insert((now + span, planned), ());
                    continue;
                }
                let bits = below(&mut rng, 40);
                let limit = now + below(&mut rng, 1 << bits);
                let due = model.first_key_value().map(|(key, ())| *key);
                let due = due.filter(|(at, _)| *at <= limit);
                let popped = agenda.pop(Nanos(limit));
                let wanted = due.map(|(at, user)| (Nanos(at), Event::User { user }));
                assert_eq!(popped, wanted, "seed {seed}");
                now = due.map_or(limit, |(at, _)| at);
                if let Some(due) = due {
                    model.remove(&due);
                }
            }
            while let Some((at, user)) = model.pop_first().map(|(key, ())| key) {
                assert_eq!(
                    agenda.pop(Nanos(u64::MAX)),
                    Some((Nanos(at), Event::User { user }))
                );
            }
            assert_eq!(agenda.pop(Nanos(u64::MAX)), None);
        }
    }
}
