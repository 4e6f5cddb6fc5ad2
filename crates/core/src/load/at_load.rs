//! How long an endpoint takes to answer at the load that it has.
//!
//! Source: Wydrowski et al., "Load is not what you should balance: Introducing Prequal", NSDI 2024: a
//! latency says something only together with the load at which it was seen. Each answer is noted for the
//! requests in flight at its beginning, divided by them, and an estimate is made for a load near that. Few
//! answers are none: one that was quick by chance would draw all requests to its endpoint.

use crate::clock::Nanos;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Loads that are told apart: 1, 2, 3, then two for each doubling, up to 64 and beyond.
const BANDS: usize = 13;

/// An estimate needs so many answers.
const ENOUGH: u64 = 63;

/// Of more answers the latest count most: each for this part.
const MEMORY: u64 = 64;

/// A band is forgotten after so long without an answer.
const EXPIRY: Nanos = Nanos::from_secs(10);

/// A longer answer counts as this long.
const LATENCY_MAX: Nanos = Nanos::from_secs(30);

/// Latencies by the load at which they were seen, shared by all threads.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{LatencyAtLoad, Nanos};
///
/// let seen = LatencyAtLoad::default();
/// for _ in 0..63 {
///     assert_eq!(seen.estimate(4, Nanos(0)), None);
///     seen.observe(Nanos::from_millis(10), 4, Nanos(0));
/// }
/// let at_four = seen.estimate(4, Nanos(0)).expect("enough");
/// assert!((9..=11).contains(&at_four.as_millis()));
/// ```
#[derive(Debug, Default)]
pub struct LatencyAtLoad {
    /// For each band the mean of latencies over load, as the bits of an `f32`, in the high half: the mean
    /// of such bits is nearly that of logarithms, so a few long answers do not outweigh the many. Then how
    /// many answers there were, up to 2^16, and when the last one was, in 1/8 s modulo 2^16.
    bands: [AtomicU64; BANDS],
}

#[derive(Clone, Copy)]
struct Band {
    mean: u32,
    count: u64,
    stamp: u16,
}

impl Band {
    fn of(word: u64) -> Self {
        Self {
            mean: (word >> 32) as u32,
            count: word >> 16 & 0xFFFF,
            stamp: word as u16,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.mean) << 32 | self.count.min(0xFFFF) << 16 | u64::from(self.stamp)
    }

    /// Whether what it says is from lately.
    fn is_fresh(self, now: u16) -> bool {
        let age = now.wrapping_sub(self.stamp);
        // A stamp ahead of `now` is another thread's later clock reading.
        age <= stamp(EXPIRY) || age > u16::MAX - stamp(EXPIRY)
    }

    fn with(self, sample: u32, now: u16) -> Self {
        if self.count == 0 || !self.is_fresh(now) {
            return Self {
                mean: sample,
                count: 1,
                stamp: now,
            };
        }
        let count = self.count + 1;
        let off = i64::from(sample) - i64::from(self.mean);
        let mean = i64::from(self.mean) + off / count.min(MEMORY) as i64;
        Self {
            // Between two numbers of 32 bits.
            mean: mean as u32,
            count,
            stamp: now,
        }
    }
}

fn stamp(at: Nanos) -> u16 {
    (at.as_millis() >> 7) as u16
}

/// The band of so many requests in flight, at least one: half octaves.
#[inline]
fn band(in_flight: u32) -> usize {
    let load = in_flight.max(1);
    let octave = load.ilog2();
    let upper = if octave == 0 {
        0
    } else {
        load >> (octave - 1) & 1
    };
    ((2 * octave + upper) as usize).min(BANDS - 1)
}

