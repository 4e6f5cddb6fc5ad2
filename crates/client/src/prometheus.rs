//! Metrics for `prometheus-client`.

use std::fmt::{self, Error};
use std::sync::{Arc, Mutex, Weak};

use evenkeel_core::unpoisoned;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::cluster::{Cluster, Inner};
use crate::connect::Connect;
use crate::stats::{EndpointStats, Histogram, LATENCY_BOUNDS, Stats};

/// Metrics of clusters, to be registered once; clusters that have ended are left out.
///
/// | metric | type | labels | what it counts |
/// |---|---|---|---|
/// | `evenkeel_client_calls_total` | counter | `cluster`, `endpoint`, `outcome` | tries by how they ended: `success`, `failure`, `too_much`, `cancelled` |
/// | `evenkeel_client_call_duration_seconds` | histogram | `cluster`, `endpoint` | from the choice to the head of the answer, of tries that were not cancelled |
/// | `evenkeel_client_in_flight` | gauge | `cluster`, `endpoint` | calls that an endpoint has not finished |
/// | `evenkeel_client_endpoint_up` | gauge | `cluster`, `endpoint` | 1 while it takes calls |
/// | `evenkeel_client_decisions_total` | counter | `cluster`, `strategy`, `outcome` | `picked`, `fallback`, `queued`, `none` |
/// | `evenkeel_client_retries_total` | counter | `cluster`, `outcome` | tries after the first: `made`, `hedge` of those, `over_budget` were not made |
/// | `evenkeel_client_queue_length` | gauge | `cluster` | calls that wait |
/// | `evenkeel_client_shed_total` | counter | `cluster` | calls that the queue turned away |
/// | `evenkeel_client_panic` | gauge | `cluster` | 1 while so few endpoints are healthy that all are used |
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::Endpoint, prometheus::Metrics};
/// use prometheus_client::registry::Registry;
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// let metrics = Metrics::default();
/// metrics.add(&cluster);
/// let mut registry = Registry::default();
/// registry.register_collector(Box::new(metrics.clone()));
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains(r#"evenkeel_client_in_flight{cluster="web",endpoint="a"} 0"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Metrics {
    clusters: Arc<Mutex<Vec<Box<dyn Figures>>>>,
}

/// Whoever has figures, unless they have ended.
trait Figures: Send + Sync {
    fn has_ended(&self) -> bool;

    fn figures(&self) -> Option<Stats>;
}

impl<C: Connect> Figures for Weak<Inner<C>> {
    fn has_ended(&self) -> bool {
        self.strong_count() == 0
    }

    fn figures(&self) -> Option<Stats> {
        let inner = self.upgrade()?;
        Some(Cluster { inner }.stats())
    }
}

impl Metrics {
    /// Tells of this cluster too. Its name should be its own.
    pub fn add<C: Connect>(&self, cluster: &Cluster<C>) {
        let figures = Arc::downgrade(&cluster.inner);
        let mut clusters = unpoisoned(self.clusters.lock());
        clusters.retain(|one| !one.has_ended());
        clusters.push(Box::new(figures));
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut clusters = unpoisoned(self.clusters.lock());
        clusters.retain(|one| !one.has_ended());
        let samples: Vec<Stats> = clusters.iter().filter_map(|one| one.figures()).collect();
        drop(clusters);
        calls(&mut encoder, &samples)?;
        durations(&mut encoder, &samples)?;
        let in_flight = |endpoint: &EndpointStats| i64::from(endpoint.in_flight);
        per_endpoint(
            &mut encoder,
            &samples,
            "in_flight",
            "Calls that an endpoint has not finished",
            in_flight,
        )?;
        let up = |endpoint: &EndpointStats| {
            i64::from(endpoint.standing == evenkeel_core::Standing::Ready)
        };
        per_endpoint(
            &mut encoder,
            &samples,
            "endpoint_up",
            "1 while an endpoint takes calls",
            up,
        )?;
        decisions(&mut encoder, &samples)?;
        retries(&mut encoder, &samples)?;
        let waiting = |stats: &Stats| stats.waiting as i64;
        per_cluster(
            &mut encoder,
            &samples,
            "queue_length",
            "Calls that wait",
            waiting,
        )?;
        let panic = |stats: &Stats| i64::from(stats.panic);
        let help = "1 while so few endpoints are healthy that all are used";
        per_cluster(&mut encoder, &samples, "panic", help, panic)?;
        shed(&mut encoder, &samples)
    }
}

fn counter(
    metric: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    count: u64,
) -> Result<(), Error> {
    metric
        .encode_family(labels)?
        .encode_counter::<NoLabelSet, _, u64>(&count, None)
}

fn calls(encoder: &mut DescriptorEncoder<'_>, samples: &[Stats]) -> Result<(), Error> {
    let help = "Tries by how they ended";
    let mut metric =
        encoder.encode_descriptor("evenkeel_client_calls", help, None, MetricType::Counter)?;
    for stats in samples {
        for endpoint in &stats.endpoints {
            let calls = &endpoint.calls;
            for (outcome, count) in [
                ("success", calls.successes),
                ("failure", calls.failures),
                ("too_much", calls.too_much),
                ("cancelled", calls.cancelled),
            ] {
                let labels = [
                    ("cluster", &*stats.cluster),
                    ("endpoint", endpoint.endpoint.id()),
                    ("outcome", outcome),
                ];
                counter(&mut metric, &labels, count)?;
            }
        }
    }
    Ok(())
}

