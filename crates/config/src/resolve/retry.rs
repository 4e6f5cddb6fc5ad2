//! What is tried again.

use std::time::Duration;

use evenkeel_core::{Nanos, RetryPolicy};
use toml::de::DeValue;

use crate::Mistake;
use crate::model::cluster::Timeouts;
use crate::model::retry::{Retry, RetryOn};
use crate::raw::descend::Sub;
use crate::raw::kind::Kind;
use crate::raw::section::Section;
use crate::raw::walk::Walk;
use crate::value::retry_cause::{RetryCause, parse_retry_cause};

/// The shortest window of a budget.
const WINDOW_MIN: Duration = Duration::from_millis(100);

pub(super) fn retry(walk: &mut Walk<'_>, cluster: &Section<'_>, timeout: &Timeouts) -> Retry {
    let default = Retry::default();
    let section = match walk.table(cluster, "retry") {
        Sub::Table(section) => section,
        Sub::Off => {
            return Retry {
                attempts: 1,
                ..default
            };
        }
        Sub::Absent => return default,
    };
    let attempts = walk.integer(&section, "attempts");
    let retry = Retry {
        attempts: attempts
            .and_then(|n| u8::try_from(n).ok())
            .unwrap_or(default.attempts),
        on: causes(walk, &section).unwrap_or(default.on),
        body: walk
            .size(&section, "body")
            .flatten()
            .unwrap_or(default.body),
        budget: budget(walk, &section),
        per_try_timeout: span(walk, &section, "per_try_timeout"),
    };
    warn(walk, &section, &retry, timeout);
    retry
}

fn causes(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<RetryOn> {
    let entry = section.get("on")?;
    let DeValue::Array(list) = entry.value.get_ref() else {
        walk.wrong(&entry);
        return None;
    };
    let mut on = RetryOn::nothing();
    for value in list {
        let element = entry.element(value, Kind::RetryCause);
        match walk.parsed(&element, parse_retry_cause) {
            Some(RetryCause::Connect) => on.connect = true,
            Some(RetryCause::Reset) => on.reset = true,
            Some(RetryCause::Status(statuses)) => on.statuses.push(statuses),
            Some(RetryCause::Timeout) => on.timeout = true,
            None => {}
        }
    }
    Some(on)
}

/// A duration that may be turned off.
fn span(walk: &mut Walk<'_>, section: &Section<'_>, name: &str) -> Option<Duration> {
    let entry = section.get(name)?;
    match entry.value.get_ref() {
        DeValue::Boolean(false) => None,
        _ => walk.duration(section, name),
    }
}

fn budget(walk: &mut Walk<'_>, section: &Section<'_>) -> RetryPolicy {
    let default = RetryPolicy::default();
    let Sub::Table(section) = walk.table(section, "budget") else {
        return default;
    };
    RetryPolicy {
        ratio: walk.share(&section, "ratio").unwrap_or(default.ratio),
        per_second: walk
            .integer(&section, "per_second")
            .unwrap_or(default.per_second),
        window: window(walk, &section).unwrap_or(default.window),
    }
}

fn window(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Nanos> {
    let entry = section.get("window")?;
    let window = walk.duration(section, "window")?;
    if window < WINDOW_MIN {
        let message = "it is shorter than 100 ms, and counts next to nothing";
        walk.mistaken(&entry, Mistake::new(message, "write \"10s\""));
        return None;
    }
    Some(Nanos::from(window))
}

/// Warns of settings that cannot do what they are for.
fn warn(walk: &mut Walk<'_>, section: &Section<'_>, retry: &Retry, timeout: &Timeouts) {
    let budget = &retry.budget;
    let late = retry.per_try_timeout;
    let warnings = [
        (
            "on",
            retry.attempts == 1,
            "does nothing: there is one try".to_owned(),
            "write attempts = 2, or retry = false alone",
        ),
        (
            "on",
            retry.attempts > 1 && retry.on == RetryOn::nothing(),
            "is empty: nothing is tried again".to_owned(),
            "write retry = false if that is meant",
        ),
        (
            "on",
            retry.attempts > 1 && retry.on.timeout && late.is_none(),
            "has \"timeout\", but a try has no time limit of its own".to_owned(),
            "add per_try_timeout = \"2s\"",
        ),
        (
            "per_try_timeout",
            late.is_some_and(|late| late >= timeout.response),
            format!(
                "is not below timeout.response, {:?}: it plays no part",
                timeout.response
            ),
            "make it shorter",
        ),
        (
            "per_try_timeout",
            late.is_some_and(|late| late < timeout.response) && !retry.on.timeout,
            "ends a try, but no other one follows".to_owned(),
            "add \"timeout\" to on",
        ),
        (
            "budget",
            retry.attempts > 1 && budget.ratio <= 0.0 && budget.per_second == 0,
            "allows no retry".to_owned(),
            "write retry = false if that is meant",
        ),
    ];
    for (name, is_so, what, help) in warnings {
        if let Some(entry) = section.get(name).filter(|_| is_so) {
            let message = format!("{} {what}", entry.subject);
            walk.warning(entry.span, Mistake::new(message, help));
        }
    }
}
