//! Sums what the workers counted, and writes it family by family.
//!
//! Workers count each for themselves, so that no request waits for a cache line; the sum is made
//! here, when somebody asks.

mod shadows;

use std::fmt::Error;

use evenkeel_core::{FULL_WEIGHT, Nanos};
use evenkeel_gateway::{
    BUCKETS, CodeClass, Control, DECISION_BUCKETS, Histogram, Task, Totals, TurnedAway,
};
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;

use super::health;
use super::queue;
use super::sample::Sample;

/// The outcomes of decisions.
const OUTCOMES: [&str; 4] = ["picked", "fallback", "queued", "none"];

/// How tries end that are not the first ones.
const RETRIES: [&str; 3] = ["success", "failure", "over_budget"];

/// The logs whose lines may be dropped.
const LOGS: [&str; 2] = ["access", "decision"];

/// Writes the metrics of a gateway.
#[derive(Debug)]
pub(super) struct Collector {
    control: Control,
}

impl Collector {
    pub(super) fn new(control: Control) -> Self {
        Self { control }
    }
}

impl prometheus_client::collector::Collector for Collector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let clusters = self.control.clusters();
        let samples: Vec<Sample> = clusters.iter().map(|cluster| Sample::of(cluster)).collect();
        requests(&mut encoder, &samples, self.control.unrouted())?;
        durations(&mut encoder, &samples)?;
        in_flight(&mut encoder, &samples)?;
        weights(&mut encoder, &samples)?;
        load_reports(&mut encoder, &samples)?;
        table_checksums(&mut encoder, &samples)?;
        health::write(&mut encoder, &samples)?;
        panic(&mut encoder, &samples)?;
        discovery(&mut encoder, &samples)?;
        fleet(&mut encoder, &self.control)?;
        shadows::encode(&mut encoder, &samples)?;
        decisions(&mut encoder, &samples)?;
        decision_times(&mut encoder, &samples)?;
        retries(&mut encoder, &samples)?;
        queue::encode(&mut encoder, &samples)?;
        upstream_connections(&mut encoder, &samples)?;
        connections(&mut encoder, &self.control)?;
        rejected(&mut encoder, &self.control)?;
        reloads(&mut encoder, &self.control)?;
        dropped(&mut encoder, &self.control)?;
        restarts(&mut encoder, &self.control)?;
        build(&mut encoder)
    }
}

/// The requests of each cluster, and of none: those that no route takes, and those that are redirected.
fn requests(
    encoder: &mut DescriptorEncoder<'_>,
    samples: &[Sample],
    unrouted: [u64; CodeClass::ALL.len()],
) -> Result<(), Error> {
    let help = "Requests by how they ended";
    let mut family = encoder.encode_descriptor("requests", help, None, MetricType::Counter)?;
    let of_clusters = samples.iter().flat_map(|sample| {
        let totals = sample.totals();
        totals.map(|(endpoint, totals)| (&*sample.cluster, endpoint, totals.codes))
    });
    for (cluster, endpoint, codes) in of_clusters.chain([("", "", unrouted)]) {
        for (class, count) in CodeClass::ALL.iter().zip(codes) {
            let labels = [
                ("cluster", cluster),
                ("endpoint", endpoint),
                ("code_class", class.as_str()),
            ];
            counter(&mut family, &labels, count)?;
        }
    }
    Ok(())
}

fn durations(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let (name, help) = (
        "request_duration_seconds",
        "From a request's head to the last byte of its answer",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for sample in samples {
        for (endpoint, totals) in sample.totals() {
            let labels = [("cluster", &*sample.cluster), ("endpoint", endpoint)];
            histogram(&mut family, &labels, &totals.durations)?;
        }
    }
    Ok(())
}

fn in_flight(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "Requests that an endpoint has not finished";
    let mut family = encoder.encode_descriptor("in_flight", help, None, MetricType::Gauge)?;
    for sample in samples {
        for report in &sample.endpoints {
            let labels = [
                ("cluster", &*sample.cluster),
                ("endpoint", report.endpoint.id()),
            ];
            gauge(&mut family, &labels, u64::from(report.in_flight))?;
        }
    }
    Ok(())
}

fn weights(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "Weight as configured, and as decisions use it; 0 takes no new requests";
    let mut family = encoder.encode_descriptor("endpoint_weight", help, None, MetricType::Gauge)?;
    for sample in samples {
        for report in &sample.endpoints {
            let configured = f64::from(report.endpoint.weight());
            let effective = f64::from(report.effective_weight) / f64::from(FULL_WEIGHT);
            for (kind, weight) in [("configured", configured), ("effective", effective)] {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("endpoint", report.endpoint.id()),
                    ("kind", kind),
                ];
                gauge(&mut family, &labels, weight)?;
            }
        }
    }
    Ok(())
}

