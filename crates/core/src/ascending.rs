//! A sorted map that is asked for one key after the other.

use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;
use std::sync::Arc;

/// What a map holds, for keys that are asked for in their order: one walk through it, where a search for each would
/// compare a dozen strings.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Ascending;
///
/// let map = [("a", 1), ("c", 3)].map(|(key, value)| (key.into(), value));
/// let mut values = Ascending::new(map.into());
/// assert_eq!((values.take("b"), values.take("c")), (None, Some(3)));
/// ```
#[derive(Debug)]
pub struct Ascending<V> {
    rest: Peekable<btree_map::IntoIter<Arc<str>, V>>,
}

impl<V> Ascending<V> {
    /// All that the map holds.
    #[must_use]
    pub fn new(map: BTreeMap<Arc<str>, V>) -> Self {
        Self {
            rest: map.into_iter().peekable(),
        }
    }

    /// What is held of a key; none too when a later one was asked for before. O(1) over all keys.
    pub fn take(&mut self, key: &str) -> Option<V> {
        while self.rest.next_if(|(known, _)| **known < *key).is_some() {}
        let found = self.rest.next_if(|(known, _)| **known == *key);
        found.map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_search_finds(
            map in proptest::collection::btree_map("[a-c]{0,3}", 0_u32..9, 0..30),
            keys in proptest::collection::btree_set("[a-c]{0,3}", 0..30),
        ) {
            let map: BTreeMap<Arc<str>, u32> = map.into_iter().map(|(key, value)| (key.into(), value)).collect();
            let mut values = Ascending::new(map.clone());
            for key in keys {
                prop_assert_eq!(values.take(&key), map.get(&*key).copied());
            }
        }
    }
}
