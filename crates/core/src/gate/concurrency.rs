//! How many requests an endpoint takes at once, learned from how long its answers take.
//!
//! Source: Netflix `concurrency-limits`, `Gradient2Limit` with `WindowedLimit`, and its figures. The limit
//! shrinks when answers take longer than they did over a long time, and grows by a few when they do not;
//! an endpoint that has less than half of it in flight says nothing about it.

use crate::clock::Nanos;

/// The limit of an endpoint of which nothing is known, and the least that is learned.
const INITIAL: f64 = 20.0;
const LEAST: f64 = 20.0;

/// The most that is learned.
const MOST: f64 = 200.0;

/// How many requests more than the latency justifies are let in: they show whether there is room.
const QUEUE: f64 = 4.0;

/// How much of a limit is new with each window.
const SMOOTHING: f64 = 0.2;

/// How many times the long latency an answer may take without shrinking the limit.
const TOLERANCE: f64 = 1.5;

/// Over how many windows the long latency reaches; over its first ones it is their mean.
const LONG: f64 = 600.0;
const WARM_UP: u32 = 10;

/// A window has so many samples, and lasts so long, at least.
const SAMPLES: u64 = 10;
const WINDOW: Nanos = Nanos::from_secs(1);

/// Answers below this say nothing.
const LATENCY_MIN: Nanos = Nanos(100_000);

/// Answers of an endpoint.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Nanos, Samples};
///
/// let both = Samples::of(Nanos::from_millis(10), 4).and(Samples::of(Nanos::from_millis(20), 6));
/// assert_eq!((both.count, both.sum), (2, Nanos::from_millis(30)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Samples {
    /// How many there are.
    pub count: u64,
    /// How long they took together.
    pub sum: Nanos,
    /// The most requests that were in flight when one of them came.
    pub in_flight: u32,
}

impl Samples {
    /// One answer, with the requests in flight when it came, its own too; nothing when it came too fast to
    /// say anything.
    #[must_use]
    pub fn of(latency: Nanos, in_flight: u32) -> Self {
        if latency < LATENCY_MIN {
            return Self::default();
        }
        Self {
            count: 1,
            sum: latency,
            in_flight,
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            in_flight: self.in_flight.max(other.in_flight),
        }
    }
}

/// A limit that is learned.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{LearnedLimit, Nanos, Samples};
///
/// let mut limit = LearnedLimit::default();
/// for second in 1..300 {
///     for _ in 0..20 {
///         let samples = Samples::of(Nanos::from_millis(10), limit.requests());
///         limit.observe(samples, Nanos::from_secs(second));
///     }
/// }
/// assert_eq!(limit.requests(), 200, "answers never took longer");
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LearnedLimit {
    limit: f64,
    long: LongLatency,
    window: Samples,
    began: Option<Nanos>,
}

impl Default for LearnedLimit {
    fn default() -> Self {
        Self {
            limit: INITIAL,
            long: LongLatency::default(),
            window: Samples::default(),
            began: None,
        }
    }
}

impl LearnedLimit {
    /// The limit of an endpoint of which nothing is known.
    pub const INITIAL: u32 = INITIAL as u32;

    /// The limit, 20 to 200.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.limit as u32
    }

    /// Hears of answers, and says whether a window ended with them. A new one begins with the next.
    pub fn observe(&mut self, samples: Samples, now: Nanos) -> bool {
        let began = *self.began.get_or_insert(now);
        self.window = self.window.and(samples);
        if self.window.count < SAMPLES || now.since(began) < WINDOW {
            return false;
        }
        let Samples {
            count,
            sum,
            in_flight,
        } = std::mem::take(&mut self.window);
        self.began = Some(now);
        self.learn(sum.0 as f64 / count as f64, in_flight);
        true
    }

    /// Learns from a window: its mean latency, and the most requests in flight.
    fn learn(&mut self, short: f64, in_flight: u32) {
        let long = self.long.add(short);
        if f64::from(in_flight) >= self.limit / 2.0 {
            self.limit = next(self.limit, long, short);
        }
    }
}

/// The limit after a window of latency `short`, where `long` is usual.
fn next(limit: f64, long: f64, short: f64) -> f64 {
    let gradient = (TOLERANCE * long / short).clamp(0.5, 1.0);
    let wanted = limit * gradient + QUEUE;
    (limit * (1.0 - SMOOTHING) + wanted * SMOOTHING).clamp(LEAST, MOST)
}

/// The latency over a long time.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct LongLatency {
    value: f64,
    windows: u32,
}

