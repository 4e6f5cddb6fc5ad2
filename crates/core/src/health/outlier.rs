//! What an endpoint's requests say of it, beside those of the others.
//!
//! Source: outlier detection of Envoy, with its success rate by mean and deviation replaced by median and
//! median deviation, since a mean goes blind as soon as a fifth of the endpoints fail.

use super::state::Cause;
use crate::clock::Nanos;

/// When an endpoint is ejected for its requests, and for how long.
///
/// # Examples
///
/// ```
/// use evenkeel_core::health::OutlierPolicy;
///
/// let policy = OutlierPolicy { consecutive_failures: 3, ..OutlierPolicy::default() };
/// assert!(policy.ejected_max(10) < 10, "never all of them");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutlierPolicy {
    /// So many failures in a row, at least 1.
    pub consecutive_failures: u32,
    /// This share of failures over an interval.
    pub failure_rate: f64,
    /// With fewer requests in an interval its share of failures says nothing.
    pub min_requests: u32,
    /// Its median latency is above the cluster's median times this; none: never for its latency.
    pub latency_factor: Option<f64>,
    /// Over what time shares and latencies are taken.
    pub interval: Nanos,
    /// How long the first ejection lasts; the next ones are longer by as much.
    pub base_ejection: Nanos,
    /// How long any of them lasts at most.
    pub max_ejection: Nanos,
    /// The share of a tier's endpoints that may be out at once, but at least one of two or more; 0: none.
    pub max_ejected: f64,
}

impl Default for OutlierPolicy {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            failure_rate: 0.5,
            min_requests: 50,
            latency_factor: None,
            interval: Nanos::from_secs(10),
            base_ejection: Nanos::from_secs(30),
            max_ejection: Nanos::from_secs(300),
            max_ejected: 0.1,
        }
    }
}

impl OutlierPolicy {
    /// How many of a tier of `total` endpoints may be out at once.
    #[must_use]
    pub fn ejected_max(&self, total: usize) -> usize {
        if self.max_ejected <= 0.0 {
            return 0;
        }
        // A product that should be whole may be a little below.
        let share = total as f64 * self.max_ejected + 1e-9;
        (share as usize).max(1)
    }

    /// From how many failures in a row on an endpoint looks bad, when it is asked whether most do.
    pub(super) fn looks_bad_from(&self) -> u32 {
        self.consecutive_failures.div_ceil(2).max(1)
    }
}

/// What was seen of an endpoint's requests over an interval. Attempts that clients gave up are no part
/// of it.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// # use evenkeel_core::{Nanos, health::{ClusterHealth, HealthPolicy, OutlierPolicy}};
/// # let policy = HealthPolicy { outlier: Some(OutlierPolicy::default()), ..HealthPolicy::default() };
/// # let mut health = ClusterHealth::new(policy, 7);
/// # let _ = health.list(members.listed(), true, Nanos(0));
/// use evenkeel_core::health::Observed;
///
/// let seen = Observed { successes: 40, failures: 60, run: 0, latency: None };
/// let happened = health.interval([("a", seen)].into_iter(), Nanos::from_secs(10));
/// # let _ = happened;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Attempts that succeeded.
    pub successes: u64,
    /// Attempts that failed, or were turned away with 429.
    pub failures: u64,
    /// Failures in a row at its end.
    pub run: u32,
    /// The median of what its successful attempts took; none where that was not measured.
    pub latency: Option<Nanos>,
}

/// For latencies a few requests are enough, since a slow endpoint is sent few.
const LATENCY_SAMPLES_MIN: u64 = 10;

/// Shares are compared between so many endpoints at least.
const COMPARED_MIN: usize = 5;

/// How many times `min_requests` it takes to be compared with others: the difference that counts is
/// smaller.
const COMPARED_VOLUME: u64 = 2;

/// How many deviations below the others is an outlier.
const DEVIATIONS: f64 = 3.0;

/// What a median deviation of a normal distribution has to be multiplied by to be its standard deviation.
const MAD_SCALE: f64 = 1.4826;

/// A smaller difference of shares is none.
const DIFFERENCE_MIN: f64 = 0.05;

