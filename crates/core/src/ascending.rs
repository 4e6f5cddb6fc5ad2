//! Entries in the order of their keys that are asked for one key after the other.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

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
            .is_some_and(|(known, _)| order(known.as_ref(), key).is_lt())
        {
            self.next = self.rest.next();
        }
        let (_, value) = self
            .next
            .take_if(|(known, _)| order(known.as_ref(), key).is_eq())?;
        self.next = self.rest.next();
        Some(value)
    }
}

/// How two keys lie. Most of them are the same ones, of which not even the text has to be looked at.
fn order(one: &str, other: &str) -> Ordering {
    match std::ptr::eq(one, other) {
        true => Ordering::Equal,
        false => one.cmp(other),
    }
}

/// What a list has that a map does not have yet, and what the map had that the list has no more.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{NewAndGone, follow_list};
///
/// let (new, gone): NewAndGone<&str, u8> = follow_list(&mut Default::default(), ["a"], |id| id, |_, _, _| ());
/// assert_eq!((new, gone), (vec!["a"], vec![]));
/// ```
pub type NewAndGone<T, V> = (Vec<T>, Vec<(Arc<str>, V)>);

/// Has a map lose what a list does not have, in the order of their keys: says what is new in the list, to be
/// added, and what has gone from the map. What both have goes through `stays`. O(n) for as long as few come and go, and
/// nothing that stays is moved.
///
/// # Examples
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
/// use evenkeel_core::follow_list;
///
/// let mut map = BTreeMap::from([(Arc::from("a"), 1), (Arc::from("b"), 2)]);
/// let (new, gone) = follow_list(&mut map, ["b", "c"], |id| id, |_, value, _| *value += 5);
/// assert_eq!((new, gone), (vec!["c"], vec![(Arc::from("a"), 1)]));
/// assert_eq!(map, BTreeMap::from([(Arc::from("b"), 7)]));
/// ```
pub fn follow_list<T, V>(
    map: &mut BTreeMap<Arc<str>, V>,
    list: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> &str,
    mut stays: impl FnMut(&Arc<str>, &mut V, T),
) -> NewAndGone<T, V> {
    let mut list = list.into_iter().peekable();
    let (mut new, mut gone) = (Vec::new(), Vec::new());
    for (known, value) in map.iter_mut() {
        while let Some(before) = list.next_if(|one| order(key(one), known).is_lt()) {
            new.push(before);
        }
        match list.next_if(|one| order(key(one), known).is_eq()) {
            Some(same) => stays(known, value, same),
            None => gone.push(Arc::clone(known)),
        }
    }
    new.extend(list);
    let gone = gone.into_iter().filter_map(|id| map.remove_entry(&id));
    (new, gone.collect())
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

        #[test]
        fn a_map_follows_a_list(
            map in proptest::collection::btree_map("[a-c]{0,3}", 0_u32..9, 0..30),
            list in proptest::collection::btree_map("[a-c]{0,3}", 0_u32..9, 0..30),
        ) {
            let before: BTreeMap<Arc<str>, u32> = map.into_iter().map(|(key, value)| (key.into(), value)).collect();
            let mut after = before.clone();
            let (new, gone) = follow_list(&mut after, &list, |(key, _)| key, |_, value, (_, now)| *value = *now);
            for (key, value) in &gone {
                prop_assert!(!list.contains_key(&**key) && before[key] == *value);
            }
            for (key, _) in &new {
                prop_assert!(!before.contains_key(&***key) && !after.contains_key(&***key));
            }
            prop_assert_eq!(after.len() + new.len(), list.len());
            after.extend(new.into_iter().map(|(key, value)| (Arc::from(key.as_str()), *value)));
            let wanted: BTreeMap<Arc<str>, u32> = list.into_iter().map(|(key, value)| (key.into(), value)).collect();
            prop_assert_eq!(after, wanted);
        }
    }
}
