//! What is measured, seen from outside: something that picks, holds what it picked, and gives it back.

use anyhow::Result;

/// Picks that are held at once by a thread. A clock is read twice for a batch, so each pick carries
/// a 64th of that.
pub(crate) const BATCH: usize = 64;

/// One balancer as one thread uses it.
pub(crate) trait Contender: Send {
    /// Makes `picks` picks and holds what each returned, written where it is held: a copy by way of the
    /// stack costs as much as a third of a pick.
    fn pick(&mut self, picks: usize);

    /// Gives back all that is held.
    fn release(&mut self);
}

/// What is picked from, and by how many threads at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) endpoints: usize,
    pub(crate) threads: usize,
}

/// Makes one contender for each thread of a case; they share whatever the system shares.
pub(crate) type Build = Box<dyn Fn(Case) -> Result<Vec<Box<dyn Contender>>>>;

/// One line of the comparison.
pub(crate) struct Entry {
    pub(crate) system: &'static str,
    pub(crate) strategy: String,
    /// Whether the cost of giving back is printed as the strategy `lease`.
    pub(crate) lease_row: bool,
    /// Whether this case says something about this entry.
    pub(crate) applies: fn(Case) -> bool,
    pub(crate) build: Build,
}

impl Entry {
    pub(crate) fn new(system: &'static str, strategy: &str, build: Build) -> Self {
        let strategy = strategy.to_owned();
        Self {
            system,
            strategy,
            lease_row: false,
            applies: |_| true,
            build,
        }
    }
}

/// The address of endpoint `i`; addresses of one case differ.
pub(crate) fn address(i: usize) -> String {
    format!("10.{}.{}.{}:8080", i >> 16 & 255, i >> 8 & 255, i & 255)
}

/// The weight of endpoint `i` where weights play a part: 1 to 5, so that no schedule is trivial.
pub(crate) fn weight(i: usize) -> u16 {
    [1, 2, 3, 4, 5][i % 5]
}

/// Keys for what hashes: made before the clock starts, more of them than any cache of answers.
pub(crate) struct Keys {
    keys: Vec<[u8; 16]>,
    at: usize,
}

impl Keys {
    const COUNT: usize = 4_096;

    pub(crate) fn new(thread: usize) -> Self {
        let key = |i: usize| {
            let mut key = *b"user-00000000000";
            let digits = format!(
                "{:011}",
                (thread * Self::COUNT + i) * 7_919 % 99_999_999_977
            );
            key[5..].copy_from_slice(digits.as_bytes());
            key
        };
        Self {
            keys: (0..Self::COUNT).map(key).collect(),
            at: 0,
        }
    }

    pub(crate) fn next(&mut self) -> &[u8; 16] {
        self.at = (self.at + 1) % Self::COUNT;
        &self.keys[self.at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn addresses_and_keys_differ() {
        assert_eq!(
            (0..10_000).map(address).collect::<BTreeSet<_>>().len(),
            10_000
        );
        let (mut a, mut b) = (Keys::new(0), Keys::new(1));
        let keys: BTreeSet<_> = (0..Keys::COUNT)
            .flat_map(|_| [*a.next(), *b.next()])
            .collect();
        assert_eq!(keys.len(), 2 * Keys::COUNT);
    }
}
