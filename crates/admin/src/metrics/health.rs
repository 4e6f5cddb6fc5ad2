//! The families on the health of endpoints.

use std::fmt::Error;

use evenkeel_core::Standing;
use evenkeel_core::health::{Cause, Health};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::collector::{counter, gauge, histogram};
use super::sample::Sample;

pub(super) fn write(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    up(encoder, samples)?;
    transitions(encoder, samples)?;
    ejections(encoder, samples)?;
    probes(encoder, samples)
}

fn up(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "1 while an endpoint is fit to take requests by its health, its weight and operators; panic changes nothing";
    let mut family = encoder.encode_descriptor("endpoint_up", help, None, MetricType::Gauge)?;
    for sample in samples {
        for report in &sample.endpoints {
            let labels = [
                ("cluster", &*sample.cluster),
                ("endpoint", report.endpoint.id()),
            ];
            let up = report.standing == Standing::Ready;
            gauge(&mut family, &labels, u64::from(up))?;
        }
    }
    Ok(())
}

fn transitions(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let (name, help) = (
        "endpoint_transitions",
        "How often the health of an endpoint became what",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for sample in samples {
        for report in &sample.endpoints {
            for (health, count) in Health::ALL.iter().zip(report.transitions) {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("endpoint", report.endpoint.id()),
                    ("to", health.as_str()),
                ];
                counter(&mut family, &labels, count)?;
            }
        }
    }
    Ok(())
}

fn ejections(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "How often an endpoint was taken out for a while for what its requests came to";
    let mut family = encoder.encode_descriptor("ejections", help, None, MetricType::Counter)?;
    for sample in samples {
        for report in &sample.endpoints {
            for (cause, count) in Cause::OF_EJECTIONS.iter().zip(report.ejections) {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("endpoint", report.endpoint.id()),
                    ("cause", cause.as_str()),
                ];
                counter(&mut family, &labels, count)?;
            }
        }
    }
    Ok(())
}

fn probes(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let (name, help) = (
        "probe_duration_seconds",
        "How long checks took; one that found no answer took as long as it may",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for sample in samples {
        histogram(
            &mut family,
            &[("cluster", &*sample.cluster)],
            &sample.probes,
        )?;
    }
    Ok(())
}
