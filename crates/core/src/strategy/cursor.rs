//! Where a picker is within a table.

use std::any::Any;
use std::fmt::Debug;

use super::pool::Report;
use super::spread::Schedule;
use crate::endpoint::Serial;

/// A place in a cycle: `at` of `of` steps, and a fraction of a step that only matters when the
/// length changes.
///
/// It survives a change of the table as a fraction: a reset would send every picker to the same
/// endpoint at the moment of the change. In a table of the same length it is exact.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::Place;
///
/// let half = Place::new(1, 2);
/// assert_eq!(half.scaled(10).at, 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Steps from the start, below `of`.
    pub at: u64,
    /// The length of the cycle, at least 1.
    pub of: u64,
    /// What is left of a step, as a fraction of 2^64: without it, pickers that have been through a
    /// cycle of one step would all come out of it in step.
    pub rest: u64,
}

impl Place {
    /// The start of a cycle of any length.
    pub const START: Self = Self::new(0, 1);

    /// A place `at` steps into a cycle of `of`, at least 1.
    #[must_use]
    pub const fn new(at: u64, of: u64) -> Self {
        Self { at, of, rest: 0 }
    }

    /// A place `phase` / 2^64 into a cycle of any length.
    #[must_use]
    pub fn fraction(phase: u64) -> Self {
        Self {
            rest: phase,
            ..Self::START
        }
    }

    /// The same fraction of a cycle of `length` steps; exact if the length is the same.
    #[must_use]
    pub fn scaled(self, length: u64) -> Self {
        let of = u128::from(self.of.max(1));
        // Records come from outside: a place beyond its cycle is its end.
        let at = u128::from(self.at).min(of - 1);
        let length = u128::from(length.max(1));
        let part = u128::from(self.rest) * length;
        // In units of 1 / (of * 2^64): whole steps first, so that nothing passes 128 bits.
        let whole = at * length + (part >> 64);
        let left = ((whole % of) << 64) | (part & u128::from(u64::MAX));
        Self {
            at: (whole / of) as u64,
            of: length as u64,
            // Rounded up: a third of a cycle that went through another length is a third again.
            rest: u64::try_from(left.div_ceil(of)).unwrap_or(u64::MAX),
        }
    }
}

/// What a picker remembers of a table between decisions.
///
/// # Examples
///
/// ```
/// use evenkeel_core::strategy::{Cursor, Place};
///
/// let mut cursor = Cursor::Cycle(Place::new(1, 3));
/// assert_eq!((cursor.step(), cursor.step(), cursor.step()), (Some(1), Some(2), Some(0)));
/// ```
#[derive(Debug)]
pub enum Cursor {
    /// The next step of a cycle.
    Cycle(Place),
    /// Nothing.
    None,
    /// What a strategy of one's own needs.
    Own(Box<dyn OwnCursor>),
    /// A queue of deadlines.
    Schedule(Box<Schedule>),
}

/// The memory of a strategy that no other kind of cursor fits.
///
/// # Examples
///
/// ```
/// use std::any::Any;
/// use evenkeel_core::strategy::{Cursor, OwnCursor, Place};
///
/// /// Counts the choices of a picker.
/// #[derive(Debug)]
/// struct Count(u64);
///
/// impl OwnCursor for Count {
///     fn place(&self) -> Option<Place> {
///         None
///     }
///
///     fn as_any(&mut self) -> &mut dyn Any {
///         self
///     }
/// }
///
/// assert!(Cursor::Own(Box::new(Count(0))).place().is_none());
/// ```
pub trait OwnCursor: Any + Debug + Send {
    /// The place to carry over to the next table, if there is a cycle.
    fn place(&self) -> Option<Place>;

    /// The cursor as its own type, to be downcast by the table that made it.
    fn as_any(&mut self) -> &mut dyn Any;

    /// Hears what an endpoint of its table reports.
    fn report(&mut self, _report: &Report) {}

    /// Takes over what the cursor of an earlier table remembers. `now_at` says at which place of the
    /// snapshot an endpoint is now and what it weighs, if it may be chosen from this table.
    fn take_over(
        &mut self,
        _old: &mut dyn OwnCursor,
        _now_at: &dyn Fn(Serial) -> Option<(u32, u32)>,
    ) {
    }
}

impl Cursor {
    /// The place to carry over to the next table, if there is a cycle.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Cycle(place) => Some(*place),
            Self::None => None,
            Self::Own(cursor) => cursor.place(),
            Self::Schedule(schedule) => Some(schedule.place()),
        }
    }

    /// Takes the next step of a cycle, `None` for a cursor without one.
    #[inline]
    pub fn step(&mut self) -> Option<u64> {
        let Self::Cycle(place) = self else {
            return None;
        };
        let at = place.at;
        place.at = if at + 1 >= place.of { 0 } else { at + 1 };
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_exact_in_a_cycle_of_the_same_length() {
        for at in 0..7 {
            let place = Place {
                rest: at << 60,
                ..Place::new(at, 7)
            };
            assert_eq!(place.scaled(7), place);
        }
    }

    #[test]
    fn a_place_keeps_its_fraction() {
        assert_eq!(Place::new(3, 6).scaled(10), Place::new(5, 10));
        assert_eq!(Place::new(1, 3).scaled(6), Place::new(2, 6));
        assert_eq!(Place::fraction(u64::MAX).scaled(5).at, 4);
        assert_eq!(Place::fraction(0).scaled(5).at, 0);
        assert_eq!(Place::START.scaled(u64::MAX).at, 0);
        assert_eq!(Place::new(9, 3).scaled(3).at, 2);
        let last = Place::new(u64::MAX - 1, u64::MAX);
        assert_eq!(last.scaled(u64::MAX), last);
        assert_eq!(last.scaled(3).at, 2);
    }

    /// Case A02: a cluster that shrinks to one endpoint and grows again.
    #[test]
    fn a_place_survives_a_cycle_of_one_step() {
        let place = Place::new(3, 6);
        assert_eq!(place.scaled(1).scaled(6), place);
        let through = |phase| Place::fraction(phase).scaled(1).scaled(1_000).at;
        assert_eq!(through(u64::MAX / 2), 499);
        assert_eq!(through(u64::MAX), 999);
    }

    /// Case A09: a cursor at any value stays within its cycle.
    #[test]
    fn a09_a_step_never_leaves_the_cycle() {
        for of in [1, 2, 3, 5, 7, u64::MAX] {
            let mut cursor = Cursor::Cycle(Place::new(of - 1, of));
            assert_eq!(cursor.step(), Some(of - 1));
            assert_eq!(cursor.step(), Some(0));
        }
    }
}
