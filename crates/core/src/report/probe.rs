//! The answer to a probe of `prequal`.

use super::BadReport;
use super::json::Json;
use crate::clock::Nanos;

/// The answer to a probe: `{"in_flight","latency_ms"}`.
///
/// # Examples
///
/// ```
/// use evenkeel_core::ProbeAnswer;
///
/// let answer = ProbeAnswer::parse(br#"{"in_flight": 3}"#)?;
/// assert_eq!((answer.in_flight, answer.latency), (3, None));
/// # Ok::<(), evenkeel_core::BadReport>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// Its requests in flight, of all callers.
    pub in_flight: u32,
    /// How long requests that come at this load take; none as long as it cannot tell.
    pub latency: Option<Nanos>,
}

impl ProbeAnswer {
    /// Reads the body of an answer.
    ///
    /// # Errors
    ///
    /// When it is not a JSON object, `in_flight` is missing, or a value is not a number from 0 on.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_core::{Nanos, ProbeAnswer};
    ///
    /// let answer = ProbeAnswer::parse(br#"{"in_flight": 3, "latency_ms": 2.5}"#)?;
    /// assert_eq!(answer.in_flight, 3);
    /// assert_eq!(answer.latency, Some(Nanos(2_500_000)));
    /// # Ok::<(), evenkeel_core::BadReport>(())
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, BadReport> {
        let (mut in_flight, mut latency) = (None, None);
        let mut json = Json::new(body);
        json.members(|json, key| {
            match key {
                b"in_flight" => in_flight = json.measure()?,
                b"latency_ms" => latency = json.measure()?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        json.end()?;
        let in_flight = in_flight.ok_or(BadReport("in_flight is missing"))?;
        Ok(Self {
            // Beyond the range it is the largest.
            in_flight: in_flight as u32,
            latency: latency.map(|ms| Nanos((ms * 1e6) as u64)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_may_be_missing_and_the_load_may_not() {
        for (body, latency) in [
            (r#"{"in_flight":7}"#, None),
            (r#"{"in_flight":7,"latency_ms":null,"x":{}}"#, None),
            (
                r#"{"latency_ms":0.5,"in_flight":7.0}"#,
                Some(Nanos(500_000)),
            ),
        ] {
            let in_flight = 7;
            let answer = ProbeAnswer::parse(body.as_bytes());
            assert_eq!(answer, Ok(ProbeAnswer { in_flight, latency }), "{body}");
        }
        for bad in ["{}", "7", r#"{"in_flight":-1}"#, r#"{"in_flight":null}"#] {
            assert!(ProbeAnswer::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        let huge = ProbeAnswer::parse(br#"{"in_flight":1e300,"latency_ms":1e300}"#);
        assert_eq!(huge.map(|answer| answer.in_flight), Ok(u32::MAX));
    }
}
