//! Weights that follow what endpoints say.

use std::time::Duration;

use evenkeel_core::WeightLaw;

use crate::Mistake;
use crate::model::cluster::DynamicWeights;
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
    let _ = walk.word(&inner, "report");
    if let Some(interval) = walk.duration(&inner, "interval") {
        weights.interval = interval;
        if let Some(entry) = inner
            .get("interval")
            .filter(|_| !INTERVALS.contains(&interval))
        {
            let message = format!(
                "{} = {} is not from \"100ms\" to \"60s\"",
                entry.subject,
                walk.written(entry.value)
            );
            let help = "weights are for slow differences; leave it out for the default, \"1s\"";
            walk.error(entry.value.span(), Mistake::new(message, help));
        }
    }
    Some(weights)
}
