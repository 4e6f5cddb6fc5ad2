//! A few endpoints of a large cluster for each caller.
//!
//! Source: gRFC A68. Each caller ranks the endpoints by a hash of its own name and theirs and keeps
//! the lowest: nobody has to coordinate, and one endpoint more or less changes at most one place.

use std::sync::Arc;

use crate::hash::{Algorithm, Hasher};

/// How many endpoints of each tier a caller uses, and who it is.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Subset;
///
/// let subset = Subset::new(20, "gateway-1");
/// assert_eq!(subset.size(), 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subset {
    size: usize,
    caller: Arc<str>,
}

impl Subset {
    /// `size` endpoints of each tier, at least 1, for the caller of that name.
    #[must_use]
    pub fn new(size: usize, caller: impl Into<Arc<str>>) -> Self {
        Self {
            size: size.max(1),
            caller: caller.into(),
        }
    }

    /// The endpoints of each tier that are used.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whose endpoints they are.
    #[must_use]
    pub fn caller(&self) -> &str {
        &self.caller
    }

    /// Leaves those of `members` that this caller uses, in the same order. O(n log n).
    ///
    /// Weights play no part: an endpoint of twice the weight gets twice the share where it is used, so
    /// it must not be used by twice as many.
    pub(crate) fn choose<'a>(&self, members: &mut Vec<u32>, id: impl Fn(u32) -> &'a str) {
        if members.len() <= self.size {
            return;
        }
        let seed = Hasher::new(Algorithm::Xxh64, 0).hash(self.caller.as_bytes());
        let hasher = Hasher::new(Algorithm::Xxh64, seed);
        let mut ranked: Vec<(u64, u32)> = members
            .iter()
            .map(|index| (hasher.hash(id(*index).as_bytes()), *index))
            .collect();
        ranked.select_nth_unstable(self.size - 1);
        ranked.truncate(self.size);
        *members = ranked.into_iter().map(|(_, index)| index).collect();
        members.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subset(caller: &str, count: u32) -> Vec<u32> {
        let ids: Vec<String> = (0..count).map(|at| format!("e{at}")).collect();
        let mut members: Vec<u32> = (0..count).collect();
        Subset::new(20, caller).choose(&mut members, |index| ids[index as usize].as_str());
        members
    }

    #[test]
    fn it_is_stable_and_each_caller_has_its_own() {
        let mine = subset("gw-1", 200);
        assert_eq!(mine.len(), 20);
        assert!(mine.is_sorted());
        assert_eq!(mine, subset("gw-1", 200));
        assert_ne!(mine, subset("gw-2", 200));
        assert_eq!(subset("gw-1", 12).len(), 12);
    }

    #[test]
    fn one_endpoint_more_changes_at_most_one_place() {
        for count in 21..200 {
            let (before, after) = (subset("gw-7", count), subset("gw-7", count + 1));
            let gone = before.iter().filter(|index| !after.contains(index)).count();
            assert!(gone <= 1, "{gone} of {before:?} are gone in {after:?}");
        }
    }

    /// 400 callers of 20 of 100 endpoints: 80 for each; a Poisson count deviates by some 9.
    #[test]
    fn no_endpoint_is_left_out_or_crowded() {
        let mut counts = [0; 100];
        for caller in 0..400 {
            for index in subset(&format!("gw-{caller}"), 100) {
                counts[index as usize] += 1;
            }
        }
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(least >= Some(&45) && most <= Some(&120), "{counts:?}");
    }
}