fn durations(encoder: &mut DescriptorEncoder<'_>, samples: &[Stats]) -> Result<(), Error> {
    let (name, help) = (
        "evenkeel_client_call_duration_seconds",
        "To the head of the answer",
    );
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for stats in samples {
        for endpoint in &stats.endpoints {
            let labels = [
                ("cluster", &*stats.cluster),
                ("endpoint", endpoint.endpoint.id()),
            ];
            let Histogram { buckets, sum } = &endpoint.calls.latency;
            let bounds = LATENCY_BOUNDS.iter().map(|bound| bound.0 as f64 / 1e9);
            let bounds = bounds.chain([f64::MAX]);
            let buckets: Vec<(f64, u64)> = bounds.zip(buckets.iter().copied()).collect();
            let count = endpoint.calls.latency.count();
            let mut family = metric.encode_family(&labels)?;
            family.encode_histogram::<NoLabelSet>(sum.0 as f64 / 1e9, count, &buckets, None)?;
        }
    }
    Ok(())
}

fn per_endpoint(
    encoder: &mut DescriptorEncoder<'_>,
    samples: &[Stats],
    name: &str,
    help: &str,
    value: impl Fn(&EndpointStats) -> i64,
) -> Result<(), Error> {
    let name = format!("evenkeel_client_{name}");
    let mut metric = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
    for stats in samples {
        for endpoint in &stats.endpoints {
            let labels = [
                ("cluster", &*stats.cluster),
                ("endpoint", endpoint.endpoint.id()),
            ];
            metric
                .encode_family(&labels)?
                .encode_gauge(&value(endpoint))?;
        }
    }
    Ok(())
}

fn per_cluster(
    encoder: &mut DescriptorEncoder<'_>,
    samples: &[Stats],
    name: &str,
    help: &str,
    value: impl Fn(&Stats) -> i64,
) -> Result<(), Error> {
    let name = format!("evenkeel_client_{name}");
    let mut metric = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
    for stats in samples {
        let labels = [("cluster", &*stats.cluster)];
        metric.encode_family(&labels)?.encode_gauge(&value(stats))?;
    }
    Ok(())
}

fn decisions(encoder: &mut DescriptorEncoder<'_>, samples: &[Stats]) -> Result<(), Error> {
    let help = "Decisions by how they ended";
    let mut metric =
        encoder.encode_descriptor("evenkeel_client_decisions", help, None, MetricType::Counter)?;
    for stats in samples {
        for (outcome, count) in [
            ("picked", stats.picked),
            ("fallback", stats.fallback),
            ("queued", stats.queued),
            ("none", stats.nobody),
        ] {
            let labels = [
                ("cluster", &*stats.cluster),
                ("strategy", stats.strategy),
                ("outcome", outcome),
            ];
            counter(&mut metric, &labels, count)?;
        }
    }
    Ok(())
}

fn retries(encoder: &mut DescriptorEncoder<'_>, samples: &[Stats]) -> Result<(), Error> {
    let help = "Tries after the first";
    let mut metric =
        encoder.encode_descriptor("evenkeel_client_retries", help, None, MetricType::Counter)?;
    for stats in samples {
        for (outcome, count) in [
            ("made", stats.retries),
            ("hedge", stats.hedges),
            ("over_budget", stats.over_budget),
        ] {
            counter(
                &mut metric,
                &[("cluster", &*stats.cluster), ("outcome", outcome)],
                count,
            )?;
        }
    }
    Ok(())
}

fn shed(encoder: &mut DescriptorEncoder<'_>, samples: &[Stats]) -> Result<(), Error> {
    let help = "Calls that the queue turned away";
    let mut metric =
        encoder.encode_descriptor("evenkeel_client_shed", help, None, MetricType::Counter)?;
    for stats in samples {
        counter(&mut metric, &[("cluster", &*stats.cluster)], stats.shed)?;
    }
    Ok(())
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Endpoint;

    use super::*;
    use crate::Settings;

    #[test]
    fn clusters_that_have_ended_are_forgotten() {
        let metrics = Metrics::default();
        let kept = || unpoisoned(metrics.clusters.lock()).len();
        let cluster =
            |name: &str| Cluster::new(Settings::new(name), [], |_: &Endpoint| ()).expect("unique");
        let stays = cluster("stays");
        for _ in 0..50 {
            metrics.add(&cluster("ends"));
        }
        metrics.add(&stays);
        let mut registry = prometheus_client::registry::Registry::default();
        registry.register_collector(Box::new(metrics.clone()));
        let mut text = String::new();
        // The thread that looks after a cluster may hold it for a moment longer.
        for _ in 0..4000 {
            prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
            if kept() == 1 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("{} are kept of one that is there", kept());
    }
}
