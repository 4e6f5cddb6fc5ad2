//! When requests come from the world.

use std::time::Duration;

use evenkeel_config::{Amount, Arrival, Arrivals, Stage};
use evenkeel_core::{Nanos, Rng};

use crate::chance;

/// Requests that come from the world, one after the other.
#[derive(Debug)]
pub(super) struct Stream {
    kind: Arrivals,
    /// Where each stage ends, in nanoseconds, and its rate in requests a nanosecond.
    stages: Vec<(f64, f64)>,
    rng: Rng,
    /// Where the last one came.
    at: f64,
    given: u64,
    requests: u64,
    until: f64,
}

impl Stream {
    pub(super) fn new(kind: Arrivals, stages: &[Stage], amount: Amount, seed: u64) -> Self {
        let mut end = 0.0;
        let mut all = Vec::with_capacity(stages.len());
        for (index, stage) in stages.iter().enumerate() {
            end += nanos(stage.lasting);
            let last = index + 1 == stages.len();
            all.push((if last { f64::INFINITY } else { end }, stage.rate / 1e9));
        }
        let (requests, until) = match amount {
            Amount::Requests(requests) => (requests, f64::INFINITY),
            Amount::Lasting(lasting) => (u64::MAX, nanos(lasting)),
        };
        Self {
            kind,
            stages: all,
            rng: Rng::new(seed),
            at: 0.0,
            given: 0,
            requests,
            until,
        }
    }

    /// The next one: when, and the number of its key if it brings one.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Nanos, Option<u64>)> {
        if self.given >= self.requests {
            return None;
        }
        let mut key = None;
        match &self.kind {
            Arrivals::Poisson | Arrivals::Burst { .. } => {
                let gap = chance::exponential(&mut self.rng);
                self.at = self.after(gap);
            }
            Arrivals::Uniform => self.at = self.after(1.0),
            Arrivals::Batch(count, every) => {
                self.at = (self.given / u64::from(*count)) as f64 * nanos(*every);
            }
            Arrivals::Trace(trace) => {
                let arrival: &Arrival = trace.get(self.given as usize)?;
                (self.at, key) = (arrival.at as f64, arrival.key);
            }
        }
        if self.at >= self.until {
            return None;
        }
        self.given += 1;
        Some((Nanos(self.at as u64), key))
    }

    /// When so many requests are due after the last one, at rates that change on the way.
    #[inline]
    fn after(&self, mut due: f64) -> f64 {
        let mut at = self.at;
        loop {
            let (rate, until) = self.rate(at);
            // Rounding may put a moment before the end that it is.
            let until = until.max(at + 1.0);
            let here = (until - at) * rate;
            if due <= here || until.is_infinite() {
                return at + due / rate;
            }
            due -= here;
            at = until;
        }
    }

    /// The rate at a moment, and until when it is that.
    #[inline]
    fn rate(&self, at: f64) -> (f64, f64) {
        let last = self.stages.len() - 1;
        let stage = self.stages.iter().position(|(end, _)| at < *end);
        let (end, rate) = self.stages[stage.unwrap_or(last)];
        let Arrivals::Burst {
            times,
            every,
            lasting,
        } = &self.kind
        else {
            return (rate, end);
        };
        // A burst at the end of each period.
        let (period, burst) = (nanos(*every), nanos(*lasting));
        let begun = (at / period).floor() * period;
        let burst_at = begun + period - burst;
        if at < burst_at {
            (rate, end.min(burst_at))
        } else {
            // A rate of nothing would never end.
            ((rate * times).max(1e-18), end.min(begun + period))
        }
    }

    /// In which stage a moment is.
    #[inline]
    pub(super) fn stage(&self, at: Nanos) -> usize {
        let stage = self.stages.iter().position(|(end, _)| (at.0 as f64) < *end);
        stage.unwrap_or(self.stages.len() - 1)
    }
}

fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(rate: f64, secs: u64) -> Stage {
        Stage {
            rate,
            lasting: Duration::from_secs(secs),
        }
    }

    fn all(kind: Arrivals, stages: &[Stage], amount: Amount) -> Vec<f64> {
        let mut stream = Stream::new(kind, stages, amount, 5);
        std::iter::from_fn(|| stream.next())
            .map(|(at, _)| at.0 as f64 / 1e9)
            .collect()
    }

    #[test]
    fn rates_change_where_stages_do() {
        let stages = [stage(100.0, 10), stage(1000.0, 10)];
        let lasting = Amount::Lasting(Duration::from_secs(20));
        let even = all(Arrivals::Uniform, &stages, lasting);
        let first = even.iter().filter(|at| **at < 10.0).count();
        assert!((999..=1001).contains(&first), "{first}");
        assert!((10_998..=11_001).contains(&even.len()), "{}", even.len());
        let random = all(Arrivals::Poisson, &stages, lasting);
        let first = random.iter().filter(|at| **at < 10.0).count() as f64;
        assert!((first - 1000.0).abs() < 130.0, "{first}");
        assert!((random.len() as f64 - 11_000.0).abs() < 420.0);
        assert!(random.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn bursts_come_at_the_end_of_each_period() {
        let burst = Arrivals::Burst {
            times: 10.0,
            every: Duration::from_secs(30),
            lasting: Duration::from_secs(2),
        };
        let amount = Amount::Lasting(Duration::from_secs(300));
        let all = all(burst, &[stage(100.0, 300)], amount);
        let within = all.iter().filter(|at| **at % 30.0 >= 28.0).count() as f64;
        assert!((within / 20_000.0 - 1.0).abs() < 0.05, "{within}");
        let outside = all.len() as f64 - within;
        assert!((outside / 28_000.0 - 1.0).abs() < 0.05, "{outside}");
    }

    #[test]
    fn batches_come_at_once() {
        let batch = Arrivals::Batch(3, Duration::from_secs(1));
        let all = all(batch, &[stage(1.0, 1)], Amount::Requests(7));
        assert_eq!(all, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0]);
    }
}
