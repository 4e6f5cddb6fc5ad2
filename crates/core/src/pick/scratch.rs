//! What a picker reuses from decision to decision, so that a pick clears and allocates nothing.

use crate::pick::context::Attempts;
use crate::rng::Rng;

/// The most endpoints that may refuse one decision before the scan gives up on being choosy.
const REFUSALS_MAX: usize = Attempts::MAX + 8;

/// The most endpoints that are scored side by side.
pub(crate) const SCORES_MAX: usize = 64;

/// The random stream of a picker and its memory of the decision at hand.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) rng: Rng,
    pub(crate) refusals: Refusals,
    pub(crate) scores: [u64; SCORES_MAX],
}

impl Scratch {
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            rng,
            refusals: Refusals::default(),
            scores: [0; SCORES_MAX],
        }
    }
}

/// The endpoints that refused the decision at hand.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    list: [u32; REFUSALS_MAX],
    count: u32,
    /// How many of them did because the request has been there; those come first.
    tried: u32,
}

impl Refusals {
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.count, self.tried) = (0, 0);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the endpoint is on the list; nearly always there is none.
    #[inline]
    pub(crate) fn contains(&self, index: u32) -> bool {
        !self.is_empty() && self.lists(index)
    }

    #[cold]
    fn lists(&self, index: u32) -> bool {
        self.list[..self.count as usize].contains(&index)
    }

    /// Remembers a refusal as long as there is room.
    pub(crate) fn push(&mut self, index: u32) {
        if let Some(slot) = self.list.get_mut(self.count as usize) {
            *slot = index;
            self.count += 1;
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        (self.count as usize) < REFUSALS_MAX
    }

    /// Says that all that refused so far did because the request has been there.
    pub(crate) fn end_of_tried(&mut self) {
        self.tried = self.count;
    }

    /// Forgets the other refusals.
    pub(crate) fn keep_tried(&mut self) {
        self.count = self.tried;
    }

    /// Whether the request has not been there.
    pub(crate) fn is_untried(&self, index: u32) -> bool {
        !self.list[..self.tried as usize].contains(&index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_remembered_while_there_is_room() {
        let mut refusals = Refusals::default();
        assert!(refusals.is_empty() && refusals.has_room());
        refusals.push(7);
        refusals.end_of_tried();
        for index in 0..REFUSALS_MAX as u32 {
            assert_eq!(refusals.has_room(), (index as usize) < REFUSALS_MAX - 1);
            refusals.push(100 + index);
        }
        assert!(!refusals.has_room());
        let last = 100 + REFUSALS_MAX as u32;
        assert!(refusals.contains(7) && refusals.contains(100));
        assert!(!refusals.contains(last - 1), "there was no room for it");
        assert!(!refusals.is_untried(7) && refusals.is_untried(100));
        refusals.keep_tried();
        assert!(refusals.contains(7) && !refusals.contains(100) && refusals.has_room());
        refusals.clear();
        assert!(refusals.is_empty() && refusals.is_untried(7));
    }
}
