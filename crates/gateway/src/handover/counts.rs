//! What was counted, as a tree of figures: what the next process goes on from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// What was counted since some time: figures, by names.
///
/// Figures that the next process does not know, or of which it has more or fewer, begin anew there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Counts {
    /// The figures of one thing, in an order that both sides know.
    Figures(Vec<u64>),
    /// What was counted of several things.
    Of(BTreeMap<Arc<str>, Counts>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Of(BTreeMap::new())
    }
}

impl Counts {
    /// Counts of several things.
    pub(crate) fn of(things: impl IntoIterator<Item = (impl Into<Arc<str>>, Self)>) -> Self {
        let things = things.into_iter();
        Self::Of(things.map(|(name, counts)| (name.into(), counts)).collect())
    }

    /// The sum of what several workers counted.
    pub(crate) fn sum<'c>(
        workers: impl IntoIterator<Item = Vec<(&'static str, Vec<&'c AtomicU64>)>>,
    ) -> Self {
        let mut sums: BTreeMap<&'static str, Vec<u64>> = BTreeMap::new();
        for (name, counters) in workers.into_iter().flatten() {
            let sum = sums.entry(name).or_insert_with(|| vec![0; counters.len()]);
            for (sum, counter) in sum.iter_mut().zip(counters) {
                *sum = sum.wrapping_add(counter.load(Ordering::Relaxed));
            }
        }
        let sums = sums.into_iter();
        Self::of(sums.map(|(name, sum)| (name, Self::Figures(sum))))
    }

    /// What is counted of one thing.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Of(things) => things.get(name),
            Self::Figures(_) => None,
        }
    }

    /// The things that are counted here.
    pub(crate) fn things(&self) -> impl Iterator<Item = (&Arc<str>, &Self)> {
        let things = match self {
            Self::Of(things) => Some(things),
            Self::Figures(_) => None,
        };
        things.into_iter().flatten()
    }

    /// The figures of one thing; none when they are not there.
    pub(crate) fn figures(&self, name: &str) -> &[u64] {
        match self.get(name) {
            Some(Self::Figures(figures)) => figures,
            _ => &[],
        }
    }

    /// Adds these to counters.
    pub(crate) fn add_to(&self, counters: Vec<(&'static str, Vec<&AtomicU64>)>) {
        for (name, counters) in counters {
            let figures = self.figures(name);
            if figures.len() == counters.len() {
                for (counter, figure) in counters.iter().zip(figures) {
                    counter.fetch_add(*figure, Ordering::Relaxed);
                }
            }
        }
    }

    /// What was counted since these were `earlier`, without whatever did not move. O(n) of all figures.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.moved(Some(earlier)).unwrap_or_default()
    }

    fn moved(&self, earlier: Option<&Self>) -> Option<Self> {
        match self {
            Self::Figures(now) => {
                let since = match earlier {
                    Some(Self::Figures(then)) if now.len() == then.len() => {
                        let both = now.iter().zip(then);
                        both.map(|(now, then)| now.wrapping_sub(*then)).collect()
                    }
                    _ => now.clone(),
                };
                let has_moved = since.iter().any(|figure| *figure != 0);
                has_moved.then_some(Self::Figures(since))
            }
            Self::Of(things) => {
                let since = things.iter().filter_map(|(name, counts)| {
                    let earlier = earlier.and_then(|earlier| earlier.get(name));
                    Some((Arc::clone(name), counts.moved(earlier)?))
                });
                let since: BTreeMap<_, _> = since.collect();
                (!since.is_empty()).then_some(Self::Of(since))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(count: u64) -> AtomicU64 {
        AtomicU64::new(count)
    }

    /// What one process counted, and what it counted later, come to the whole in the next one.
    #[test]
    fn two_parts_are_the_whole() {
        let (a, b, c) = (counter(1), counter(2), counter(30));
        let now = || {
            let workers = [vec![("codes", vec![&a, &b])], vec![("codes", vec![&c, &c])]];
            Counts::of([("web", Counts::sum(workers))])
        };
        let first = now();
        a.fetch_add(5, Ordering::Relaxed);
        let second = now().since(&first);
        let text = serde_json::to_string(&second).expect("plain");
        assert_eq!(text, r#"{"web":{"codes":[5,0]}}"#);
        let second: Counts = serde_json::from_str(&text).expect("it was written so");
        let next = [counter(0), counter(100)];
        let into = || vec![("codes", next.iter().collect()), ("new", vec![])];
        for part in [&first, &second] {
            part.get("web").expect("it is there").add_to(into());
        }
        assert_eq!(next.map(AtomicU64::into_inner), [36, 132]);
    }

    #[test]
    fn figures_of_another_shape_begin_anew() {
        let counts = Counts::of([("codes", Counts::Figures(vec![1, 2, 3]))]);
        let next = [counter(7), counter(8)];
        counts.add_to(vec![("codes", next.iter().collect())]);
        assert_eq!(next.map(AtomicU64::into_inner), [7, 8]);
        assert_eq!(counts.since(&Counts::default()), counts);
    }

    /// Ten thousand endpoints that nobody asks are not told of every second.
    #[test]
    fn what_did_not_move_is_not_told() {
        let of = |a, b| {
            let figures = |count| Counts::of([("codes", Counts::Figures(vec![count, 0]))]);
            Counts::of([("a", figures(a)), ("b", figures(b))])
        };
        let text = |counts: &Counts| serde_json::to_string(counts).expect("plain");
        assert_eq!(text(&of(1, 7).since(&of(1, 4))), r#"{"b":{"codes":[3,0]}}"#);
        assert_eq!(of(1, 7).since(&of(1, 7)), Counts::default());
        assert_eq!(
            text(&of(0, 2).since(&Counts::default())),
            r#"{"b":{"codes":[2,0]}}"#
        );
    }
}
