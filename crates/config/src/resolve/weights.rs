//! Weights that follow what endpoints say.

use std::time::Duration;

use evenkeel_core::WeightLaw;

use crate::Mistake;
use crate::model::cluster::{DynamicWeights, ReportSource};
use crate::model::health::{HealthCheck, Probe};
use crate::model::strategy_choice::StrategyChoice;
use crate::raw::descend::Sub;
use crate::raw::section::Section;
use crate::raw::walk::Walk;

/// How often weights may be worked out.
const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(60);

pub(super) fn dynamic_weights(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    strategy: &StrategyChoice,
    health: Option<&HealthCheck>,
) -> Option<DynamicWeights> {
    let Sub::Table(inner) = walk.table(section, "dynamic_weights") else {
        return None;
    };
    if !strategy.follows_weights()
        && let Some(entry) = section.get("dynamic_weights")
    {
        let name = strategy.name();
        let message = format!("{} does nothing under {name}", entry.subject);
        let help =
            "only strategies that choose by weight and not by key follow it, least_request for one";
        walk.warning(entry.span, Mistake::new(message, help));
    }
    let mut weights = DynamicWeights::default();
    let rules = &mut weights.rules;
    rules.law = match walk.word(&inner, "mode") {
        Some("orca") => WeightLaw::Orca,
        Some("latency") => WeightLaw::Latency,
        _ => WeightLaw::Utilization,
    };
    if let Some(blackout) = walk.duration(&inner, "blackout") {
        rules.blackout = blackout.into();
    }
    if let Some(expiry) = walk.duration(&inner, "expiry") {
        rules.expiry = expiry.into();
    }
    match walk.word(&inner, "report") {
        Some("health") => {
            weights.report = ReportSource::Health;
            check_bodies(walk, &inner, &weights, health);
        }
        Some("agent") => {
            check_agents(walk, &inner, weights.rules.law);
            weights.report = ReportSource::Agent;
            weights.rules.law = WeightLaw::Told;
        }
        _ => {}
    }
    if let Some(interval) = walk.duration(&inner, "interval") {
        weights.interval = interval;
        check_interval(walk, &inner, interval);
    }
    Some(weights)
}

fn check_interval(walk: &mut Walk<'_>, section: &Section<'_>, interval: Duration) {
    let Some(entry) = section.get("interval") else {
        return;
    };
    if !INTERVALS.contains(&interval) {
        let written = walk.written(entry.value);
        let message = format!(
            "{} = {written} is not from \"100ms\" to \"60s\"",
            entry.subject
        );
        let help = "weights are for slow differences; leave it out for the default, \"1s\"";
        walk.error(entry.value.span(), Mistake::new(message, help));
    }
}

/// An agent says a weight, and no law makes another one of it.
fn check_agents(walk: &mut Walk<'_>, section: &Section<'_>, law: WeightLaw) {
    if law == WeightLaw::Utilization {
        return;
    }
    if let Some(entry) = section.get("mode") {
        let message = format!(
            "{} = {} has no part in report = \"agent\"",
            entry.subject,
            walk.written(entry.value)
        );
        let help = "an agent says the weight itself, in percent; leave mode out, or report";
        walk.error(entry.value.span(), Mistake::new(message, help));
    }
}

/// Whether there are bodies, and the law can do with what they say.
fn check_bodies(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    weights: &DynamicWeights,
    health: Option<&HealthCheck>,
) {
    let Some(entry) = section.get("report") else {
        return;
    };
    let is_http = health.is_some_and(|health| matches!(health.probe, Probe::Http(_)));
    let (why, help) = if weights.rules.law != WeightLaw::Utilization {
        (
            "goes with mode = \"utilization\" only",
            "bodies say nothing of requests a second; leave mode out, or report",
        )
    } else if !is_http {
        (
            "needs checks with a body",
            "add a health table of type \"http\" to the cluster",
        )
    } else {
        return;
    };
    let message = format!("{} = \"health\" {why}", entry.subject);
    walk.error(entry.value.span(), Mistake::new(message, help));
}