impl LatencyAtLoad {
    /// Notes that an answer took this long that was one of `in_flight` at its beginning.
    pub fn observe(&self, latency: Nanos, in_flight: u32, now: Nanos) {
        let load = in_flight.max(1);
        let sample = latency.min(LATENCY_MAX).0.max(1) as f32 / load as f32;
        let (sample, now) = (sample.to_bits(), stamp(now));
        let word = &self.bands[band(load)];
        let mut seen = word.load(Ordering::Relaxed);
        // A lost sample is harmless, a loop on a contended line is not.
        for _ in 0..2 {
            let next = Band::of(seen).with(sample, now).word();
            match word.compare_exchange(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }

    /// How long an answer takes that is one of `in_flight` at its beginning: by what was seen at such loads
    /// lately, scaled to this one. None with fewer than 63 answers.
    #[inline]
    #[must_use]
    pub fn estimate(&self, in_flight: u32, now: Nanos) -> Option<Nanos> {
        let (load, now) = (in_flight.max(1), stamp(now));
        let at = band(load);
        let mean = self
            .mean(at, now)
            .or_else(|| self.mean(at + 1, now))
            .or_else(|| self.mean(at.checked_sub(1)?, now))?;
        Some(Nanos((f64::from(mean) * f64::from(load)) as u64))
    }

    #[inline]
    fn mean(&self, at: usize, now: u16) -> Option<f32> {
        let band = Band::of(self.bands.get(at)?.load(Ordering::Relaxed));
        (band.count >= ENOUGH && band.is_fresh(now)).then(|| f32::from_bits(band.mean))
    }

    /// All of it in words, for [`LatencyAtLoad::set_words`].
    pub(crate) fn words(&self) -> [u64; BANDS] {
        self.bands
            .each_ref()
            .map(|band| band.load(Ordering::Relaxed))
    }

    pub(crate) fn set_words(&self, words: &[u64]) {
        for (band, word) in self.bands.iter().zip(words) {
            band.store(*word, Ordering::Relaxed);
        }
    }

    /// Forgets all: the endpoint came back as another one.
    pub(crate) fn forget(&self) {
        for band in &self.bands {
            band.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn in_ms(latency: Option<Nanos>) -> f64 {
        latency.expect("enough answers").0 as f64 / 1e6
    }

    #[test]
    fn bands_are_half_octaves() {
        let bands = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 24, 32, 48, 63, 64].map(band);
        assert_eq!(bands, [0, 2, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9, 10, 11, 11, 12]);
        assert_eq!((band(0), band(u32::MAX)), (0, 12));
    }

    #[test]
    fn it_takes_63_answers_near_the_load() {
        let seen = LatencyAtLoad::default();
        for _ in 0..62 {
            seen.observe(ms(20), 4, ms(0));
        }
        assert_eq!(seen.estimate(4, ms(0)), None);
        seen.observe(ms(20), 5, ms(0));
        // A band off is near enough, and scaled; two bands are not.
        for (load, expected) in [(4, 20.0), (5, 25.0), (3, 15.0), (6, 30.0)] {
            let estimate = in_ms(seen.estimate(load, ms(0)));
            assert!(
                (estimate / expected - 1.0).abs() < 0.01,
                "{load}: {estimate}"
            );
        }
        for load in [1, 2, 8, 100] {
            assert_eq!(seen.estimate(load, ms(0)), None, "{load}");
        }
    }

    #[test]
    fn a_few_long_answers_do_not_outweigh_the_many() {
        let seen = LatencyAtLoad::default();
        for at in 0..640 {
            let latency = if at % 20 == 0 { ms(1_000) } else { ms(10) };
            seen.observe(latency, 1, ms(0));
        }
        let estimate = in_ms(seen.estimate(1, ms(0)));
        assert!((8.0..20.0).contains(&estimate), "{estimate}");
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let seen = LatencyAtLoad::default();
        for _ in 0..63 {
            seen.observe(ms(10), 1, ms(1_000));
        }
        assert!(seen.estimate(1, ms(10_000)).is_some());
        assert_eq!(seen.estimate(1, ms(12_000)), None);
        // It begins anew, and does not go on with the old ones.
        seen.observe(ms(10), 1, ms(12_000));
        assert_eq!(seen.estimate(1, ms(12_000)), None);
        seen.forget();
        assert_eq!(seen.estimate(1, ms(1_000)), None);
    }

    #[test]
    fn it_follows_what_changes() {
        let seen = LatencyAtLoad::default();
        let mut now = 0;
        for latency in [10, 500] {
            for _ in 0..400 {
                now += 10;
                seen.observe(ms(latency), 3, ms(now));
            }
            let estimate = in_ms(seen.estimate(3, ms(now)));
            let off = estimate / latency as f64 - 1.0;
            assert!(off.abs() < 0.15, "{latency}: {estimate}");
        }
    }

    #[test]
    fn the_extremes_fit() {
        let seen = LatencyAtLoad::default();
        for _ in 0..100 {
            seen.observe(Nanos(u64::MAX), u32::MAX, Nanos(u64::MAX));
            seen.observe(Nanos(0), 0, Nanos(u64::MAX));
        }
        assert!(in_ms(seen.estimate(1, Nanos(u64::MAX))) < 0.001);
        let longest = in_ms(seen.estimate(u32::MAX, Nanos(u64::MAX)));
        assert!((longest / 30_000.0 - 1.0).abs() < 0.01, "{longest}");
    }
}
