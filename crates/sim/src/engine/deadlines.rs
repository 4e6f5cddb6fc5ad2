//! Requests in the order of their deadlines, which all lie equally far from where they begin: a list in
//! the requests' own places, so that a deadline that is never reached costs next to nothing.

use evenkeel_core::Nanos;

use super::request::Request;
use super::slab::{NONE, Slab};

/// How many lists there are.
pub(super) const LISTS: usize = 2;

/// For an answer, over all tries.
pub(super) const RESPONSE: u8 = 0;

/// For an answer of one try.
pub(super) const TRY: u8 = 1;

/// A request's place in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    before: u32,
    after: u32,
    pub(super) due: Nanos,
    is_in: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            before: NONE,
            after: NONE,
            due: Nanos(0),
            is_in: false,
        }
    }
}

/// One list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    number: u8,
    /// How far deadlines lie from where requests begin.
    pub(super) span: Nanos,
    first: u32,
    last: u32,
    /// Whether somebody will look.
    pub(super) planned: bool,
}

impl Deadlines {
    pub(super) fn new(number: u8, span: Nanos) -> Self {
        Self {
            number,
            span,
            first: NONE,
            last: NONE,
            planned: false,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, requests: &mut Slab<Request>, place: u32, now: Nanos) {
        let (list, before) = (usize::from(self.number), self.last);
        if let Some(request) = requests.get_mut(place) {
            request.links[list] = Link {
                before,
                after: NONE,
                due: now + self.span,
                is_in: true,
            };
        }
        match requests.get_mut(before) {
            Some(last) => last.links[list].after = place,
            None => self.first = place,
        }
        self.last = place;
    }

    /// Takes a request out, if it is in.
    #[inline]
    pub(super) fn remove(&mut self, requests: &mut Slab<Request>, place: u32) {
        let list = usize::from(self.number);
        let Some(request) = requests.get_mut(place) else {
            return;
        };
        let link = std::mem::take(&mut request.links[list]);
        if !link.is_in {
            return;
        }
        match requests.get_mut(link.before) {
            Some(before) => before.links[list].after = link.after,
            None => self.first = link.after,
        }
        match requests.get_mut(link.after) {
            Some(after) => after.links[list].before = link.before,
            None => self.last = link.before,
        }
    }

    /// The first one, with its deadline.
    pub(super) fn first(&self, requests: &Slab<Request>) -> Option<(u32, Nanos)> {
        let request = requests.get(self.first)?;
        Some((self.first, request.links[usize::from(self.number)].due))
    }
}
