//! An endpoint as the API tells it.

use std::collections::BTreeMap;

use evenkeel_core::health::Health;
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
    due: f64,
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
            due: (report.due * 1e4).round() / 1e4,
            zone: endpoint.zone().map(str::to_owned),
            tier: endpoint.tier(),
            labels: labels
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            capacity: report.capacity.or(endpoint.capacity()),
            admin: report.admin.as_str(),
            health: report.health.as_str(),
            state: state(report),
            reason: whole_reason(report),
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

/// Whether it takes requests, in a word.
fn state(report: &EndpointReport) -> &'static str {
    match report.standing {
        Standing::Ready if report.saturated => "saturated",
        Standing::Ready if report.warmth.is_some() => "slow_start",
        Standing::Damped => Standing::Unhealthy.as_str(),
        standing => standing.as_str(),
    }
}

/// Why it stands as it does, what will end it, and whether it is used all the same.
fn whole_reason(report: &EndpointReport) -> String {
    let reason = reason(report);
    match report.used_in_panic {
        true => format!("{reason}; takes requests all the same, since its tier is in panic"),
        false => reason,
    }
}

/// Why it stands as it does, and what will end it.
fn reason(report: &EndpointReport) -> String {
    let until = report.until.map(rfc3339);
    match (report.standing, report.warmth) {
        (Standing::Ready, _) if report.saturated => why_saturated(report),
        (Standing::Ready, Some(warmth)) => {
            let full = u32::from(FULL_WEIGHT);
            // A tenth is 25 of 256, and not 9 %.
            let percent = (u32::from(warmth) * 100 + full / 2) / full;
            let until = until.unwrap_or_default();
            format!("warms up: has {percent} % of its weight, and the whole at {until}")
        }
        (Standing::Unhealthy | Standing::Damped, _) => match until {
            Some(until) => format!("{}; not before {until}", report.reason),
            None => report.reason.clone(),
        },
        (Standing::Ejected, _) => match until {
            Some(until) => format!("{}, until {until}", report.reason),
            None => report.reason.clone(),
        },
        (Standing::Ready, None) if report.health == Health::Suspect => {
            format!("takes requests; {}", report.reason)
        }
        _ => by_operators(report).to_owned(),
    }
}

fn why_saturated(report: &EndpointReport) -> String {
    let in_flight = report.in_flight;
    match (report.capacity, report.levels) {
        (Some(most), Some(levels)) if in_flight < most => format!(
            "{in_flight} of {most} requests in flight: left alone while others are less busy, until it \
             is down to {}",
            levels.resume
        ),
        (Some(most), _) => format!("all of its {most} slots are taken, until a request ends"),
        (None, _) => "takes no more requests for the moment".to_owned(),
    }
}

/// The same as far as operators and weights go.
fn by_operators(report: &EndpointReport) -> &'static str {
    match (report.standing, report.admin) {
        (Standing::Ready, _) => "takes requests",
        (Standing::Disabled, Admin::Enabled | Admin::Draining) => {
            "its agent says maint: takes no requests until it says ready or up"
        }
        (Standing::Disabled, Admin::Disabled) => {
            "disabled by an operator, takes no requests until enabled or drained"
        }
        (Standing::Draining, Admin::Draining) => {
            "drained by an operator, takes no new requests until enabled"
        }
        (Standing::Draining, _) if report.wish.admin == Admin::Draining => {
            "its agent says drain: takes no new requests until it says ready or up"
        }
        (Standing::Draining, _) if report.wish.is_weightless => {
            "its agent says 0%: takes no new requests until it says more"
        }
        (Standing::Draining, _) => "weight 0, takes no new requests until it has a weight",
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
