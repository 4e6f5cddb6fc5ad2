//! Where a picker is within a table.

use std::any::Any;
use std::fmt::Debug;

use super::spread::Schedule;

/// A place in a cycle: `at` of `of` steps.
///
/// It survives a change of the table as a fraction: a reset would send every picker to the same
/// endpoint at the moment of the change. In a table of the same length it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Steps from the start, below `of`.
    pub at: u64,
    /// The length of the cycle, at least 1.
    pub of: u64,
}

impl Place {
    /// The start of a cycle of any length.
    pub const START: Self = Self { at: 0, of: 1 };

    /// A place `phase` / 2^64 into a cycle of any length.
    #[must_use]
    pub fn fraction(phase: u64) -> Self {
        Self {
            at: phase.min(u64::MAX - 1),
            of: u64::MAX,
        }
    }

    /// The same fraction of a cycle of `length` steps, rounded down; exact if the length is the same.
    #[must_use]
    pub fn scaled(self, length: u64) -> Self {
        let at = u128::from(self.at) * u128::from(length) / u128::from(self.of.max(1));
        Self {
            at: (at as u64).min(length.saturating_sub(1)),
            of: length,
        }
    }
}

/// What a picker remembers of a table between decisions.
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
pub trait OwnCursor: Any + Debug + Send {
    /// The place to carry over to the next table, if there is a cycle.
    fn place(&self) -> Option<Place>;

    /// The cursor as its own type, to be downcast by the table that made it.
    fn as_any(&mut self) -> &mut dyn Any;
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
            let place = Place { at, of: 7 };
            assert_eq!(place.scaled(7), place);
        }
    }

    #[test]
    fn a_place_keeps_its_fraction() {
        assert_eq!(Place { at: 3, of: 6 }.scaled(10).at, 5);
        assert_eq!(Place::fraction(u64::MAX).scaled(5).at, 4);
        assert_eq!(Place::fraction(0).scaled(5).at, 0);
        assert_eq!(Place::START.scaled(u64::MAX).at, 0);
    }

    /// Case A09: a cursor at any value stays within its cycle.
    #[test]
    fn a09_a_step_never_leaves_the_cycle() {
        for of in [1, 2, 3, 5, 7, u64::MAX] {
            let mut cursor = Cursor::Cycle(Place { at: of - 1, of });
            assert_eq!(cursor.step(), Some(of - 1));
            assert_eq!(cursor.step(), Some(0));
        }
    }
}
