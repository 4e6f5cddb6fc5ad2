//! Draws from laws of chance, the same bits on every platform.

use std::time::Duration;

use evenkeel_config::Law;
use evenkeel_core::Rng;
use evenkeel_core::math::{exp_neg, ln};

/// No time that is drawn is longer: a year.
const LONGEST: f64 = 3.2e16;

/// A number from 0 to 1, without 1.
#[inline]
pub(crate) fn unit(rng: &mut Rng) -> f64 {
    // 53 bits are what a double holds.
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A whole number below `n`.
#[inline]
pub(crate) fn below(rng: &mut Rng, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A draw of mean 1: the gap between arrivals that know nothing of each other.
#[inline]
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -ln(1.0 - unit(rng))
}

/// A standard normal draw, by Marsaglia's polar method.
#[inline]
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * unit(rng) - 1.0, 2.0 * unit(rng) - 1.0);
        let s = x * x + y * y;
        if s > 0.0 && s < 1.0 {
            return x * (-2.0 * ln(s) / s).sqrt();
        }
    }
}

/// e^x, for any `x` that does not overflow.
pub(crate) fn exp(x: f64) -> f64 {
    if x <= 0.0 {
        exp_neg(-x)
    } else {
        1.0 / exp_neg(x)
    }
}

/// base^power for a positive base.
pub(crate) fn power(base: f64, power: f64) -> f64 {
    exp(power * ln(base))
}

/// A law as draws need it, times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sampler {
    Bimodal(f64, f64, f64),
    Constant(f64),
    Exponential(f64),
    LogNormal(f64, f64),
    Normal(f64, f64),
    Pareto(f64, f64),
    Uniform(f64, f64),
    /// Any of these, each as often as the others: sorted.
    Observed(Vec<f64>),
}

impl From<Law> for Sampler {
    fn from(law: Law) -> Self {
        let ns = |span: Duration| span.as_nanos() as f64;
        match law {
            Law::Bimodal(first, second, share) => Self::Bimodal(ns(first), ns(second), share),
            Law::Constant(span) => Self::Constant(ns(span)),
            Law::Exponential(mean) => Self::Exponential(ns(mean)),
            Law::LogNormal(median, sigma) => Self::LogNormal(ns(median), sigma),
            Law::Normal(mean, deviation) => Self::Normal(ns(mean), ns(deviation)),
            Law::Pareto(least, alpha) => Self::Pareto(ns(least), alpha),
            Law::Uniform(least, most) => Self::Uniform(ns(least), ns(most)),
        }
    }
}

impl Sampler {
    /// A draw, in nanoseconds.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> f64 {
        let drawn = match self {
            Self::Bimodal(first, second, share) => {
                if unit(rng) < *share {
                    *second
                } else {
                    *first
                }
            }
            Self::Constant(span) => *span,
            Self::Exponential(mean) => mean * exponential(rng),
            Self::LogNormal(median, sigma) => median * exp(sigma * normal(rng)),
            Self::Normal(mean, deviation) => (mean + deviation * normal(rng)).max(0.0),
            Self::Pareto(least, alpha) => least * exp(exponential(rng) / alpha),
            Self::Uniform(least, most) => least + (most - least) * unit(rng),
            Self::Observed(all) => {
                // Between two neighbours, so that a few observations do not come back as a few spikes.
                let place = unit(rng) * (all.len() - 1) as f64;
                let (at, rest) = (place as usize, place.fract());
                let next = all[(at + 1).min(all.len() - 1)];
                all[at] + (next - all[at]) * rest
            }
        };
        drawn.min(LONGEST)
    }

    /// The mean, in nanoseconds.
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Self::Bimodal(first, second, share) => first + (second - first) * share,
            Self::Constant(span) => *span,
            Self::Exponential(mean) => *mean,
            Self::LogNormal(median, sigma) => median * exp(sigma * sigma / 2.0),
            Self::Normal(mean, deviation) => clamped_mean(*mean, *deviation),
            Self::Pareto(least, alpha) => least * alpha / (alpha - 1.0),
            Self::Uniform(least, most) => f64::midpoint(*least, *most),
            Self::Observed(all) => all.iter().sum::<f64>() / all.len() as f64,
        }
    }
}

