//! The figures of a run, as they are printed and asserted on.

use evenkeel_core::strategy::registry;

use crate::tally::{Counts, Tally, share};

/// The figures of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Requests that count.
    pub requests: u64,
    /// Latencies in milliseconds: mean, and what 50, 90, 99 and 99.9 % stay below.
    pub mean: f64,
    /// Likewise.
    pub p50: f64,
    /// Likewise.
    pub p90: f64,
    /// Likewise.
    pub p99: f64,
    /// Likewise.
    pub p999: f64,
    /// The longest.
    pub max: f64,
    /// The share that failed.
    pub failure_rate: f64,
    /// The share that was turned away.
    pub shed_rate: f64,
}

impl Figures {
    /// The figures of what was counted.
    #[must_use]
    pub fn of(counts: &Counts) -> Self {
        let ms = |share| round(counts.latency.quantile(share).0 as f64 / 1e6, 3);
        Self {
            requests: counts.requests,
            mean: round(counts.latency.mean() / 1e6, 3),
            p50: ms(0.5),
            p90: ms(0.9),
            p99: ms(0.99),
            p999: ms(0.999),
            max: round(counts.latency.max().0 as f64 / 1e6, 3),
            failure_rate: round(counts.failure_rate(), 6),
            shed_rate: round(counts.shed_rate(), 6),
        }
    }

    /// A figure by its name in results and assertions.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<f64> {
        Some(match name {
            "requests" => self.requests as f64,
            "mean" => self.mean,
            "p50" => self.p50,
            "p90" => self.p90,
            "p99" => self.p99,
            "p999" => self.p999,
            "max" => self.max,
            "failure_rate" => self.failure_rate,
            "shed_rate" => self.shed_rate,
            _ => return None,
        })
    }
}

/// How unevenly requests were spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Imbalance {
    /// The standard deviation of the counts of the endpoints.
    pub count_stddev: f64,
    /// The largest count over the mean.
    pub max_over_mean: f64,
    /// The sum of (count - share)^2 / share, where the share goes by weight if the strategy does. Draws by
    /// chance come to about the number of endpoints less one; far less is more even than chance.
    pub chi_square: f64,
}

impl Imbalance {
    /// That of a run.
    #[must_use]
    pub fn of(tally: &Tally) -> Self {
        let used: Vec<(f64, f64)> = tally
            .endpoints
            .iter()
            .map(|endpoint| (endpoint.requests as f64, f64::from(endpoint.weight)))
            .collect();
        let n = used.len().max(1) as f64;
        let total: f64 = used.iter().map(|(count, _)| count).sum();
        let mean = total / n;
        let variance = used
            .iter()
            .map(|(count, _)| (count - mean) * (count - mean))
            .sum::<f64>()
            / n;
        let most = used.iter().map(|(count, _)| *count).fold(0.0, f64::max);
        let blind = registry::find(&tally.strategy).is_some_and(|found| !found.traits.weighted);
        let weights: f64 = used.iter().map(|(_, weight)| weight).sum();
        let chi_square = used.iter().map(|(count, weight)| {
            let wanted = match blind || weights <= 0.0 {
                true => mean,
                false => total * weight / weights,
            };
            if wanted > 0.0 {
                (count - wanted) * (count - wanted) / wanted
            } else {
                0.0
            }
        });
        Self {
            count_stddev: round(variance.sqrt(), 3),
            max_over_mean: if mean > 0.0 {
                round(most / mean, 6)
            } else {
                0.0
            },
            chi_square: round(chi_square.sum(), 3),
        }
    }
}

impl Tally {
    /// A figure by its name in results and assertions; rates are shares of one, latencies milliseconds.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        let imbalance = || Imbalance::of(self);
        Some(match name {
            "retries" => self.retries as f64,
            "count_stddev" => imbalance().count_stddev,
            "max_over_mean" => imbalance().max_over_mean,
            "chi_square" => imbalance().chi_square,
            "throughput" => self.throughput(),
            _ => return Figures::of(&self.counts).named(name),
        })
    }

    /// Requests that were answered well, a second.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        round(
            self.counts.well as f64 * 1e9 / (self.traffic.0 as f64).max(1.0),
            3,
        )
    }

    /// The share of requests that waited for a slot.
    #[must_use]
    pub fn waited_share(&self) -> f64 {
        round(share(self.waits, self.counts.requests), 6)
    }

    /// The mean number of requests in a backend at the moments of samples, and what 99 % stay below.
    #[must_use]
    pub fn queue(&self) -> (f64, u64) {
        let all: u64 = self.lengths.iter().sum();
        let sum: u64 = (0..)
            .zip(&self.lengths)
            .map(|(length, count)| length * count)
            .sum();
        let mut before = 0;
        let p99 = (0..).zip(&self.lengths).find(|(_, count)| {
            before += *count;
            before * 100 >= all * 99
        });
        (
            round(share(sum, all), 4),
            p99.map_or(0, |(length, _)| length),
        )
    }
}

/// The names of all figures.
pub(crate) const NAMES: [&str; 14] = [
    "requests",
    "mean",
    "p50",
    "p90",
    "p99",
    "p999",
    "max",
    "failure_rate",
    "shed_rate",
    "retries",
    "count_stddev",
    "max_over_mean",
    "chi_square",
    "throughput",
];

/// Rounds to so many digits behind the point.
pub(crate) fn round(value: f64, digits: i32) -> f64 {
    let scale = f64::from(10_u32.pow(digits as u32));
    (value * scale).round() / scale
}
