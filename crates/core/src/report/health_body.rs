//! What an endpoint says of itself in the body of its answer to a health check.

use super::BadReport;
use super::json::{Json, Scalar};

/// What an endpoint says of itself in the body of its answer to a health check. Keys that are missing or
/// `null` are not known; others are passed over.
///
/// # Examples
///
/// ```
/// use evenkeel_core::HealthBody;
///
/// let body = HealthBody::parse(br#"{"status": "up"}"#)?;
/// assert_eq!(body.status, Some("up"));
/// # Ok::<(), evenkeel_core::BadReport>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HealthBody<'b> {
    /// How it calls its condition.
    pub status: Option<&'b str>,
    /// Requests in flight.
    pub active: Option<f64>,
    /// The share of its pool that is free, or how many places are.
    pub pool_free: Option<f64>,
    /// The share of the last minute's requests that failed, from 0 to 1.
    pub error_rate: Option<f64>,
    /// The share of what limits it that is used; above 1 in overload.
    pub utilization: Option<f64>,
}

impl<'b> HealthBody<'b> {
    /// Reads `{"status","active","pool_free","error_rate_1m","utilization"}`.
    ///
    /// # Errors
    ///
    /// When it is not a JSON object, or a value is not a number from 0 on.
    pub fn parse(body: &'b [u8]) -> Result<Self, BadReport> {
        let mut found = Self::default();
        let mut json = Json::new(body);
        json.members(|json, key| {
            match key {
                b"status" => found.status = status(json)?,
                b"active" => found.active = json.measure()?,
                b"pool_free" => found.pool_free = json.measure()?,
                b"error_rate_1m" => found.error_rate = json.measure()?,
                b"utilization" => found.utilization = json.measure()?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        json.end()?;
        if found.error_rate.is_some_and(|rate| rate > 1.0) {
            return Err(BadReport("error_rate_1m is not a share from 0 to 1"));
        }
        Ok(found)
    }
}

fn status<'b>(json: &mut Json<'b>) -> Result<Option<&'b str>, BadReport> {
    match json.scalar()? {
        Some(Scalar::Text(text)) => Ok(std::str::from_utf8(text).ok()),
        Some(Scalar::Word) => Ok(None),
        Some(Scalar::Number(_)) | None => Err(BadReport("status is not a text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_far_as_it_goes() {
        let body = br#"{"status":"ok","active":3,"pool_free":0.5,"error_rate_1m":0.01,
                        "utilization":0.42,"version":[1,2]}"#;
        let read = HealthBody::parse(body).expect("well-formed");
        assert_eq!(read.status, Some("ok"));
        assert_eq!((read.active, read.pool_free), (Some(3.0), Some(0.5)));
        assert_eq!(
            (read.error_rate, read.utilization),
            (Some(0.01), Some(0.42))
        );
        assert_eq!(HealthBody::parse(b"{}"), Ok(HealthBody::default()));
        for bad in [
            "",
            "ok",
            "[]",
            "{\"status\":1}",
            "{\"utilization\":-1}",
            "{\"error_rate_1m\":3}",
            "{} x",
        ] {
            assert!(HealthBody::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
