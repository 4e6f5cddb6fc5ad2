//! Entries in the order of their keys that are asked for one key after the other.

/// What a sorted map or list holds, for keys that are asked for in their order: one walk through it, where a search for
/// each would compare a dozen strings.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Ascending;
///
/// let mut values = Ascending::new([("a", 1), ("c", 3)]);
/// assert_eq!((values.take("b"), values.take("c")), (None, Some(3)));
/// ```
#[derive(Debug)]
pub struct Ascending<I: Iterator> {
    next: Option<I::Item>,
    rest: I,
}

impl<K: AsRef<str>, V, I: Iterator<Item = (K, V)>> Ascending<I> {
    /// All of these, each key once and in their order.
    #[must_use]
    pub fn new(entries: impl IntoIterator<IntoIter = I>) -> Self {
        let mut rest = entries.into_iter();
        let next = rest.next();
        Self { next, rest }
    }

    /// What is held of a key; none too when it or a later one was asked for before. O(1) over all keys.
    pub fn take(&mut self, key: &str) -> Option<V> {
        while self
            .next
            .as_ref()
            .is_some_and(|(known, _)| known.as_ref() < key)
        {
            self.next = self.rest.next();
        }
        let (_, value) = self.next.take_if(|(known, _)| known.as_ref() == key)?;
        self.next = self.rest.next();
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

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
