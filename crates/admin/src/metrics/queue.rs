//! Who waits, how long, and who was turned away.

use std::fmt::Error;

use evenkeel_core::{Priority, ShedReason};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::collector::{counter, gauge, histogram};
use super::sample::Sample;

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    length(encoder, samples)?;
    waits(encoder, samples)?;
    sheds(encoder, samples)
}

fn length(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "Requests that wait for an endpoint";
    let mut family = encoder.encode_descriptor("queue_length", help, None, MetricType::Gauge)?;
    for sample in samples {
        let labels = [("cluster", &*sample.cluster)];
        gauge(&mut family, &labels, sample.queue_length)?;
    }
    Ok(())
}

fn waits(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let (name, help) = (
        "queue_wait_seconds",
        "How long those waited that got an endpoint",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for sample in samples {
        let labels = [("cluster", &*sample.cluster)];
        histogram(&mut family, &labels, &sample.queue_waits)?;
    }
    Ok(())
}

fn sheds(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "Requests that were turned away when all endpoints were full";
    let mut family = encoder.encode_descriptor("shed", help, None, MetricType::Counter)?;
    for sample in samples {
        for (priority, counts) in Priority::ALL.into_iter().zip(sample.sheds) {
            for (reason, count) in ShedReason::ALL.into_iter().zip(counts) {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("priority", priority.as_str()),
                    ("reason", reason.as_str()),
                ];
                counter(&mut family, &labels, count)?;
            }
        }
    }
    Ok(())
}
