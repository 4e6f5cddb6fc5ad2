//! Requests in the order of their deadlines, which all lie equally far from where they begin: a list by the
//! places of the requests, so that a deadline that is never reached costs next to nothing.

use evenkeel_core::Nanos;

use super::slab::NONE;

/// How many lists there are.
pub(super) const LISTS: usize = 4;

/// For an answer, over all tries.
pub(super) const RESPONSE: u8 = 0;

/// For an answer of one try.
pub(super) const TRY: u8 = 1;

/// For a silence after which another backend is asked too.
pub(super) const HEDGE: u8 = 2;

/// For a slot.
pub(super) const QUEUE: u8 = 3;

/// Stands before a request that is not in the list.
const OUT: u32 = NONE - 1;

/// A request's place in a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
    due: Nanos,
}

impl Link {
    const OUT: Self = Self {
        before: OUT,
        after: NONE,
        due: Nanos(0),
    };
}

/// One list.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// How far deadlines lie from where requests begin.
    pub(super) span: Nanos,
    /// By the places of requests; as many as were ever in at once.
    links: Vec<Link>,
    first: u32,
    last: u32,
    /// Whether somebody will look.
    pub(super) planned: bool,
}

impl Deadlines {
    pub(super) fn new(span: Nanos) -> Self {
        Self {
            span,
            links: Vec::new(),
            first: NONE,
            last: NONE,
            planned: false,
        }
    }

    /// Puts a request at the end, if it is not in.
    #[inline]
    pub(super) fn push(&mut self, place: u32, now: Nanos) {
        let at = place as usize;
        if at >= self.links.len() {
            self.links.resize(at + 1, Link::OUT);
        }
        if self.links[at].before != OUT {
            return;
        }
        self.links[at] = Link {
            before: self.last,
            after: NONE,
            due: now + self.span,
        };
        match self.links.get_mut(self.last as usize) {
            Some(last) => last.after = place,
            None => self.first = place,
        }
        self.last = place;
    }

    /// Takes a request out, if it is in.
    #[inline]
    pub(super) fn remove(&mut self, place: u32) {
        let Some(link) = self.links.get_mut(place as usize) else {
            return;
        };
        let link = std::mem::replace(link, Link::OUT);
        if link.before == OUT {
            return;
        }
        match self.links.get_mut(link.before as usize) {
            Some(before) => before.after = link.after,
            None => self.first = link.after,
        }
        match self.links.get_mut(link.after as usize) {
            Some(after) => after.before = link.before,
            None => self.last = link.before,
        }
    }

    /// The first one, with its deadline.
    pub(super) fn first(&self) -> Option<(u32, Nanos)> {
        let link = self.links.get(self.first as usize)?;
        Some((self.first, link.due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(list: &mut Deadlines) -> Vec<u32> {
        let next = |list: &mut Deadlines| {
            let (place, _) = list.first()?;
            list.remove(place);
            Some(place)
        };
        std::iter::from_fn(|| next(list)).collect()
    }

    #[test]
    fn requests_come_out_as_they_went_in_without_those_that_left() {
        let mut list = Deadlines::new(Nanos(10));
        for (at, place) in [5, 2, 9, 0].into_iter().enumerate() {
            list.push(place, Nanos(at as u64));
        }
        list.push(2, Nanos(7));
        list.remove(9);
        list.remove(9);
        list.remove(77);
        assert_eq!(list.first(), Some((5, Nanos(10))));
        assert_eq!(drain(&mut list), [5, 2, 0]);
        list.push(3, Nanos(20));
        assert_eq!(list.first(), Some((3, Nanos(30))));
    }
}
