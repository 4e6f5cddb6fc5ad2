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

    /// A line of so many bytes a second behind a terminal's buffer of 4 KiB, for an hour of news: what is shown
    /// is never older than the buffer and a picture take, and the line is not always full.
    #[test]
    fn a_slow_line_is_not_fallen_behind_on() {
        const BUFFER: f64 = 4096.0;
        for (rate, picture) in [
            (100.0, 300.0),
            (400.0, 600.0),
            (1_200.0, 5_000.0),
            (20.0, 300.0),
        ] {
            let (mut pace, mut now, mut waiting) = (Pace::default(), 0.0_f64, 0.0_f64);
            let (mut oldest, mut empty) = (0.0_f64, 0);
            while now < 3600.0 {
                pace.want(Why::News);
                let wait = pace.wait(Duration::from_secs_f64(now)).expect("wanted");
                let wait = wait.as_secs_f64().max(0.01);
                now += wait;
                waiting = (waiting - wait * rate).max(0.0);
                empty += u32::from(waiting == 0.0);
                let began = now;
                waiting += picture;
                let blocked = (waiting - BUFFER).max(0.0) / rate;
                now += blocked;
                waiting -= blocked * rate;
                oldest = oldest.max(blocked + waiting / rate);
                let times = [began, now].map(Duration::from_secs_f64);
                pace.drawn(times[0], times[1]);
            }
            assert!(oldest <= (BUFFER + picture) / rate, "{rate}: {oldest} s");
            assert!(rate < picture || empty > 1_000, "{rate}: {empty}");
        }
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
