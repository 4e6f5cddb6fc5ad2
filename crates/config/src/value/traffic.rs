//! How requests arrive, and what their keys are, in scenarios of the simulator.

use std::time::Duration;

use super::duration::parse_duration;
use super::law::number;
use super::mistake::Mistake;

/// What arrivals may be.
pub(crate) const ARRIVALS: &str = "\"poisson\", \"uniform\", \"burst(x10, every 30s, for 2s)\", \
     \"batch(200, every 1s)\" or \"trace(FILE)\"";

/// What keys may be.
pub(crate) const KEYS: &str = "\"zipf(100000, 1.1)\" or \"uniform(100000)\"";

/// How requests arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// So many at once, again and again.
    Batch(u32, Duration),
    /// As poisson, and now and then this many times as often.
    Burst {
        /// How many times the rate.
        times: f64,
        /// From the beginning of one burst to that of the next.
        every: Duration,
        /// How long a burst lasts.
        lasting: Duration,
    },
    /// Each knows nothing of the others.
    Poisson,
    /// At these moments.
    Trace(Vec<Arrival>),
    /// At equal distances.
    Uniform,
}

/// One arrival of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When, in nanoseconds from the beginning.
    pub at: u64,
    /// The number of its key, if it has one.
    pub key: Option<u64>,
}

/// What the keys of requests are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys {
    /// One of so many, each as often as any other.
    Uniform(u32),
    /// One of so many, the k-th in proportion to 1/k to the power of the second.
    Zipf(u32, f64),
}

/// Arrivals, or the path of their trace.
pub(crate) enum Written {
    Arrivals(Arrivals),
    Trace(String),
}

pub(crate) fn parse_arrivals(text: &str) -> Result<Written, Mistake> {
    let wrong = || {
        let message = format!("{text:?} says not how requests arrive");
        Mistake::new(message, format!("write {ARRIVALS}"))
    };
    let plain = match text {
        "poisson" => Some(Arrivals::Poisson),
        "uniform" => Some(Arrivals::Uniform),
        _ => None,
    };
    if let Some(plain) = plain {
        return Ok(Written::Arrivals(plain));
    }
    let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
    let inner = rest.trim_end().strip_suffix(')').ok_or_else(wrong)?;
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    match (name.trim(), &parts[..]) {
        ("trace", [path]) if !path.is_empty() => Ok(Written::Trace((*path).to_owned())),
        ("batch", [count, every]) => {
            let count = number(count, 1.0, 1e6)? as u32;
            let every = after(every, "every ").ok_or_else(wrong)?;
            Ok(Written::Arrivals(Arrivals::Batch(count, positive(every)?)))
        }
        ("burst", [times, every, lasting]) => {
            let times = times.strip_prefix('x').ok_or_else(wrong)?;
            let every = positive(after(every, "every ").ok_or_else(wrong)?)?;
            let lasting = positive(after(lasting, "for ").ok_or_else(wrong)?)?;
            if lasting > every {
                let message = format!("{text:?} has bursts that last until the next one");
                return Err(Mistake::new(message, "make the last time the shorter one"));
            }
            Ok(Written::Arrivals(Arrivals::Burst {
                times: number(times, 0.0, 1e4)?,
                every,
                lasting,
            }))
        }
        _ => Err(wrong()),
    }
}

fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.strip_prefix(word).map(str::trim)
}

fn positive(text: &str) -> Result<Duration, Mistake> {
    match parse_duration(text)? {
        span if span.is_zero() => Err(Mistake::new(format!("{text:?} is no time at all"), "")),
        span => Ok(span),
    }
}

pub(crate) fn parse_keys(text: &str) -> Result<Keys, Mistake> {
    let wrong = || {
        let message = format!("{text:?} says not what keys there are");
        Mistake::new(message, format!("write {KEYS}"))
    };
    let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
    let inner = rest.trim_end().strip_suffix(')').ok_or_else(wrong)?;
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    let count = |text: &str| number(text, 1.0, 1e7).map(|count| count as u32);
    match (name.trim(), &parts[..]) {
        ("zipf", [n, s]) => Ok(Keys::Zipf(count(n)?, number(s, 0.0, 10.0)?)),
        ("uniform", [n]) => Ok(Keys::Uniform(count(n)?)),
        _ => Err(wrong()),
    }
}

/// Reads a trace: a line for each arrival, its time in seconds and, behind a comma, the number of its
/// key.
pub(crate) fn parse_trace(text: &str) -> Result<Vec<Arrival>, Mistake> {
    let mut trace: Vec<Arrival> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (at, key) = match line.split_once(',') {
            Some((at, key)) => (at.trim(), Some(key.trim())),
            None => (line, None),
        };
        let wrong = |what: &str| {
            let message = format!("line {} of the trace: {what}", index + 1);
            Mistake::new(message, "write seconds, and a whole number as key: 12.25,7")
        };
        let seconds = number(at, 0.0, 3.2e7).map_err(|mistake| wrong(&mistake.message))?;
        let key = key.map(str::parse).transpose();
        let arrival = Arrival {
            at: (seconds * 1e9) as u64,
            key: key.map_err(|_| wrong("the key is not a whole number"))?,
        };
        if trace.last().is_some_and(|last| last.at > arrival.at) {
            return Err(wrong("it comes before the one above"));
        }
        trace.push(arrival);
    }
    if trace.is_empty() {
        return Err(Mistake::new("the trace is empty", ""));
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_and_keys_are_read() {
        let read = |text| match parse_arrivals(text) {
            Ok(Written::Arrivals(arrivals)) => arrivals,
            _ => panic!("{text}"),
        };
        assert_eq!(read("poisson"), Arrivals::Poisson);
        let burst = Arrivals::Burst {
            times: 10.0,
            every: Duration::from_secs(30),
            lasting: Duration::from_secs(2),
        };
        assert_eq!(read("burst(x10, every 30s, for 2s)"), burst);
        assert_eq!(
            read("batch(200, every 1s)"),
            Arrivals::Batch(200, Duration::from_secs(1))
        );
        assert_eq!(
            parse_keys("zipf(100000, 1.1)"),
            Ok(Keys::Zipf(100_000, 1.1))
        );
        for wrong in [
            "",
            "often",
            "burst(10, every 30s, for 2s)",
            "burst(x2, every 1s, for 2s)",
            "batch(0, every 1s)",
        ] {
            assert!(parse_arrivals(wrong).is_err(), "{wrong}");
        }
        assert!(parse_keys("zipf(0, 1)").is_err());
    }

    #[test]
    fn traces_are_read_in_order() {
        let trace = parse_trace("# seconds\n0.5\n1.25,7\n").expect("in order");
        assert_eq!(
            trace[1],
            Arrival {
                at: 1_250_000_000,
                key: Some(7)
            }
        );
        let message = parse_trace("2\n1\n").expect_err("out of order").message;
        assert_eq!(
            message,
            "line 2 of the trace: it comes before the one above"
        );
    }
}
