//! Which of the entries came before which: a list through all of them, so that nobody looks for the oldest.

use super::POOL_MAX;

/// Where the list begins and ends: the place after it is the oldest, the one before it the youngest.
const ENDS: usize = POOL_MAX;

/// The places of entries from the oldest to the youngest.
#[derive(Debug)]
pub(super) struct Ages {
    older: [u8; POOL_MAX + 1],
    younger: [u8; POOL_MAX + 1],
}

impl Ages {
    pub(super) fn new() -> Self {
        Self {
            older: [ENDS as u8; POOL_MAX + 1],
            younger: [ENDS as u8; POOL_MAX + 1],
        }
    }

    /// The place of the oldest, if there is one.
    #[inline]
    pub(super) fn oldest(&self) -> Option<usize> {
        self.younger_than(ENDS)
    }

    /// All places, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.oldest(), |at| self.younger_than(*at))
    }

    fn younger_than(&self, at: usize) -> Option<usize> {
        let next = usize::from(self.younger[at]);
        (next != ENDS).then_some(next)
    }

    /// A new one at a place where none is.
    #[inline]
    pub(super) fn add(&mut self, at: usize) {
        self.link(usize::from(self.older[ENDS]), at);
        self.link(at, ENDS);
    }

    /// The one at a place is gone.
    #[inline]
    pub(super) fn remove(&mut self, at: usize) {
        let (older, younger) = (self.older[at], self.younger[at]);
        self.link(usize::from(older), usize::from(younger));
    }

    /// The one at a place is as old as before at another, where none is.
    #[inline]
    pub(super) fn relocate(&mut self, from: usize, to: usize) {
        let (older, younger) = (self.older[from], self.younger[from]);
        self.link(usize::from(older), to);
        self.link(to, usize::from(younger));
    }

    fn link(&mut self, older: usize, younger: usize) {
        self.younger[older] = younger as u8;
        self.older[younger] = older as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_in_the_order_in_which_they_came() {
        let mut ages = Ages::new();
        assert_eq!(ages.oldest(), None);
        for at in [4, 1, POOL_MAX - 1, 0] {
            ages.add(at);
        }
        let places = |ages: &Ages| ages.iter().collect::<Vec<_>>();
        assert_eq!(places(&ages), [4, 1, POOL_MAX - 1, 0]);
        ages.remove(1);
        ages.add(1);
        ages.relocate(POOL_MAX - 1, 7);
        assert_eq!(places(&ages), [4, 7, 0, 1]);
        ages.remove(4);
        assert_eq!(ages.oldest(), Some(7));
        for at in [0, 7, 1] {
            ages.remove(at);
        }
        assert_eq!(ages.oldest(), None);
    }
}
