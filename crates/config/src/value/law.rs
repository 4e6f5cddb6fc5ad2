//! Laws of chance for times, as `"lognormal(30ms, 0.3)"`.

use std::fmt;
use std::time::Duration;

use super::duration::{is_number, parse_duration};
use super::mistake::Mistake;

/// The longest time in a law.
const LONGEST: Duration = Duration::from_secs(3600);

/// What would be right.
pub(crate) const WANTED: &str = "a time like \"30ms\", or a law like \"exponential(30ms)\" by its mean, \
     \"uniform(10ms, 50ms)\", \"lognormal(30ms, 0.3)\" by its median and spread, \
     \"normal(80ms, 80ms)\" by its mean and deviation, cut at 0, \"bimodal(10ms, 1s, 0.05)\" with the share of the \
     second, or \"pareto(10ms, 2.1)\" by its least value and exponent";

/// A law of chance for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// The first, or with this share the second.
    Bimodal(Duration, Duration, f64),
    /// Always the same.
    Constant(Duration),
    /// By its mean: requests of very different sizes.
    Exponential(Duration),
    /// By its median and the deviation of its logarithm: what servers mostly look like.
    LogNormal(Duration, f64),
    /// By its mean and deviation; what is below 0 is 0.
    Normal(Duration, Duration),
    /// By its least value and its exponent, above 1: a few are enormous.
    Pareto(Duration, f64),
    /// Anything between the two.
    Uniform(Duration, Duration),
}

/// Reads a law.
///
/// # Errors
///
/// When there is no such law, or its arguments are not what it takes.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use evenkeel_config::{Law, parse_law};
///
/// assert_eq!(parse_law("30ms"), Ok(Law::Constant(Duration::from_millis(30))));
/// assert!(parse_law("gamma(1ms)").is_err());
/// ```
pub fn parse_law(text: &str) -> Result<Law, Mistake> {
    let Some((name, rest)) = text.split_once('(') else {
        return span(text).map(Law::Constant);
    };
    let unknown = || Mistake::new(format!("{text:?} is not a law"), format!("write {WANTED}"));
    let inner = rest.trim_end().strip_suffix(')').ok_or_else(unknown)?;
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    match (name.trim(), &parts[..]) {
        ("constant", [time]) => span(time).map(Law::Constant),
        ("exponential", [mean]) => span(mean).map(Law::Exponential),
        ("lognormal", [median, sigma]) => {
            Ok(Law::LogNormal(span(median)?, number(sigma, 0.0, 5.0)?))
        }
        ("normal", [mean, deviation]) => Ok(Law::Normal(span(mean)?, span(deviation)?)),
        ("bimodal", [first, second, share]) => {
            let share = number(share, 0.0, 1.0)?;
            Ok(Law::Bimodal(span(first)?, span(second)?, share))
        }
        ("pareto", [least, alpha]) => Ok(Law::Pareto(span(least)?, number(alpha, 1.01, 100.0)?)),
        ("uniform", [least, most]) => {
            let (least, most) = (span(least)?, span(most)?);
            if least > most {
                return Err(Mistake::new(format!("{text:?} begins above its end"), ""));
            }
            Ok(Law::Uniform(least, most))
        }
        _ => Err(unknown()),
    }
}

fn span(text: &str) -> Result<Duration, Mistake> {
    let span = parse_duration(text)?;
    if span > LONGEST {
        return Err(Mistake::new(
            format!("{text:?} is longer than an hour"),
            "the longest is \"1h\"",
        ));
    }
    Ok(span)
}

/// A number within a range.
pub(crate) fn number(text: &str, least: f64, most: f64) -> Result<f64, Mistake> {
    let number = Some(text).filter(|text| is_number(text));
    match number.and_then(|text| text.parse().ok()) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(Mistake::new(
            format!("{text:?} is not a number from {least} to {most}"),
            "",
        )),
    }
}

impl fmt::Display for Law {
    /// As it would be written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |span: &Duration| span.as_secs_f64() * 1e3;
        match self {
            Self::Bimodal(a, b, share) => write!(f, "bimodal({}ms, {}ms, {share})", ms(a), ms(b)),
            Self::Constant(span) => write!(f, "{}ms", ms(span)),
            Self::Exponential(mean) => write!(f, "exponential({}ms)", ms(mean)),
            Self::LogNormal(median, sigma) => write!(f, "lognormal({}ms, {sigma})", ms(median)),
            Self::Normal(mean, sd) => write!(f, "normal({}ms, {}ms)", ms(mean), ms(sd)),
            Self::Pareto(least, alpha) => write!(f, "pareto({}ms, {alpha})", ms(least)),
            Self::Uniform(least, most) => write!(f, "uniform({}ms, {}ms)", ms(least), ms(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_read_and_written_alike() {
        for text in [
            "30ms",
            "exponential(30ms)",
            "lognormal(30ms, 0.3)",
            "normal(80ms, 80ms)",
            "uniform(1ms, 2ms)",
            "bimodal(1ms, 100ms, 0.05)",
            "pareto(10ms, 2.1)",
        ] {
            assert_eq!(parse_law(text).expect(text).to_string(), text, "{text}");
        }
        assert_eq!(parse_law("constant(2s)"), parse_law("2000ms"));
    }

    #[test]
    fn what_is_no_law_is_said() {
        for text in [
            "",
            "30",
            "-1ms",
            "lognormal(30ms)",
            "lognormal(30ms,x)",
            "lognormal(30ms,6)",
            "gamma(1ms)",
            "exponential(30ms",
            "uniform(2ms,1ms)",
            "2h",
            "exponential()",
            "pareto(1ms, 1)",
            "bimodal(1ms, 2ms, 2)",
            "lognormal(30ms, nan)",
        ] {
            assert!(parse_law(text).is_err(), "{text}");
        }
    }
}
