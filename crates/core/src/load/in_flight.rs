//! Requests in flight, and the burden that failures leave behind.

use crate::clock::Nanos;
use crate::gate::{Levels, Upto};
use crate::math::half_power;
use crate::sync::atomic::{AtomicU64, Ordering};

/// How busy an endpoint is, in 1/256 of a request.
///
/// Requests in flight, plus what recent failures still weigh: an endpoint that answers errors in a
/// millisecond is never idle long enough to look inviting.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Load;
///
/// let busy = Load { in_flight: 2, penalty: 128 };
/// assert_eq!(busy.total(), 640);
/// assert!(Load::default().is_lighter(256, busy, 256));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load {
    /// Requests in flight.
    pub in_flight: u32,
    /// What recent failures weigh, in 1/256 of a request.
    pub penalty: u32,
}

/// The most a load counts for, so that products with weights stay within 64 bits.
const LOAD_MAX: u64 = u32::MAX as u64;

/// How much longer an endpoint that fails is taken to answer at most, in 1/256: with every request
/// failing, eleven times.
const AVERSION_MAX: u64 = 10 * 256;

impl Load {
    /// Both parts together in 1/256 of a request, at most 2^32 - 1.
    #[inline]
    #[must_use]
    pub fn total(self) -> u64 {
        ((u64::from(self.in_flight) << 8) + u64::from(self.penalty)).min(LOAD_MAX)
    }

    /// The slots that are taken for whoever waits for one, when `held` of those in flight are about to
    /// end: an endpoint that fails at once is never idle. Failures count where they outweigh what is in
    /// flight, so that a few of a hundred cost no slot.
    pub(crate) fn occupied(self, held: u32) -> u32 {
        let failed = (u64::from(self.penalty) + 128) / 256;
        self.in_flight.saturating_sub(held).max(failed as u32)
    }

    /// A latency that an endpoint is seen to have, or says that it has: longer by what failures weigh, since
    /// one that fails fast looks fast and idle.
    #[inline]
    pub(crate) fn held_against(self, latency: Nanos) -> Nanos {
        if self.penalty == 0 {
            return latency;
        }
        let aversion = 256 + u64::from(self.penalty).min(AVERSION_MAX);
        Nanos(latency.0.saturating_mul(aversion) / 256)
    }

    /// Whether `self` over `weight` is less than `other` over `other_weight`, without dividing.
    #[inline]
    #[must_use]
    pub fn is_lighter(self, weight: u32, other: Self, other_weight: u32) -> bool {
        self.total() * u64::from(other_weight) < other.total() * u64::from(weight)
    }
}

/// Counts the requests in flight at one endpoint, exactly, over all workers.
///
/// Written by every request; its endpoint has a cache line for it.
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
/// use evenkeel_core::{Nanos, PickContext};
///
/// let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?;
/// let in_flight = lease.state().in_flight();
/// assert_eq!(in_flight.count(), 1);
/// drop(lease);
/// assert_eq!(in_flight.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct InFlight {
    /// Requests in flight in the low half, below [`HELD`]; in the high half how many have ended, modulo
    /// 2^32, so that whoever reads twice knows whether a slot was free in between.
    count: AtomicU64,
    /// The burden of failures in the low half, in 1/256 of a request; when it was that much in the
    /// high half, in milliseconds modulo 2^32. Zero is no failure.
    penalty: AtomicU64,
}

/// The endpoint was as busy as `stop` says, and has not been seen at `resume` since.
const HELD: u64 = 1 << 31;

/// The requests in flight.
const COUNT: u64 = HELD - 1;

impl InFlight {
    /// No cap.
    pub const UNLIMITED: u32 = u32::MAX;

    /// The requests in flight.
    #[must_use]
    pub fn count(&self) -> u32 {
        in_flight(self.count.load(Ordering::Relaxed))
    }

    /// The requests that have ended, modulo 2^32, if there are as many in flight as `cap` says.
    pub(crate) fn ended_if_full(&self, cap: u32) -> Option<u32> {
        let packed = self.count.load(Ordering::Acquire);
        (in_flight(packed) >= cap).then_some((packed >> 32) as u32)
    }

    /// Reads the load as of `now`; what a failure weighs halves every `half_life`.
    #[inline]
    #[must_use]
    pub fn load(&self, now: Nanos, half_life: Nanos) -> Load {
        let packed = self.penalty.load(Ordering::Relaxed);
        Load {
            in_flight: self.count(),
            penalty: if packed == 0 {
                0
            } else {
                decayed(packed, now, half_life)
            },
        }
    }

