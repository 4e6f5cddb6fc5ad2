//! How long an endpoint takes to answer: up at once, down slowly.
//!
//! Source: Finagle's `PeakEwma`, also in tower, linkerd and brpc. A single slow answer is believed at
//! once; good news has to come for a while. The locks of those are one atomic word here.

use crate::clock::Nanos;
use crate::math::exp_neg;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A longer answer counts as this long.
const LATENCY_MAX: Nanos = Nanos::from_secs(30);

/// How far workers' readings of the time may lie apart.
const AHEAD_MAX_MS: u32 = 10_000;

/// A peak-sensitive, exponentially weighted moving average of latencies, shared by all workers.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// # let mut picker = evenkeel_core::Picker::new(evenkeel_core::PickerSeed { root: 7, picker: 0 });
/// use evenkeel_core::{Nanos, Outcome, PickContext};
///
/// let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?;
/// let latency = lease.state().latency();
/// lease.finish(Outcome::Success, Nanos::from_millis(8));
/// let faded = latency.at(Nanos::from_secs(20), Nanos::from_secs(10)).expect("one answer");
/// assert!(faded < Nanos::from_millis(8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct PeakEwma {
    /// The value in nanoseconds as the bits of an `f32` in the low half, when it was that in the high
    /// half, in milliseconds modulo 2^32. Zero is no value: a known one is at least a nanosecond.
    packed: AtomicU64,
}

impl PeakEwma {
    /// The value as it was last changed, without what time has taken from it since.
    #[must_use]
    pub fn last(&self) -> Option<Nanos> {
        let (value, _) = unpack(self.packed.load(Ordering::Relaxed))?;
        Some(Nanos(value as u64))
    }

    /// The value at `now`: it fades by a factor e every `decay`, so that an endpoint that was slow
    /// long ago is tried again. One load; nothing is written.
    #[inline]
    #[must_use]
    pub fn at(&self, now: Nanos, decay: Nanos) -> Option<Nanos> {
        let (value, stamp) = unpack(self.packed.load(Ordering::Relaxed))?;
        Some(Nanos((f64::from(value) * kept(stamp, now, decay)) as u64))
    }

    /// Takes in a latency: a higher one as it is, a lower one by how long the last one is ago.
    pub(crate) fn observe(&self, latency: Nanos, now: Nanos, decay: Nanos) {
        self.update(now, |known| {
            let sample = clamp(latency);
            known.map_or(sample, |(value, stamp)| {
                let kept = kept(stamp, now, decay);
                let mean = f64::from(value) * kept + f64::from(sample) * (1.0 - kept);
                if sample > value { sample } else { mean as f32 }
            })
        });
    }

    /// Takes in a failure as a slow answer: at least `latency`, and at least twice what is known, or
    /// twice `typical` if nothing is. So a fast failure never looks fast.
    pub(crate) fn observe_failure(&self, latency: Nanos, typical: Nanos, now: Nanos, decay: Nanos) {
        self.update(now, |known| {
            let value = known.map_or(0.0, |(value, stamp)| {
                f64::from(value) * kept(stamp, now, decay)
            });
            let doubled = Nanos((value.max(typical.0 as f64) * 2.0) as u64);
            let last = known.map_or(0.0, |(value, _)| value);
            clamp(latency.max(doubled)).max(last)
        });
    }

    /// All of it in a word, for [`PeakEwma::set_word`].
    pub(crate) fn word(&self) -> u64 {
        self.packed.load(Ordering::Relaxed)
    }

    pub(crate) fn set_word(&self, word: u64) {
        self.packed.store(word, Ordering::Relaxed);
    }

    /// Forgets all: the endpoint came back as another one.
    pub(crate) fn forget(&self) {
        self.packed.store(0, Ordering::Relaxed);
    }

    /// One compare-exchange, and one more if another worker came in between: a lost sample is
    /// harmless, a loop on a contended line is not.
    fn update(&self, now: Nanos, next: impl Fn(Option<(f32, u32)>) -> f32) {
        let stamp = now.as_millis() as u32;
        let mut packed = self.packed.load(Ordering::Relaxed);
        for _ in 0..2 {
            let value = next(unpack(packed));
            let word = u64::from(stamp) << 32 | u64::from(value.to_bits());
            if word == packed {
                // Within a millisecond after a longer answer: nobody else has to fetch the line.
                return;
            }
            let swap =
                self.packed
                    .compare_exchange(packed, word, Ordering::Relaxed, Ordering::Relaxed);
            match swap {
                Ok(_) => return,
                Err(seen) => packed = seen,
            }
        }
    }
}

