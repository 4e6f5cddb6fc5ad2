//! What a strategy may read while it decides: each shared value once, and on the record.

use crate::clock::Nanos;
use crate::load::Load;
use crate::pick::context::{Attempts, PickContext};
use crate::pick::receipt::{Compared, Refusal, Tape};
use crate::rng::{Rng, scale};
use crate::snapshot::{Candidate, Snapshot};
use crate::strategy::Cursor;

/// The most endpoints that may refuse one decision before the scan gives up on being choosy.
pub(crate) const REFUSALS_MAX: usize = Attempts::MAX + 8;

/// The changing inputs of one decision.
///
/// A strategy draws random numbers and reads loads only through this, so that a traced decision
/// records all of them and a derivation can hand them out again.
#[derive(Debug)]
pub struct Inputs<'a> {
    candidates: &'a [Candidate],
    rng: &'a mut Rng,
    tape: Option<&'a mut Tape<'a>>,
    ctx: &'a PickContext,
    half_life: Nanos,
    refused: [u32; REFUSALS_MAX],
    refused_count: usize,
    tried_count: usize,
}

impl<'a> Inputs<'a> {
    #[inline]
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        ctx: &'a PickContext,
        rng: &'a mut Rng,
        tape: Option<&'a mut Tape<'a>>,
    ) -> Self {
        Self {
            candidates: snapshot.candidates(),
            rng,
            tape,
            ctx,
            half_life: snapshot.failure_half_life(),
            refused: [0; REFUSALS_MAX],
            refused_count: 0,
            tried_count: 0,
        }
    }

    /// The hash of the request's key, if it has one.
    #[must_use]
    pub fn key(&self) -> Option<u64> {
        self.ctx.key
    }

    /// The effective weight of an endpoint in 1/256, at least 1 while it may be chosen.
    #[inline]
    #[must_use]
    pub fn weight(&self, index: u32) -> u32 {
        self.candidates[index as usize].weight()
    }

    /// The most requests the endpoint may have in flight; 0 while it may not be chosen.
    #[inline]
    pub(crate) fn cap(&self, index: u32) -> u32 {
        self.candidates[index as usize].cap()
    }

    /// Whether this decision is being written down, or derived from what was.
    #[inline]
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.tape.is_some()
    }

    /// Puts the group and the place in its schedule on the record.
    #[inline]
    pub(crate) fn note_group(&mut self, tier: u8, cursor: &Cursor) {
        if let Some(tape) = &mut self.tape {
            tape.written.tier = tier;
            tape.written.cursor = cursor.place();
        }
    }

    /// Draws from `0..n` together with the bits left over, as a fraction of 2^64. `n` is at least 1.
    #[inline]
    pub fn draw(&mut self, n: u64) -> (u64, u64) {
        let bits = match &mut self.tape {
            None => self.rng.next_u64(),
            Some(tape) => tape.draw(self.rng),
        };
        scale(bits, n)
    }

    /// Reads the load of an endpoint. Call it once for each endpoint and decide on what it said.
    #[inline]
    pub fn load(&mut self, index: u32) -> Load {
        let candidate = &self.candidates[index as usize];
        match &mut self.tape {
            None => candidate.load(self.ctx.now, self.half_life),
            Some(tape) => {
                let read = || candidate.load(self.ctx.now, self.half_life);
                let load = tape.load(index, read);
                tape.compared(Compared::by_load(index, candidate.weight(), load));
                load
            }
        }
    }

    /// Puts a deadline on the record, for schedules whose state cannot be rebuilt from a snapshot.
    ///
    /// Returns what the record says in a derivation, else `read()`.
    #[inline]
    pub fn deadline(&mut self, read: impl FnOnce() -> (u32, u64)) -> (u32, u64) {
        match &mut self.tape {
            None => read(),
            Some(tape) => {
                let (index, deadline) = tape.deadline(read);
                let weight = self
                    .candidates
                    .get(index as usize)
                    .map_or(0, Candidate::weight);
                tape.compared(Compared::by_deadline(index, weight, deadline));
                (index, deadline)
            }
        }
    }

    /// Whether an endpoint is known not to be open to this request: tried before, or just refused.
    #[inline]
    #[must_use]
    pub fn is_refused(&self, index: u32) -> bool {
        self.refused[..self.refused_count].contains(&index)
    }

    /// Takes a slot at a proposed endpoint, or notes that it refused.
    #[inline]
    pub(crate) fn acquire(&mut self, index: u32) -> bool {
        if self.is_refused(index) {
            return false;
        }
        let candidate = &self.candidates[index as usize];
        let refusal = match &mut self.tape {
            None => candidate.acquire(),
            Some(tape) => tape.slot(index, || candidate.acquire()),
        };
        let Some(refusal) = refusal else { return true };
        self.refuse(index, refusal);
        false
    }

    #[cold]
    fn refuse(&mut self, index: u32, refusal: Refusal) {
        if self.refused_count < REFUSALS_MAX {
            self.refused[self.refused_count] = index;
            self.refused_count += 1;
        }
        if let Some(tape) = &mut self.tape {
            tape.excluded(index, refusal);
        }
    }

    /// Excludes the endpoints that this request has been sent to before.
    #[cold]
    pub(crate) fn exclude_tried(&mut self, snapshot: &Snapshot) {
        // A derivation knows no serials: it finds the places on the record.
        while let Some(index) = self.tape.as_mut().and_then(|tape| tape.next_tried()) {
            self.refuse(index, Refusal::Tried);
        }
        for serial in self.ctx.attempts.iter() {
            if let Some(index) = snapshot.position(serial) {
                self.refuse(index, Refusal::Tried);
            }
        }
        self.tried_count = self.refused_count;
    }

    /// Whether there is room to remember one more refusal.
    pub(crate) fn remembers_refusals(&self) -> bool {
        self.refused_count < REFUSALS_MAX
    }

    /// Whether an endpoint could take this request if it had a slot.
    pub(crate) fn is_untried(&self, index: u32) -> bool {
        !self.refused[..self.tried_count].contains(&index)
    }
}