/// For each endpoint why it should be ejected, if it should, with what was seen. O(n log n).
pub(super) fn judge(policy: &OutlierPolicy, observed: &[Observed]) -> Vec<Option<(Cause, String)>> {
    let rates = RateRule::new(policy, observed);
    let latencies = LatencyRule::new(policy, observed);
    let verdict = |observed: &Observed| {
        let by_rate = rates.judge(observed).map(|why| (Cause::FailureRate, why));
        by_rate.or_else(|| latencies.judge(observed).map(|why| (Cause::Latency, why)))
    };
    observed.iter().map(verdict).collect()
}

/// How many endpoints had enough requests to be judged by their share of failures.
pub(super) fn judged(policy: &OutlierPolicy, observed: &[Observed]) -> usize {
    let enough = |observed: &&Observed| observed.volume() >= u64::from(policy.min_requests.max(1));
    observed.iter().filter(enough).count()
}

impl Observed {
    fn volume(&self) -> u64 {
        self.successes + self.failures
    }

    fn failure_rate(&self) -> f64 {
        self.failures as f64 / self.volume().max(1) as f64
    }
}

/// By the share of failures: too many at all, or many more than the others have.
struct RateRule<'p> {
    policy: &'p OutlierPolicy,
    volume_min: u64,
    /// The median share of failures, and the one above which an endpoint is an outlier.
    usual: Option<(f64, f64)>,
}

impl<'p> RateRule<'p> {
    fn new(policy: &'p OutlierPolicy, observed: &[Observed]) -> Self {
        let volume_min = u64::from(policy.min_requests.max(1));
        let compared = observed
            .iter()
            .filter(|observed| observed.volume() >= COMPARED_VOLUME * volume_min);
        let rates: Vec<f64> = compared.map(Observed::failure_rate).collect();
        let usual = (rates.len() >= COMPARED_MIN).then(|| {
            let usual = median_of(rates.clone());
            let deviations = rates.iter().map(|rate| (rate - usual).abs()).collect();
            let spread = DEVIATIONS * MAD_SCALE * median_of(deviations);
            (usual, usual + spread.max(DIFFERENCE_MIN))
        });
        Self {
            policy,
            volume_min,
            usual,
        }
    }

    fn judge(&self, observed: &Observed) -> Option<String> {
        let (volume, rate) = (observed.volume(), observed.failure_rate());
        if volume < self.volume_min {
            return None;
        }
        let seen = format!("{} of {volume} requests failed", observed.failures);
        if rate >= self.policy.failure_rate {
            return Some(seen);
        }
        let (usual, most) = self.usual?;
        let enough = volume >= COMPARED_VOLUME * self.volume_min;
        let unlikely = observed.failures as f64 > likely_max(volume as f64, usual);
        let is_outlier = enough && rate > most && unlikely;
        is_outlier.then(|| format!("{seen}, the others' median is {:.1} %", usual * 100.0))
    }
}

/// More failures than this are no chance where the usual share is this: three standard deviations of a
/// binomial above its mean.
fn likely_max(volume: f64, usual: f64) -> f64 {
    volume * usual + DEVIATIONS * (volume * usual * (1.0 - usual)).max(0.0).sqrt()
}

/// By the median latency, beside the median of those: the lower one of two, so that it works with two
/// endpoints.
struct LatencyRule {
    /// The latency above which an endpoint is ejected, and the median.
    most: Option<(Nanos, Nanos)>,
}

impl LatencyRule {
    fn new(policy: &OutlierPolicy, observed: &[Observed]) -> Self {
        let mut latencies: Vec<Nanos> = observed.iter().filter_map(Self::known).collect();
        latencies.sort_unstable();
        let enough = latencies.len() >= 2;
        let factor = policy.latency_factor.filter(|_| enough);
        let most = factor.map(|factor| {
            let usual = latencies[(latencies.len() - 1) / 2];
            (Nanos((usual.0 as f64 * factor) as u64), usual)
        });
        Self { most }
    }

    fn known(observed: &Observed) -> Option<Nanos> {
        observed
            .latency
            .filter(|_| observed.successes >= LATENCY_SAMPLES_MIN)
    }

