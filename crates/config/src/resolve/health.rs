//! Checks, ejection and warm-up.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::Nanos;
use evenkeel_core::health::{ActivePolicy, Initial, OutlierPolicy, SlowStart};
use toml::de::DeValue;

use super::fields;
use crate::Mistake;
use crate::model::health::{HealthCheck, HttpProbe, Pattern, Probe};
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::field::{check_probe_field, is_token};
use crate::value::statuses::parse_statuses;

pub(super) fn health(walk: &mut Walk<'_>, cluster: &Section<'_>) -> Option<HealthCheck> {
    let Sub::Table(section) = walk.table(cluster, "health") else {
        return None;
    };
    let http = http(walk, &section);
    let service = text(walk, &section, "service");
    let probe = match walk.word(&section, "type") {
        Some("tcp") => Probe::Tcp,
        Some("grpc") => Probe::Grpc(service.unwrap_or_default()),
        _ => Probe::Http(http),
    };
    let check = HealthCheck {
        probe,
        policy: policy(walk, &section),
    };
    warn_unused(walk, &section, &check);
    Some(check)
}

fn http(walk: &mut Walk<'_>, section: &Section<'_>) -> HttpProbe {
    let default = HttpProbe::default();
    let mut probe = HttpProbe {
        method: token(walk, section, "method").unwrap_or(default.method),
        path: target(walk, section, "path").unwrap_or(default.path),
        headers: fields::fields(walk, section, "headers", check_probe_field),
        ..HttpProbe::default()
    };
    if let Sub::Table(expect) = walk.table(section, "expect") {
        if let Some(entry) = expect.get("status") {
            let statuses = walk.parsed(&entry, parse_statuses);
            probe.statuses = statuses.unwrap_or_default();
        }
        probe.body = text(walk, &expect, "body").filter(|text| !text.is_empty());
        probe.pattern = expect.get("body_regex").and_then(|entry| {
            walk.parsed(&entry, |text| {
                text.parse::<Pattern>().map_err(|why| {
                    let help = "write it in single quotes, as in 'ready: (yes|1)'";
                    Mistake::new(format!("it is not a regular expression: {why}"), help)
                })
            })
        });
    }
    probe
}

fn policy(walk: &mut Walk<'_>, section: &Section<'_>) -> ActivePolicy {
    let default = ActivePolicy::default();
    let mut span = |name, default: Nanos| walk.duration(section, name).map_or(default, Nanos::from);
    let mut policy = ActivePolicy {
        interval: span("interval", default.interval),
        fast_interval: span("fast_interval", default.fast_interval),
        timeout: span("timeout", default.timeout),
        hold_down: span("hold_down", default.hold_down),
        ..default
    };
    policy.rise = walk.integer(section, "rise").unwrap_or(default.rise);
    policy.fall = walk.integer(section, "fall").unwrap_or(default.fall);
    policy.hold_down_first = walk.flag(section, "hold_down_first").unwrap_or_default();
    if walk.word(section, "initial") == Some("probe_first") {
        policy.initial = Initial::ProbeFirst;
    }
    policy
}

pub(super) fn outlier(walk: &mut Walk<'_>, cluster: &Section<'_>) -> Option<OutlierPolicy> {
    let default = OutlierPolicy::default();
    let section = match walk.table(cluster, "outlier") {
        Sub::Table(section) => section,
        Sub::Off => return None,
        Sub::Absent => return Some(default),
    };
    let mut span =
        |name, default: Nanos| walk.duration(&section, name).map_or(default, Nanos::from);
    let mut policy = OutlierPolicy {
        interval: span("interval", default.interval),
        base_ejection: span("base_ejection", default.base_ejection),
        max_ejection: span("max_ejection", default.max_ejection),
        ..default
    };
    let mut whole = |name, default| walk.integer(&section, name).unwrap_or(default);
    policy.consecutive_failures = whole("consecutive_failures", default.consecutive_failures);
    policy.min_requests = whole("min_requests", default.min_requests);
    let mut share = |name, default| walk.share(&section, name).unwrap_or(default);
    policy.failure_rate = share("failure_rate", default.failure_rate);
    policy.max_ejected = share("max_ejected", default.max_ejected);
    policy.latency_factor = factor(walk, &section, "latency_factor");
    Some(policy)
}

/// A factor that may be turned off.
pub(super) fn factor(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<f64> {
    let entry = section.get(name)?;
    match entry.value.get_ref() {
        DeValue::Boolean(false) => None,
        _ => walk.number(section, name),
    }
}

pub(super) fn slow_start(walk: &mut Walk<'_>, cluster: &Section<'_>) -> Option<SlowStart> {
    let default = SlowStart::default();
    let section = match walk.table(cluster, "slow_start") {
        Sub::Table(section) => section,
        Sub::Off => return None,
        Sub::Absent => return Some(default),
    };
    let mut span =
        |name, default: Nanos| walk.duration(&section, name).map_or(default, Nanos::from);
    let (window, hold) = (span("window", default.window), span("hold", default.hold));
    Some(SlowStart {
        window,
        hold,
        min: walk.share(&section, "min").unwrap_or(default.min),
        aggression: walk
            .number(&section, "aggression")
            .unwrap_or(default.aggression),
    })
}

fn text(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<Arc<str>> {
    let entry = section.get(name)?;
    walk.string(&entry).map(|text| Arc::from(&*text))
}

fn token(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<Arc<str>> {
    let entry = section.get(name)?;
    walk.parsed(&entry, |text| {
        if is_token(text) && text != "CONNECT" {
            return Ok(text.into());
        }
        let shown: String = text.chars().take(40).collect();
        let message = format!("{shown:?} is not a method that a check can have");
        Err(Mistake::new(message, "write \"GET\", \"HEAD\" or \"POST\""))
    })
}

fn target(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<Arc<str>> {
    let entry = section.get(name)?;
    walk.parsed(&entry, |text| {
        let visible = text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if text.starts_with('/') && visible && text.len() <= 4096 {
            return Ok(text.into());
        }
        let shown: String = text.chars().take(40).collect();
        let message = format!("{shown:?} is not a path");
        Err(Mistake::new(
            message,
            "it begins with \"/\", like \"/healthz\", and holds no spaces",
        ))
    })
}

/// Warns of keys that the kind of check does not look at.
fn warn_unused(walk: &mut Walk<'_>, section: &Section<'_>, check: &HealthCheck) {
    let (kind, unused): (_, &[&str]) = match check.probe {
        Probe::Tcp => ("tcp", &["path", "method", "headers", "expect", "service"]),
        Probe::Grpc(_) => ("grpc", &["path", "method", "headers", "expect"]),
        Probe::Http(_) => ("http", &["service"]),
    };
    for name in unused {
        if let Some(entry) = section.get(name) {
            let message = format!("{} plays no part in checks of type {kind:?}", entry.subject);
            walk.warning(entry.span, Mistake::new(message, "leave it out"));
        }
    }
}

/// A span of the core as configuration has it.
pub(super) fn duration(span: Nanos) -> Duration {
    Duration::from_nanos(span.0)
}