fn clamp(latency: Nanos) -> f32 {
    latency.min(LATENCY_MAX).0.max(1) as f32
}

#[inline]
fn unpack(packed: u64) -> Option<(f32, u32)> {
    (packed != 0).then(|| (f32::from_bits(packed as u32), (packed >> 32) as u32))
}

/// What is left of a value of `stamp` at `now`, as a share.
#[inline]
fn kept(stamp: u32, now: Nanos, decay: Nanos) -> f64 {
    let age = (now.as_millis() as u32).wrapping_sub(stamp);
    // A stamp a little ahead of `now` is another worker's later clock reading, not an age of weeks.
    if age == 0 || age > u32::MAX - AHEAD_MAX_MS {
        return 1.0;
    }
    exp_neg(f64::from(age) / decay.as_millis().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECAY: Nanos = Nanos::from_secs(10);

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn in_ms(value: Option<Nanos>) -> f64 {
        value.expect("known").0 as f64 / 1e6
    }

    #[test]
    fn it_rises_at_once_and_falls_slowly() {
        let ewma = PeakEwma::default();
        assert_eq!(ewma.at(ms(0), DECAY), None);
        ewma.observe(ms(10), ms(1_000), DECAY);
        ewma.observe(ms(100), ms(1_001), DECAY);
        assert_eq!(in_ms(ewma.last()), 100.0);
        // One decay later: 100/e + 10 (1 - 1/e).
        ewma.observe(ms(10), ms(11_001), DECAY);
        let value = in_ms(ewma.last());
        assert!((value - 43.109).abs() < 0.01, "{value}");
    }

    #[test]
    fn reading_fades_it_and_changes_nothing() {
        let ewma = PeakEwma::default();
        ewma.observe(ms(100), ms(5_000), DECAY);
        let later = in_ms(ewma.at(ms(15_000), DECAY));
        assert!((later - 36.788).abs() < 0.01, "{later}");
        assert_eq!(in_ms(ewma.at(ms(5_000), DECAY)), 100.0);
        assert_eq!(in_ms(ewma.at(ms(4_990), DECAY)), 100.0);
        assert_eq!(in_ms(ewma.last()), 100.0);
    }

    #[test]
    fn failures_are_slow_answers_up_to_a_bound() {
        let ewma = PeakEwma::default();
        ewma.observe_failure(ms(1), ms(30), ms(0), DECAY);
        assert_eq!(in_ms(ewma.last()), 60.0);
        ewma.observe_failure(ms(1), ms(30), ms(0), DECAY);
        assert_eq!(in_ms(ewma.last()), 120.0);
        ewma.observe_failure(ms(5_000), ms(30), ms(0), DECAY);
        assert_eq!(in_ms(ewma.last()), 5_000.0);
        for _ in 0..9 {
            ewma.observe_failure(ms(1), ms(30), ms(0), DECAY);
        }
        assert!((in_ms(ewma.last()) - 30_000.0).abs() < 0.01);
    }

    /// What is doubled is what has not faded yet; what was known before is no less for a failure.
    #[test]
    fn a_failure_doubles_what_is_left() {
        let ewma = PeakEwma::default();
        ewma.observe(ms(1_000), ms(0), DECAY);
        // Half a decay later 607 ms are left, and twice that counts.
        ewma.observe_failure(ms(1), ms(30), ms(5_000), DECAY);
        let value = in_ms(ewma.last());
        assert!((value - 1_213.06).abs() < 0.1, "{value}");
        // Two decays later 164 ms are left of it, and twice that is less than what was known.
        ewma.observe_failure(ms(1), ms(30), ms(25_000), DECAY);
        let value = in_ms(ewma.last());
        assert!((value - 1_213.06).abs() < 0.1, "{value}");
    }

    #[test]
    fn no_latency_is_unknown() {
        let ewma = PeakEwma::default();
        ewma.observe(Nanos(0), Nanos(0), DECAY);
        assert_eq!(ewma.last(), Some(Nanos(1)));
        ewma.observe(Nanos(u64::MAX), Nanos(0), Nanos(0));
        assert!((in_ms(ewma.last()) - 30_000.0).abs() < 0.01);
        ewma.forget();
        assert_eq!(ewma.last(), None);
    }

    /// The stamp wraps after 50 days.
    #[test]
    fn the_wrap_of_the_stamp_is_no_age() {
        let ewma = PeakEwma::default();
        let wrap = Nanos::from_millis(1 << 32);
        ewma.observe(ms(100), Nanos(wrap.0 - 5_000_000_000), DECAY);
        let later = in_ms(ewma.at(wrap + ms(5_000), DECAY));
        assert!((later - 36.788).abs() < 0.01, "{later}");
    }
}