    fn judge(&self, observed: &Observed) -> Option<String> {
        let ((most, usual), latency) = (self.most?, Self::known(observed)?);
        let millis = |span: Nanos| span.0 as f64 / 1e6;
        (latency > most).then(|| {
            format!(
                "its median latency is {:.1} ms, the cluster's {:.1} ms",
                millis(latency),
                millis(usual)
            )
        })
    }
}

/// The lower median; 0 of nothing.
fn median_of(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(failures: &[u64], of: u64) -> Vec<Observed> {
        let observed = failures.iter().map(|failures| Observed {
            successes: of - failures,
            failures: *failures,
            run: 0,
            latency: None,
        });
        observed.collect()
    }

    fn ejected(policy: &OutlierPolicy, observed: &[Observed]) -> Vec<usize> {
        let verdicts = judge(policy, observed).into_iter().enumerate();
        verdicts.filter_map(|(at, why)| why.map(|_| at)).collect()
    }

    #[test]
    fn half_of_enough_requests_is_too_many() {
        let policy = OutlierPolicy::default();
        assert_eq!(ejected(&policy, &seen(&[25, 24], 50)), [0]);
        assert!(ejected(&policy, &seen(&[49, 0], 49)).is_empty());
    }

    /// Envoy's example of a success rate, 50 beside four of 100; and one where its mean goes blind.
    #[test]
    fn an_outlier_among_others_is_found_however_many_there_are() {
        let policy = OutlierPolicy {
            failure_rate: 1.0,
            ..OutlierPolicy::default()
        };
        assert_eq!(ejected(&policy, &seen(&[50, 0, 0, 0, 0], 100)), [0]);
        // With two of five the mean is 60 %, and nobody lies 1.9 deviations below it.
        assert_eq!(ejected(&policy, &seen(&[99, 99, 0, 0, 0], 100)), [0, 1]);
        assert_eq!(ejected(&policy, &seen(&[9, 2, 2, 2, 2], 100)), [0]);
    }

    #[test]
    fn chance_ejects_nobody() {
        let policy = OutlierPolicy::default();
        // Within five points, or within what a hundred requests vary anyway.
        assert!(ejected(&policy, &seen(&[5, 0, 0, 0, 0], 100)).is_empty());
        assert!(ejected(&policy, &seen(&[16, 8, 8, 8, 8], 100)).is_empty());
        assert!(
            ejected(&policy, &seen(&[20, 0, 0, 0], 100)).is_empty(),
            "too few to compare"
        );
    }

    #[test]
    fn a_slow_one_is_found_among_two() {
        let policy = OutlierPolicy {
            latency_factor: Some(3.0),
            ..OutlierPolicy::default()
        };
        let slow = |latencies: &[u64], of| -> Vec<Observed> {
            let observed = latencies.iter().map(|ms| Observed {
                successes: of,
                failures: 0,
                run: 0,
                latency: Some(Nanos::from_millis(*ms)),
            });
            observed.collect()
        };
        assert_eq!(ejected(&policy, &slow(&[30, 91], 10)), [1]);
        let (cause, why) = judge(&policy, &slow(&[30, 91], 10))
            .remove(1)
            .expect("ejected");
        assert_eq!(cause, Cause::Latency);
        assert_eq!(why, "its median latency is 91.0 ms, the cluster's 30.0 ms");
        assert!(ejected(&policy, &slow(&[30, 89], 10)).is_empty());
        assert!(ejected(&policy, &slow(&[30, 900], 9)).is_empty());
        assert!(ejected(&policy, &slow(&[900], 100)).is_empty());
        assert_eq!(ejected(&policy, &slow(&[900, 30, 31], 100)), [0]);
        assert!(ejected(&OutlierPolicy::default(), &slow(&[30, 91], 10)).is_empty());
    }

    #[test]
    fn the_cap_is_a_share_but_at_least_one() {
        let cap = |max_ejected| OutlierPolicy {
            max_ejected,
            ..OutlierPolicy::default()
        };
        assert_eq!(cap(0.1).ejected_max(3), 1);
        assert_eq!(cap(0.1).ejected_max(29), 2);
        assert_eq!(cap(0.29).ejected_max(100), 29);
        assert_eq!(cap(0.67).ejected_max(3), 2);
        assert_eq!(cap(0.0).ejected_max(3), 0);
    }
}
