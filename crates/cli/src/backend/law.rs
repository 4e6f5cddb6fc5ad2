//! How long an answer takes: a law of chance.

use std::str::FromStr;
use std::time::Duration;

use evenkeel_config::parse_duration;
use evenkeel_core::Rng;

/// No answer takes longer, whatever the law says.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long an answer takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LatencyLaw {
    /// Always the same.
    Constant(Duration),
    /// By its mean: requests of very different sizes.
    Exponential(Duration),
    /// By its median and the deviation of its logarithm: what servers mostly look like.
    LogNormal(Duration, f64),
    /// Anything between the two.
    Uniform(Duration, Duration),
}

impl LatencyLaw {
    /// Draws a latency.
    pub(crate) fn draw(self, rng: &mut Rng) -> Duration {
        match self {
            Self::Constant(span) => span,
            Self::Exponential(mean) => scaled(mean, exponential(rng)),
            Self::LogNormal(median, sigma) => scaled(median, (sigma * normal(rng)).exp()),
            Self::Uniform(least, most) => least + scaled(most - least, unit(rng)),
        }
    }
}

fn scaled(span: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * factor).map_or(LONGEST, |s| s.min(LONGEST))
}

/// A number from 0 to 1, without 1.
pub(crate) fn unit(rng: &mut Rng) -> f64 {
    // 53 bits are what a double holds.
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A draw of mean 1: the gap between arrivals that know nothing of each other.
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - unit(rng)).ln()
}

/// A standard normal draw, by Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    (2.0 * exponential(rng)).sqrt() * (std::f64::consts::TAU * unit(rng)).cos()
}

impl FromStr for LatencyLaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((law, rest)) = text.split_once('(') else {
            return span(text).map(Self::Constant);
        };
        let inner = rest.strip_suffix(')').ok_or_else(|| unknown(text))?;
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        match (law.trim(), &parts[..]) {
            ("constant", [span_]) => span(span_).map(Self::Constant),
            ("exponential", [mean]) => span(mean).map(Self::Exponential),
            ("lognormal", [median, sigma]) => Ok(Self::LogNormal(span(median)?, spread(sigma)?)),
            ("uniform", [least, most]) => {
                let (least, most) = (span(least)?, span(most)?);
                if least > most {
                    return Err(format!("{text} begins above its end"));
                }
                Ok(Self::Uniform(least, most))
            }
            _ => Err(unknown(text)),
        }
    }
}

fn span(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text).map_err(|mistake| mistake.to_string())?;
    if span > LONGEST {
        return Err(format!("{text} is longer than an hour"));
    }
    Ok(span)
}

fn spread(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(sigma) if (0.0..=5.0).contains(&sigma) => Ok(sigma),
        _ => Err(format!("the spread {text} is not a number from 0 to 5")),
    }
}

fn unknown(text: &str) -> String {
    format!(
        "{text:?} is not a latency like 30ms, exponential(30ms), lognormal(30ms,0.3) or uniform(10ms,50ms)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn laws_are_read() {
        for (text, law) in [
            ("0ms", LatencyLaw::Constant(Duration::ZERO)),
            ("30ms", LatencyLaw::Constant(30 * MS)),
            ("constant(2s)", LatencyLaw::Constant(2000 * MS)),
            ("exponential(30ms)", LatencyLaw::Exponential(30 * MS)),
            ("lognormal(30ms, 0.3)", LatencyLaw::LogNormal(30 * MS, 0.3)),
            ("uniform(1ms,2ms)", LatencyLaw::Uniform(MS, 2 * MS)),
        ] {
            assert_eq!(text.parse(), Ok(law), "{text}");
        }
        for wrong in [
            "",
            "30",
            "-1ms",
            "lognormal(30ms)",
            "lognormal(30ms,x)",
            "lognormal(30ms,-1)",
            "gamma(1ms)",
            "exponential(30ms",
            "uniform(2ms,1ms)",
            "2h",
            "exponential()",
        ] {
            assert!(wrong.parse::<LatencyLaw>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn draws_have_the_mean_and_median_of_their_law() {
        let mut rng = Rng::new(5);
        let mut draws = |law: LatencyLaw| {
            let mut all: Vec<f64> = (0..20_001)
                .map(|_| law.draw(&mut rng).as_secs_f64())
                .collect();
            all.sort_by(f64::total_cmp);
            (all.iter().sum::<f64>() / all.len() as f64, all[10_000])
        };
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.05;
        assert!(near(draws(LatencyLaw::Exponential(30 * MS)).0, 0.030));
        assert!(near(draws(LatencyLaw::LogNormal(30 * MS, 0.3)).1, 0.030));
        assert!(near(draws(LatencyLaw::Uniform(10 * MS, 30 * MS)).0, 0.020));
    }
}