    /// Takes a slot below `cap`, or says that there is none.
    ///
    /// A slot is taken by compare-and-swap, never by add and undo: two that undo would both miss the
    /// one that is free.
    #[inline]
    pub(crate) fn acquire(&self, cap: u32) -> bool {
        if cap == Self::UNLIMITED {
            self.count.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let mut packed = self.count.load(Ordering::Relaxed);
        while in_flight(packed) < cap {
            match self.count.compare_exchange_weak(
                packed,
                packed + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(seen) => packed = seen,
            }
        }
        false
    }

    /// Takes a slot of an endpoint that is left alone above a level, or says that there is none.
    ///
    /// Whether it is left alone is remembered beside the count, and only looked at when a slot is asked
    /// for: the count grows in no other way, so nobody can miss that it was down at `resume`.
    pub(crate) fn acquire_within(&self, levels: Levels, upto: Upto) -> bool {
        let mut packed = self.count.load(Ordering::Relaxed);
        loop {
            let count = in_flight(packed);
            let held = is_held(packed, levels);
            let refused = match upto {
                Upto::Cap => count >= levels.cap,
                Upto::Stop => held || count >= levels.stop,
            };
            if refused {
                return false;
            }
            let mark = if held || count + 1 >= levels.stop {
                HELD
            } else {
                0
            };
            let next = ((packed & !HELD) + 1) | mark;
            let order = (Ordering::Acquire, Ordering::Relaxed);
            match self
                .count
                .compare_exchange_weak(packed, next, order.0, order.1)
            {
                Ok(_) => return true,
                Err(seen) => packed = seen,
            }
        }
    }

    /// Whether the endpoint is left alone while others are below their levels.
    pub(crate) fn is_held(&self, levels: Levels) -> bool {
        let packed = self.count.load(Ordering::Relaxed);
        is_held(packed, levels) || in_flight(packed) >= levels.stop
    }

    #[inline]
    pub(crate) fn release(&self) {
        // One more in the high half, one less in the low one.
        let before = self.count.fetch_add(u64::from(u32::MAX), Ordering::Release);
        debug_assert!(in_flight(before) > 0, "a lease must be released once");
    }

    /// Records a failure: it weighs as much as one more request in flight, and fades.
    pub(crate) fn burden(&self, now: Nanos, half_life: Nanos) {
        let stamp = u64::from(now.as_millis() as u32) << 32;
        // A lost update of a heuristic is harmless; a loop on a contended line is not.
        for _ in 0..2 {
            let packed = self.penalty.load(Ordering::Relaxed);
            let left = if packed == 0 {
                0
            } else {
                decayed(packed, now, half_life)
            };
            let next = stamp | u64::from(left.saturating_add(256));
            let swap =
                self.penalty
                    .compare_exchange(packed, next, Ordering::Relaxed, Ordering::Relaxed);
            if swap.is_ok() {
                return;
            }
        }
    }

    /// Forgets failures that weigh nothing any more, so that nobody has to work that out again.
    pub(crate) fn tidy(&self, now: Nanos, half_life: Nanos) {
        let packed = self.penalty.load(Ordering::Relaxed);
        if packed != 0 && decayed(packed, now, half_life) == 0 {
            let (old, new) = (Ordering::Relaxed, Ordering::Relaxed);
            // Whoever else changed it knows better.
            let _ = self.penalty.compare_exchange(packed, 0, old, new);
        }
    }

    /// Forgets what failures weighed: the endpoint came back as another one.
    pub(crate) fn forgive(&self) {
        self.penalty.store(0, Ordering::Relaxed);
    }
}

#[inline]
fn in_flight(packed: u64) -> u32 {
    (packed & COUNT) as u32
}

fn is_held(packed: u64, levels: Levels) -> bool {
    packed & HELD != 0 && in_flight(packed) > levels.resume
}

/// How far workers' readings of the time may lie apart.
const AHEAD_MAX_MS: u32 = 10_000;

/// What is left of a burden at `now`.
fn decayed(packed: u64, now: Nanos, half_life: Nanos) -> u32 {
    let (value, stamp) = (packed as u32, (packed >> 32) as u32);
    let age = (now.as_millis() as u32).wrapping_sub(stamp);
    // A stamp a little ahead of `now` is another worker's later clock reading, not an age of weeks.
    let age = if age > u32::MAX - AHEAD_MAX_MS {
        0
    } else {
        age
    };
    let half_lives = (u64::from(age) << 16) / half_life.as_millis().max(1);
    ((u64::from(value) * half_power(half_lives)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Nanos = Nanos::from_millis(200);

    #[test]
    fn failures_lengthen_a_latency_up_to_a_bound() {
        let held = |penalty| {
            let load = Load {
                in_flight: 7,
                penalty,
            };
            load.held_against(Nanos::from_millis(30)).as_millis()
        };
        assert_eq!([held(0), held(128), held(256)], [30, 45, 60]);
        assert_eq!([held(10 * 256), held(u32::MAX)], [330, 330]);
    }

    #[test]
    fn a_cap_is_exact() {
        let in_flight = InFlight::default();
        assert!((0..3).all(|_| in_flight.acquire(3)));
        assert!(!in_flight.acquire(3));
        in_flight.release();
        assert!(in_flight.acquire(3));
        assert_eq!(in_flight.count(), 3);
    }

    #[test]
    fn an_endpoint_is_left_alone_from_stop_down_to_resume() {
        let in_flight = InFlight::default();
        let levels = Levels {
            cap: 6,
            stop: 4,
            resume: 2,
        };
        let taken = |upto| in_flight.acquire_within(levels, upto);
        assert!((0..4).all(|_| !in_flight.is_held(levels) && taken(Upto::Stop)));
        assert!(in_flight.is_held(levels) && !taken(Upto::Stop));
        assert!(taken(Upto::Cap) && taken(Upto::Cap) && !taken(Upto::Cap));
        for left in [5, 4, 3] {
            in_flight.release();
            assert_eq!(in_flight.count(), left);
            assert!(!taken(Upto::Stop), "{left} left");
        }
        in_flight.release();
        assert!(!in_flight.is_held(levels) && taken(Upto::Stop) && taken(Upto::Stop));
        assert!(!taken(Upto::Stop));
        assert_eq!(in_flight.count(), 4);
    }

    /// What one look at a time does, another way: the mark is kept beside the count.
    #[test]
    fn marks_follow_a_plain_model() {
        let mut rng = crate::rng::Rng::new(9);
        let in_flight = InFlight::default();
        let levels = Levels {
            cap: 12,
            stop: 7,
            resume: 4,
        };
        let (mut count, mut held) = (0, false);
        for _ in 0..20_000 {
            let upto = match rng.next_u64() % 5 {
                0 | 1 if count > 0 => {
                    in_flight.release();
                    count -= 1;
                    held &= count > levels.resume;
                    continue;
                }
                0..=2 => Upto::Stop,
                _ => Upto::Cap,
            };
            let expected = match upto {
                Upto::Stop => !held && count < levels.stop,
                Upto::Cap => count < levels.cap,
            };
            assert_eq!(in_flight.acquire_within(levels, upto), expected);
            count += u32::from(expected);
            held |= count >= levels.stop;
            assert_eq!(
                (in_flight.count(), in_flight.is_held(levels)),
                (count, held)
            );
        }
    }

    #[test]
    fn a_failure_weighs_a_request_and_fades() {
        let in_flight = InFlight::default();
        let at = Nanos::from_secs(5);
        in_flight.burden(at, HALF);
        in_flight.burden(at, HALF);
        let after = |ms| in_flight.load(at + Nanos::from_millis(ms), HALF).penalty;
        assert_eq!(after(0), 512);
        assert_eq!(after(200), 256);
        assert_eq!(after(400), 128);
        assert_eq!(after(10_000), 0);
    }

    #[test]
    fn a_clock_a_little_behind_is_no_age() {
        let in_flight = InFlight::default();
        in_flight.burden(Nanos::from_millis(1_000), HALF);
        assert_eq!(in_flight.load(Nanos::from_millis(990), HALF).penalty, 256);
    }

    /// The stamp wraps after 50 days: a failure of last month must not come back to life.
    #[test]
    fn an_old_failure_stays_forgotten() {
        let in_flight = InFlight::default();
        in_flight.burden(Nanos::from_secs(1), HALF);
        for days in [1, 24, 25, 40, 49] {
            let now = Nanos::from_secs(1 + days * 86_400);
            assert_eq!(in_flight.load(now, HALF).penalty, 0, "{days} days");
        }
        in_flight.tidy(Nanos::from_secs(60), HALF);
        assert_eq!(in_flight.penalty.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_free_slot_in_between_shows() {
        let in_flight = InFlight::default();
        assert_eq!(in_flight.ended_if_full(1), None);
        assert!(in_flight.acquire(1));
        let before = in_flight.ended_if_full(1);
        in_flight.release();
        assert!(in_flight.acquire(1));
        assert_ne!(before, in_flight.ended_if_full(1));
        assert_eq!(in_flight.count(), 1);
    }

    #[test]
    fn loads_compare_over_weights() {
        let load = |in_flight| Load {
            in_flight,
            penalty: 0,
        };
        assert!(load(2).is_lighter(3, load(1), 1));
        assert!(!load(3).is_lighter(3, load(1), 1));
        assert!(!load(1).is_lighter(1, load(3), 3));
        assert!(load(u32::MAX - 1).is_lighter(u32::MAX, load(u32::MAX), 1));
    }
}
