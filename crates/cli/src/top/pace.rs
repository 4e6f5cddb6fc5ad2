//! When to draw: at once for a key, seldom for news, and more seldom where the terminal is slow.

use std::time::Duration;

/// Between two pictures because of keys.
const KEYS_APART: Duration = Duration::from_millis(40);

/// Between two pictures because of news.
const NEWS_APART: Duration = Duration::from_millis(500);

/// Of the time at most one part in so many is spent drawing.
const PARTS: u32 = 4;

/// The longest wait because drawing took long.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Decides when the next picture is due. Times are spans since the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    wanted: Option<Why>,
    last: Duration,
    took: Duration,
}

/// Why there should be another picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    News,
    Key,
}

impl Pace {
    /// Something changed.
    pub(super) fn want(&mut self, why: Why) {
        self.wanted = self.wanted.max(Some(why));
    }

    /// How long to wait for the next picture; none while nothing changed.
    pub(super) fn wait(&self, now: Duration) -> Option<Duration> {
        let apart = match self.wanted? {
            Why::Key => KEYS_APART,
            Why::News => NEWS_APART,
        };
        let apart = apart.max((self.took * PARTS).min(WAIT_MAX));
        Some((self.last + apart).saturating_sub(now))
    }

    /// A picture was drawn.
    pub(super) fn drawn(&mut self, began: Duration, ended: Duration) {
        self.wanted = None;
        self.last = ended;
        self.took = ended.saturating_sub(began);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn keys_are_answered_at_once_and_news_are_gathered() {
        let mut pace = Pace::default();
        assert_eq!(pace.wait(Duration::ZERO), None);
        pace.drawn(1000 * MS, 1001 * MS);
        pace.want(Why::News);
        assert_eq!(pace.wait(1001 * MS), Some(500 * MS));
        pace.want(Why::Key);
        assert_eq!(pace.wait(1001 * MS), Some(40 * MS));
        pace.want(Why::News);
        assert_eq!(
            pace.wait(1100 * MS),
            Some(Duration::ZERO),
            "a key is not forgotten"
        );
    }

    #[test]
    fn a_slow_terminal_is_drawn_on_for_a_quarter_of_the_time() {
        let mut pace = Pace::default();
        pace.drawn(Duration::ZERO, 300 * MS);
        pace.want(Why::Key);
        assert_eq!(pace.wait(300 * MS), Some(1200 * MS));
        pace.drawn(Duration::ZERO, 60_000 * MS);
        pace.want(Why::News);
        assert_eq!(pace.wait(60_000 * MS), Some(WAIT_MAX));
    }
}
