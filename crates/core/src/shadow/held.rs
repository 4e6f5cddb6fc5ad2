//! Requests that a shadow has in flight, each until its time is over.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::witness::End;
use crate::clock::Nanos;
use crate::endpoint::EndpointState;
use crate::load::Total;
use crate::pick::lease::observe;
use crate::snapshot::Snapshot;

/// The most requests that one thread holds for a shadow, in 320 KiB. Of more the one that is next to end does.
const HELD_MAX: usize = 8_192;

/// Slots of a shadow's endpoints, by when they are let go of.
///
/// Nobody is woken for that: whoever asks next does it. What is held goes from snapshot to snapshot, and
/// is let go of with this.
#[derive(Debug)]
pub(super) struct Held {
    slots: BinaryHeap<Slot>,
    /// The serial of the snapshot that the places are of.
    snapshot: u64,
    states: Box<[Arc<EndpointState>]>,
    total: Option<Arc<Total>>,
    /// The part of the total in which they count.
    shard: u8,
}

/// A slot at the endpoint of a place.
#[derive(Debug)]
struct Slot {
    until: Nanos,
    index: u32,
    end: End,
}

impl Held {
    pub(super) fn new(shard: u8) -> Self {
        Self {
            // Memory that is never written to costs nothing, and none is asked for later.
            slots: BinaryHeap::with_capacity(HELD_MAX),
            snapshot: 0,
            states: Box::default(),
            total: None,
            shard,
        }
    }

    /// Lets go of what is over, and takes in how it ended. The snapshot is the one that was followed last.
    #[inline]
    pub(super) fn release(&mut self, snapshot: &Snapshot, now: Nanos) {
        while let Some(slot) = self.slots.peek()
            && slot.until <= now
        {
            self.end_next(snapshot);
        }
    }

    /// Holds a slot that has been taken at `now` at a place of the snapshot that was followed last.
    #[inline]
    pub(super) fn hold(&mut self, snapshot: &Snapshot, index: u32, end: End, now: Nanos) {
        if self.slots.len() >= HELD_MAX {
            self.end_next(snapshot);
        }
        let until = now + end.took;
        self.slots.push(Slot { until, index, end });
    }

    /// Goes over to another snapshot of the same cluster.
    #[inline]
    pub(super) fn follow(&mut self, snapshot: &Snapshot) {
        if snapshot.serial() != self.snapshot {
            self.go_over(snapshot);
        }
    }

    #[cold]
    fn go_over(&mut self, snapshot: &Snapshot) {
        let mut slots = std::mem::take(&mut self.slots).into_vec();
        let total = snapshot.terms.in_flight.clone();
        slots.retain_mut(|slot| {
            let serial = self.states[slot.index as usize].serial();
            let Some(index) = snapshot.position(serial) else {
                self.release_slot(slot.index);
                return false;
            };
            if let Some(total) = &self.total {
                total.end(self.shard);
            }
            if let Some(total) = &total {
                total.begin(self.shard);
            }
            slot.index = index;
            true
        });
        let candidates = snapshot.candidates().iter();
        self.states = candidates.map(|one| one.shared_state()).collect();
        self.snapshot = snapshot.serial();
        self.total = total;
        self.slots = slots.into();
    }

    fn end_next(&mut self, snapshot: &Snapshot) {
        let Some(Slot { until, index, end }) = self.slots.pop() else {
            return;
        };
        let state = &self.states[index as usize];
        observe(
            state,
            &snapshot.terms,
            end.outcome,
            end.took,
            end.load,
            until,
        );
        self.release_slot(index);
    }

    fn release_slot(&self, index: u32) {
        if let Some(total) = &self.total {
            total.end(self.shard);
        }
        self.states[index as usize].in_flight().release();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for slot in &self.slots {
            self.release_slot(slot.index);
        }
    }
}

impl Ord for Slot {
    /// What ends first is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.until, other.index).cmp(&(self.until, self.index))
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Slot {}