/// The mean of max(0, N(mean, deviation)), by summing the law in small steps.
fn clamped_mean(mean: f64, deviation: f64) -> f64 {
    if deviation <= 0.0 {
        return mean.max(0.0);
    }
    const STEPS: i32 = 1600;
    let (mut weight, mut sum) = (0.0, 0.0);
    for step in -STEPS..=STEPS {
        let z = f64::from(step) * 8.0 / f64::from(STEPS);
        let density = exp_neg(z * z / 2.0);
        weight += density;
        sum += density * (mean + deviation * z).max(0.0);
    }
    sum / weight
}

/// Draws from any finite law in constant time: Vose's form of Walker's alias method.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    slots: Vec<(f64, u32)>,
}

impl Alias {
    /// Draws `k` in proportion to `weights[k]`.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut slots: Vec<(f64, u32)> = (0..).zip(weights).map(|(k, w)| (w * scale, k)).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|k| slots[*k as usize].0 < 1.0);
        while let (Some(less), Some(more)) = (small.pop(), large.last().copied()) {
            slots[less as usize].1 = more;
            slots[more as usize].0 -= 1.0 - slots[less as usize].0;
            if slots[more as usize].0 < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        // What is left is 1 but for rounding.
        for k in small.into_iter().chain(large) {
            slots[k as usize].0 = 1.0;
        }
        Self { slots }
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u32 {
        let k = below(rng, self.slots.len() as u64) as usize;
        let (keep, other) = self.slots[k];
        if unit(rng) < keep { k as u32 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, wanted: f64, tolerance: f64) -> bool {
        (got / wanted - 1.0).abs() < tolerance
    }

    #[test]
    fn draws_have_the_mean_of_their_law() {
        let mut rng = Rng::new(7);
        for law in [
            Sampler::Bimodal(1.0, 10.0, 0.2),
            Sampler::Constant(3.0),
            Sampler::Exponential(30.0),
            Sampler::LogNormal(30.0, 0.3),
            Sampler::Normal(80.0, 80.0),
            Sampler::Pareto(10.0, 3.0),
            Sampler::Uniform(10.0, 30.0),
            Sampler::Observed(vec![1.0, 2.0, 3.0]),
        ] {
            let n = 400_000;
            let sum: f64 = (0..n).map(|_| law.draw(&mut rng)).sum();
            let mean = sum / f64::from(n);
            assert!(
                near(mean, law.mean(), 0.01),
                "{law:?}: {mean} {}",
                law.mean()
            );
        }
    }

    #[test]
    fn an_alias_table_follows_its_weights() {
        let alias = Alias::new(&[1.0, 2.0, 3.0, 4.0]);
        let (mut rng, mut counts) = (Rng::new(3), [0_u32; 4]);
        for _ in 0..400_000 {
            counts[alias.draw(&mut rng) as usize] += 1;
        }
        for (k, count) in counts.iter().enumerate() {
            assert!(near(f64::from(*count), 40_000.0 * (k + 1) as f64, 0.02));
        }
    }

    /// The bits, which no platform may change.
    #[test]
    fn draws_are_the_same_everywhere() {
        let mut rng = Rng::new(1);
        let drawn = [
            Sampler::LogNormal(30e6, 0.3).draw(&mut rng).to_bits(),
            Sampler::Exponential(30e6).draw(&mut rng).to_bits(),
            Sampler::Pareto(30e6, 2.1).draw(&mut rng).to_bits(),
        ];
        let known = [
            4_720_310_989_163_838_083,
            4_704_053_013_884_433_898,
            4_723_004_878_330_160_181,
        ];
        assert_eq!(drawn, known);
    }
}