fn load_reports(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "What endpoints said of their load";
    let mut family = encoder.encode_descriptor("load_reports", help, None, MetricType::Counter)?;
    for sample in samples {
        for report in &sample.endpoints {
            let Totals {
                reports,
                bad_reports,
                ..
            } = report.totals;
            for (result, count) in [("read", reports), ("bad", bad_reports)] {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("endpoint", report.endpoint.id()),
                    ("result", result),
                ];
                counter(&mut family, &labels, count)?;
            }
        }
    }
    Ok(())
}

fn table_checksums(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    // A family without a series is none.
    if samples.iter().all(|sample| sample.checksum.is_none()) {
        return Ok(());
    }
    let help = "Where keys go, as a number: gateways with the same one agree";
    let mut family = encoder.encode_descriptor("table_checksum", help, None, MetricType::Gauge)?;
    for sample in samples {
        if let Some(checksum) = sample.checksum {
            let labels = [("cluster", &*sample.cluster)];
            gauge(&mut family, &labels, in_a_double(checksum))?;
        }
    }
    Ok(())
}

fn discovery(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    // A family without a series is none.
    if samples.iter().all(|sample| sample.discovery_age.is_none()) {
        return Ok(());
    }
    let help = "Since the source of endpoints last confirmed their list";
    let name = "discovery_age_seconds";
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for sample in samples {
        if let Some(age) = sample.discovery_age {
            let labels = [("cluster", &*sample.cluster)];
            gauge(&mut family, &labels, age.0 as f64 / 1e9)?;
        }
    }
    let help = "Whole lists that were others than the changes had led to that the source told of";
    let name = "discovery_disagreements";
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for sample in samples
        .iter()
        .filter(|sample| sample.discovery_age.is_some())
    {
        let labels = [("cluster", &*sample.cluster)];
        counter(&mut family, &labels, sample.disagreements)?;
    }
    Ok(())
}

const NO_LABELS: [(&str, &str); 0] = [];

fn fleet(encoder: &mut DescriptorEncoder<'_>, control: &Control) -> Result<(), Error> {
    let Some(is_heard) = control.fleet_is_heard() else {
        return Ok(());
    };
    let help = "Whether all is heard that gateways share, 1, or etcd is lost for a part of it, 0";
    let mut family = encoder.encode_descriptor("fleet_up", help, None, MetricType::Gauge)?;
    gauge(&mut family, &NO_LABELS, f64::from(u8::from(is_heard)))?;
    let Some(members) = control.fleet_members() else {
        return Ok(());
    };
    let help = "Gateways that belong to the fleet, as this one knows it";
    let mut family = encoder.encode_descriptor("fleet_members", help, None, MetricType::Gauge)?;
    gauge(&mut family, &NO_LABELS, members.len() as f64)
}

/// Folded to what a double holds exactly: scrapers know no other numbers.
fn in_a_double(checksum: u64) -> u64 {
    const BITS: u32 = 52;
    (checksum >> BITS ^ checksum) & ((1 << BITS) - 1)
}

fn panic(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "1 while so few endpoints are healthy that all of them are used";
    let mut family = encoder.encode_descriptor("panic", help, None, MetricType::Gauge)?;
    for sample in samples {
        let labels = [("cluster", &*sample.cluster)];
        gauge(&mut family, &labels, u64::from(sample.panic))?;
    }
    Ok(())
}

fn decisions(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "Decisions by how they ended";
    let mut family = encoder.encode_descriptor("decisions", help, None, MetricType::Counter)?;
    for sample in samples {
        for (outcome, count) in OUTCOMES.into_iter().zip(sample.decisions) {
            let labels = [
                ("cluster", &*sample.cluster),
                ("strategy", sample.strategy),
                ("outcome", outcome),
            ];
            counter(&mut family, &labels, count)?;
        }
    }
    Ok(())
}

