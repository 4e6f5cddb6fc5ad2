//! What a traced decision reads and writes: the world and a receipt, or one receipt and another.

use crate::candidate::Candidate;
use crate::clock::Nanos;
use crate::gate::Upto;
use crate::load::{InFlight, Load};
use crate::pick::receipt::{Compared, Exclusion, Receipt, Refusal, Score};
use crate::rng::Rng;
use crate::snapshot::Snapshot;

/// Where a traced decision's inputs go, and, in a derivation, where they come from.
#[derive(Debug)]
pub(crate) struct Tape<'t> {
    pub(crate) written: &'t mut Receipt,
    source: Option<Source<'t>>,
    /// Takes no slots.
    dry: bool,
}

/// A recorded receipt and how far it has been read.
#[derive(Debug)]
struct Source<'t> {
    receipt: &'t Receipt,
    draws: usize,
    candidates: usize,
    excluded: usize,
}

impl<'t> Tape<'t> {
    pub(crate) fn recording(written: &'t mut Receipt) -> Self {
        Self {
            written,
            source: None,
            dry: false,
        }
    }

    /// As above, but nothing is taken.
    pub(crate) fn trying(written: &'t mut Receipt) -> Self {
        Self {
            dry: true,
            ..Self::recording(written)
        }
    }

    pub(crate) fn replaying(receipt: &'t Receipt, written: &'t mut Receipt) -> Self {
        let source = Some(Source {
            receipt,
            draws: 0,
            candidates: 0,
            excluded: 0,
        });
        Self {
            written,
            source,
            dry: true,
        }
    }

    /// The next recorded exclusion, when it is of an endpoint tried before.
    pub(crate) fn next_tried(&mut self) -> Option<u32> {
        let source = self.source.as_mut()?;
        let exclusion = source.receipt.excluded.get(source.excluded)?;
        if exclusion.refusal != Refusal::Tried {
            return None;
        }
        source.excluded += 1;
        Some(exclusion.index)
    }

    pub(crate) fn draw(&mut self, rng: &mut Rng) -> u64 {
        let bits = match &mut self.source {
            None => rng.next_u64(),
            Some(source) => {
                source.draws += 1;
                let at = source.draws - 1;
                source.receipt.draws.get(at).copied().unwrap_or_default()
            }
        };
        self.written.draws.push(bits);
        bits
    }

    pub(crate) fn load(&mut self, index: u32, read: impl FnOnce() -> Load) -> Load {
        match &mut self.source {
            None => read(),
            Some(source) => source
                .next_candidate()
                .filter(|compared| compared.index == index)
                .map_or_else(Load::default, |compared| compared.load),
        }
    }

    pub(crate) fn load_and_latency(
        &mut self,
        index: u32,
        read: impl FnOnce() -> (Load, Option<Nanos>),
    ) -> (Load, Option<Nanos>) {
        match &mut self.source {
            None => read(),
            Some(source) => source
                .next_candidate()
                .filter(|compared| compared.index == index)
                .map_or_else(Default::default, |compared| {
                    (compared.load, compared.latency)
                }),
        }
    }

    /// All requests in flight, read once for a decision.
    pub(crate) fn total(&mut self, read: impl FnOnce() -> u64) -> u64 {
        let recorded = self.source.as_ref().map(|source| source.receipt.total);
        let read = || match recorded {
            None => read(),
            Some(recorded) => recorded.unwrap_or_default(),
        };
        *self.written.total.get_or_insert_with(read)
    }

    /// The next recorded candidate, if it is a report of an endpoint that `fits`.
    pub(crate) fn next_report(&mut self, fits: impl Fn(u32) -> bool) -> Option<Compared> {
        let source = self.source.as_mut()?;
        let next = source.receipt.candidates.get(source.candidates)?;
        let is_report = matches!(next.score, Score::Cold(..) | Score::Hot(..));
        (is_report && fits(next.index)).then(|| {
            source.candidates += 1;
            *next
        })
    }

    /// Takes a slot, or says whether the record has it taken.
    pub(crate) fn slot(
        &mut self,
        index: u32,
        snapshot: &Snapshot,
        upto: Upto,
        now: Nanos,
    ) -> Option<Refusal> {
        match &mut self.source {
            None if self.dry => snapshot.would_refuse(index, upto, now),
            None => snapshot.acquire(index, upto, now),
            Some(source) => {
                let why = match snapshot.levels(index as usize) {
                    Some(_) => Refusal::of(upto),
                    None => Refusal::Full,
                };
                source.refusal(index, &snapshot.candidates()[index as usize], why)
            }
        }
    }

    pub(crate) fn is_replaying(&self) -> bool {
        self.source.is_some()
    }

    /// Each round of a search draws, so the draws that are left say whether there was another one.
    pub(crate) fn goes_on(&self, read: impl FnOnce() -> bool) -> bool {
        match &self.source {
            None => read(),
            Some(source) => source.draws < source.receipt.draws.len(),
        }
    }

    /// Writes what was compared without being read: the record has it too, and it is no input.
    pub(crate) fn noted(&mut self, compared: Compared) {
        if let Some(source) = &mut self.source {
            source.candidates += 1;
        }
        self.compared(compared);
    }

    pub(crate) fn compared(&mut self, compared: Compared) {
        self.written.candidates.push(compared);
    }

    pub(crate) fn excluded(&mut self, index: u32, refusal: Refusal) {
        self.written.excluded.push(Exclusion { index, refusal });
    }
}

impl<'t> Source<'t> {
    fn next_candidate(&mut self) -> Option<&'t Compared> {
        self.candidates += 1;
        self.receipt.candidates.get(self.candidates - 1)
    }

    /// Why the endpoint refused, if it did.
    ///
    /// Only whether it had a slot is taken from the record, and only of one with a cap: the rest, `full`
    /// too, follows from the snapshot and from how it was asked.
    fn refusal(&mut self, index: u32, candidate: &Candidate, full: Refusal) -> Option<Refusal> {
        let next = self.receipt.excluded.get(self.excluded);
        let is_recorded = next.is_some_and(|exclusion| exclusion.index == index);
        let refusal = match candidate.cap() {
            0 => Some(Refusal::NotInService),
            InFlight::UNLIMITED => None,
            _ => is_recorded.then_some(full),
        };
        self.excluded += usize::from(refusal.is_some() && is_recorded);
        refusal
    }
}
