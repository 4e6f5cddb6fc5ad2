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
        hedge_after: span(walk, &section, "hedge_after"),
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

/// A setting that cannot do what it is for: its key, whether it is so, why, and what to do.
type Warning = (&'static str, bool, &'static str, &'static str);

fn warn(walk: &mut Walk<'_>, section: &Section<'_>, retry: &Retry, timeout: &Timeouts) {
    let all = about_causes(retry).into_iter();
    for (name, is_so, what, help) in all.chain(about_times(retry, timeout)) {
        if let Some(entry) = section.get(name).filter(|_| is_so) {
            let message = format!("{} {what}", entry.subject);
            walk.warning(entry.span, Mistake::new(message, help));
        }
    }
}

fn about_causes(retry: &Retry) -> [Warning; 5] {
    let tries_again = retry.attempts > 1;
    let nothing = retry.budget.ratio <= 0.0 && retry.budget.per_second == 0;
    [
        (
            "on",
            !tries_again,
            "does nothing: there is one try",
            "write attempts = 2, or retry = false alone",
        ),
        (
            "on",
            tries_again && retry.on == RetryOn::nothing(),
            "is empty: nothing is tried again",
            "write retry = false if that is meant",
        ),
        (
            "on",
            tries_again && retry.on.timeout && retry.per_try_timeout.is_none(),
            "has \"timeout\", but a try has no time limit of its own",
            "add per_try_timeout = \"2s\"",
        ),
        (
            "hedge_after",
            retry.hedge_after.is_some() && !tries_again,
            "does nothing: there is one try",
            "write attempts = 2",
        ),
        (
            "budget",
            tries_again && nothing,
            "allows no retry",
            "write retry = false if that is meant",
        ),
    ]
}

fn about_times(retry: &Retry, timeout: &Timeouts) -> [Warning; 3] {
    let (late, hedge) = (retry.per_try_timeout, retry.hedge_after);
    let is_late = late.is_some_and(|late| late >= timeout.response);
    [
        (
            "per_try_timeout",
            is_late,
            "is not below timeout.response: it plays no part",
            "make it shorter",
        ),
        (
            "per_try_timeout",
            late.is_some() && !is_late && !retry.on.timeout,
            "ends a try, but no other one follows",
            "add \"timeout\" to on",
        ),
        (
            "hedge_after",
            hedge >= Some(late.unwrap_or(timeout.response)),
            "is not below the time for a try: it plays no part",
            "make it shorter",
        ),
    ]
}