fn decision_times(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let (name, help) = (
        "decision_duration_seconds",
        "How long decisions took; one in 64 is timed",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for sample in samples {
        let labels = [("cluster", &*sample.cluster), ("strategy", sample.strategy)];
        let times = &sample.decision_times;
        write_buckets(
            &mut family,
            &labels,
            &DECISION_BUCKETS,
            &times.cells,
            times.sum,
        )?;
    }
    Ok(())
}

fn retries(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), Error> {
    let help = "Tries that were not the first, and those that the budget had nothing left for";
    let mut family = encoder.encode_descriptor("retries", help, None, MetricType::Counter)?;
    for sample in samples {
        for (outcome, count) in RETRIES.into_iter().zip(sample.retries) {
            let labels = [("cluster", &*sample.cluster), ("outcome", outcome)];
            counter(&mut family, &labels, count)?;
        }
    }
    Ok(())
}

fn upstream_connections(
    encoder: &mut DescriptorEncoder<'_>,
    samples: &[Sample],
) -> Result<(), Error> {
    let (name, help) = ("upstream_connections", "Connections to endpoints");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for sample in samples {
        for report in &sample.endpoints {
            let totals = &report.totals;
            for (state, count) in [
                ("idle", totals.idle_connections),
                ("active", totals.active_connections),
            ] {
                let labels = [
                    ("cluster", &*sample.cluster),
                    ("endpoint", report.endpoint.id()),
                    ("state", state),
                ];
                gauge(&mut family, &labels, count)?;
            }
        }
    }
    Ok(())
}

fn connections(encoder: &mut DescriptorEncoder<'_>, control: &Control) -> Result<(), Error> {
    let help = "Connections of clients";
    let mut family = encoder.encode_descriptor("connections", help, None, MetricType::Gauge)?;
    for listener in control.listeners() {
        let labels = [("listener", listener.name())];
        gauge(&mut family, &labels, listener.connections() as u64)?;
    }
    Ok(())
}

fn rejected(encoder: &mut DescriptorEncoder<'_>, control: &Control) -> Result<(), Error> {
    let (name, help) = (
        "connections_rejected",
        "Connections of clients that were not let in",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for listener in control.listeners() {
        for reason in TurnedAway::ALL {
            let labels = [("listener", listener.name()), ("reason", reason.as_str())];
            counter(&mut family, &labels, listener.turned_away(reason))?;
        }
    }
    Ok(())
}

fn reloads(encoder: &mut DescriptorEncoder<'_>, control: &Control) -> Result<(), Error> {
    let (name, help) = (
        "config_reloads",
        "Reloads of the configuration by how they ended",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (result, count) in ["success", "failure"].into_iter().zip(control.reloads()) {
        counter(&mut family, &[("result", result)], count)?;
    }
    Ok(())
}

fn dropped(encoder: &mut DescriptorEncoder<'_>, control: &Control) -> Result<(), Error> {
    let help =
        "Lines of a log that could not be written in time, or at all, and spans that nobody took";
    let mut family = encoder.encode_descriptor("log_dropped", help, None, MetricType::Counter)?;
    let logs = control.logs();
    for name in LOGS {
        let log = logs.iter().find(|log| log.name() == name);
        let count = log.map_or(0, |log| log.dropped());
        counter(&mut family, &[("log", name)], count)?;
    }
    counter(&mut family, &[("log", "trace")], control.spans_dropped())?;
    Ok(())
}

fn restarts(encoder: &mut DescriptorEncoder<'_>, control: &Control) -> Result<(), Error> {
    let help = "How often a task of the gateway met a mistake of ours and began again";
    let mut family = encoder.encode_descriptor("task_restarts", help, None, MetricType::Counter)?;
    for task in Task::ALL {
        counter(
            &mut family,
            &[("task", task.as_str())],
            control.restarts(task),
        )?;
    }
    Ok(())
}

fn build(encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help = "The version of this gateway";
    encoder
        .encode_descriptor("build", help, None, MetricType::Info)?
        .encode_info(&[("version", env!("CARGO_PKG_VERSION"))])
}

pub(super) fn counter(
    family: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    count: u64,
) -> Result<(), Error> {
    family
        .encode_family(labels)?
        .encode_counter::<NoLabelSet, _, u64>(&count, None)
}

pub(super) fn gauge(
    family: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    value: impl EncodeGaugeValue,
) -> Result<(), Error> {
    family.encode_family(labels)?.encode_gauge(&value)
}

pub(super) fn histogram(
    family: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    durations: &Histogram,
) -> Result<(), Error> {
    write_buckets(
        family,
        labels,
        &BUCKETS,
        &durations.buckets(),
        durations.sum(),
    )
}

fn write_buckets(
    family: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    bounds: &[Nanos],
    cells: &[u64],
    sum: Nanos,
) -> Result<(), Error> {
    let bounds = bounds.iter().copied().map(seconds).chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(cells.iter().copied()).collect();
    let count = cells.iter().sum();
    family
        .encode_family(labels)?
        .encode_histogram::<NoLabelSet>(seconds(sum), count, &buckets, None)
}

/// Division keeps bounds such as 0.0001 short in print.
fn seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}
