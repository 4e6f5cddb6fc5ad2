//! An endpoint as the API tells it.

use std::collections::BTreeMap;

use evenkeel_core::{Admin, FULL_WEIGHT, Nanos, Standing};
use evenkeel_gateway::{EndpointReport, Histogram, rfc3339};
use serde::Serialize;
use serde_json::Number;

/// An endpoint as the API tells it.
#[derive(Serialize)]
pub(super) struct EndpointView {
    pub(super) id: String,
    address: String,
    pub(super) weight: u16,
    pub(super) effective_weight: Number,
    zone: Option<String>,
    tier: u8,
    labels: BTreeMap<String, String>,
    capacity: Option<u32>,
    admin: &'static str,
    pub(super) health: &'static str,
    pub(super) state: &'static str,
    reason: String,
    since: String,
    pub(super) in_flight: u32,
    requests: u64,
    failures: u64,
    latency_ms: LatencyView,
}

/// Quantiles, in milliseconds, as near as the buckets of the histogram allow.
#[derive(Serialize)]
pub(super) struct LatencyView {
    p50: f64,
    p99: f64,
}

impl From<&EndpointReport> for EndpointView {
    fn from(report: &EndpointReport) -> Self {
        let EndpointReport {
            endpoint, totals, ..
        } = report;
        let labels = endpoint.labels().iter();
        Self {
            id: endpoint.id().to_owned(),
            address: endpoint.address().to_owned(),
            weight: endpoint.weight(),
            effective_weight: in_units(report.effective_weight),
            zone: endpoint.zone().map(str::to_owned),
            tier: endpoint.tier(),
            labels: labels
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            capacity: endpoint.capacity(),
            admin: report.admin.as_str(),
            health: if report.standing == Standing::Unhealthy {
                "unhealthy"
            } else {
                "healthy"
            },
            state: report.standing.as_str(),
            reason: reason(report).to_owned(),
            since: rfc3339(report.since),
            in_flight: report.in_flight,
            requests: totals.requests(),
            failures: totals.failures,
            latency_ms: LatencyView::of(&totals.durations),
        }
    }
}

impl LatencyView {
    pub(super) fn of(durations: &Histogram) -> Self {
        Self {
            p50: millis(durations.quantile(0.5)),
            p99: millis(durations.quantile(0.99)),
        }
    }
}

/// Why it stands as it does, and what will end it.
fn reason(report: &EndpointReport) -> &'static str {
    match (report.standing, report.admin) {
        (Standing::Ready, _) => "takes requests",
        (Standing::Disabled, _) => {
            "disabled by an operator, takes no requests until enabled or drained"
        }
        (Standing::Draining, Admin::Draining) => {
            "drained by an operator, takes no new requests until enabled"
        }
        (Standing::Draining, _) => "weight 0, takes no new requests until it has a weight",
        (Standing::Unhealthy, _) => "failed its checks, takes no requests until it passes them",
        (_, _) => "",
    }
}

/// Effective weight in units of configured weight: whole numbers as such.
fn in_units(weight: u32) -> Number {
    let unit = u32::from(FULL_WEIGHT);
    if weight.is_multiple_of(unit) {
        return Number::from(weight / unit);
    }
    Number::from_f64(f64::from(weight) / f64::from(unit)).unwrap_or_else(|| Number::from(0))
}

/// Milliseconds to a thousandth.
fn millis(span: Nanos) -> f64 {
    (span.0 as f64 / 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_weights_are_in_configured_units() {
        assert_eq!(in_units(0).to_string(), "0");
        assert_eq!(in_units(5 * 256).to_string(), "5");
        assert_eq!(in_units(128).to_string(), "0.5");
    }
}