impl LongLatency {
    fn add(&mut self, short: f64) -> f64 {
        if self.windows < WARM_UP {
            let windows = f64::from(self.windows);
            self.windows += 1;
            self.value = (self.value * windows + short) / (windows + 1.0);
        } else {
            let part = 2.0 / (LONG + 1.0);
            self.value += (short - self.value) * part;
        }
        // Long bad times must not stay the measure of good ones.
        if self.value / short > 2.0 {
            self.value *= 0.95;
        }
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: f64 = 1e6;

    /// The vector of the source's law.
    #[test]
    fn three_times_the_usual_latency_shrinks_a_hundred_to_ninety() {
        assert!((next(100.0, 10.0 * MS, 30.0 * MS) - 90.8).abs() < 1e-9);
        assert!((next(100.0, 10.0 * MS, 10.0 * MS) - 100.8).abs() < 1e-9);
        assert!(
            (next(100.0, 10.0 * MS, 15.0 * MS) - 100.8).abs() < 1e-9,
            "within the tolerance"
        );
        assert!(
            (next(200.0, 10.0 * MS, 5.0 * MS) - 200.0).abs() < 1e-9,
            "the most"
        );
        assert!(
            (next(20.0, 10.0 * MS, 90.0 * MS) - 20.0).abs() < 1e-9,
            "the least"
        );
    }

    /// Of ten windows the mean; then each new one is a 300th of it.
    #[test]
    fn what_is_usual_is_a_mean_and_then_moves_slowly() {
        let mut long = LongLatency::default();
        let means = [10.0, 20.0, 30.0].map(|short| long.add(short));
        assert_eq!(means, [10.0, 15.0, 20.0]);
        for _ in 3..10 {
            long.add(20.0);
        }
        let moved = long.add(20.0 + 601.0);
        assert!((moved - 22.0).abs() < 1e-9, "{moved}");
        // Eleven are more than twice five, so a twentieth is forgotten; ten are not.
        let mut bad = LongLatency {
            value: 11.0,
            windows: 10,
        };
        let fallen = bad.add(5.0);
        assert!(
            (fallen - 0.95 * (11.0 - 6.0 * 2.0 / 601.0)).abs() < 1e-9,
            "{fallen}"
        );
        let mut good = LongLatency {
            value: 10.0,
            windows: 10,
        };
        assert!(good.add(5.0) > 9.9);
    }

    fn window(limit: &mut LearnedLimit, second: u64, latency_ms: u64, in_flight: u32) -> u32 {
        for _ in 0..SAMPLES {
            let samples = Samples::of(Nanos::from_millis(latency_ms), in_flight);
            limit.observe(samples, Nanos::from_secs(second));
        }
        limit.requests()
    }

    #[test]
    fn it_grows_while_answers_are_as_quick_as_ever_and_shrinks_when_they_are_not() {
        let mut limit = LearnedLimit::default();
        for second in 0..60 {
            let requests = limit.requests();
            window(&mut limit, second, 10, requests);
        }
        let grown = limit.requests();
        assert!((60..80).contains(&grown), "{grown}: by 0.8 a window");
        for second in 60..70 {
            window(&mut limit, second, 100, grown);
        }
        assert!(limit.requests() < grown * 3 / 5, "{}", limit.requests());
    }

    #[test]
    fn how_many_answered_is_no_measure_but_how_long_it_took() {
        let mut limit = LearnedLimit::default();
        for (second, count) in [(0, 10), (1, 10), (2, 10), (3, 10), (4, 1_000)] {
            let before = limit.limit;
            let samples = Samples {
                count,
                sum: Nanos::from_millis(10 * count),
                in_flight: 20,
            };
            let heard = limit.observe(samples, Nanos::from_secs(second));
            assert_eq!(
                (heard, limit.limit > before),
                (second > 0, second > 0),
                "{second}"
            );
        }
    }

    #[test]
    fn an_endpoint_with_little_to_do_says_nothing() {
        let mut limit = LearnedLimit::default();
        for second in 0..60 {
            window(&mut limit, second, 10, 9);
        }
        assert_eq!(limit.requests(), LearnedLimit::INITIAL);
    }

    #[test]
    fn a_window_has_ten_samples_and_lasts_a_second() {
        let mut limit = LearnedLimit::default();
        let at = |ms| Nanos::from_millis(ms);
        let one = Samples::of(at(10), 20);
        assert!((0..9).all(|ms| !limit.observe(one, at(ms))));
        assert!(!limit.observe(one, at(999)), "ten, but no second");
        assert!(limit.observe(one, at(1_000)));
        assert!(
            (1..10).all(|more| !limit.observe(one, at(5_000 + more))),
            "a second, but not ten"
        );
        assert!(limit.observe(one, at(5_100)));
        assert_eq!(Samples::of(Nanos(99_999), 5), Samples::default());
        assert_eq!(Samples::of(Nanos(100_000), 5).count, 1);
    }

    proptest! {
        #[test]
        fn it_stays_in_its_bounds(windows in prop::collection::vec((1u64..1_000_000, 0u32..400), 1..200)) {
            let mut limit = LearnedLimit::default();
            for (second, (micros, in_flight)) in (0..).zip(windows) {
                let samples = Samples {
                    count: 10,
                    sum: Nanos(micros * 10_000),
                    in_flight,
                };
                limit.observe(samples, Nanos::from_secs(second));
                prop_assert!((20..=200).contains(&limit.requests()));
            }
        }
    }
}
