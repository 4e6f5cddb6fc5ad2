//! Strategies that are evaluated beside the live one; no series without them.

use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::{Sample, counter, gauge};

/// The words for what a shadow chose beside a live choice.
const OUTCOMES: [&str; 3] = ["agreed", "differed", "none"];

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    if samples.iter().all(|sample| sample.shadows.is_empty()) {
        return Ok(());
    }
    decisions(encoder, samples)?;
    choices(encoder, samples)?;
    let name = "shadow_distribution_difference";
    let help = "The share of requests that a shadow would send elsewhere, over endpoints";
    figure(encoder, samples, name, help, |report| {
        report.distribution_difference()
    })?;
    let name = "shadow_latency_difference_seconds";
    let help = "How much longer a request would take under a shadow, as its endpoints answer now";
    figure(encoder, samples, name, help, |report| {
        report.latency_difference()
    })
}

fn decisions(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "Decisions of a shadow beside those of the live strategy";
    let kind = MetricType::Counter;
    let mut family = encoder.encode_descriptor("shadow_decisions", help, None, kind)?;
    for sample in samples {
        for report in &sample.shadows {
            for (outcome, count) in OUTCOMES.into_iter().zip(report.decisions) {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("strategy", &*report.strategy),
                    ("outcome", outcome),
                ];
                counter(&mut family, &labels, count)?;
            }
        }
    }
    Ok(())
}

fn choices(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "How often a shadow would have chosen an endpoint";
    let kind = MetricType::Counter;
    let mut family = encoder.encode_descriptor("shadow_choices", help, None, kind)?;
    for sample in samples {
        for report in &sample.shadows {
            for share in &report.endpoints {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("strategy", &*report.strategy),
                    ("endpoint", &*share.id),
                ];
                counter(&mut family, &labels, share.shadow)?;
            }
        }
    }
    Ok(())
}

fn figure(
    encoder: &mut DescriptorEncoder<'_>,
    samples: &[Sample],
    name: &str,
    help: &str,
    value: impl Fn(&evenkeel_gateway::ShadowReport) -> f64,
) -> Result<(), Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for sample in samples {
        for report in &sample.shadows {
            let labels = [
                ("cluster", &*sample.cluster),
                ("strategy", &*report.strategy),
            ];
            gauge(&mut family, &labels, value(report))?;
        }
    }
    Ok(())
}
