//! What a dashboard draws, once a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use evenkeel_gateway::{
    Cluster, CodeClass, Control, EndpointReport, Histogram, Totals, rfc3339, time_of_day,
};
use serde::Serialize;
use serde_json::Number;
use tokio::sync::watch;
use tokio::time::Instant;

use super::endpoint_view::{EndpointView, LatencyView};
use super::sse::{Gone, Places, Stream};
use crate::problem::Problem;

/// How often figures are taken.
const EVERY: Duration = Duration::from_secs(1);

/// `GET /stats/stream`
pub(super) async fn stream(
    State((feed, places)): State<(Arc<StatsFeed>, Places)>,
) -> Result<Response, Problem> {
    let (stream, answer) = places.open()?;
    let figures = feed.subscribe();
    tokio::spawn(async move {
        // Its end is that nobody reads any more.
        let _ = run(stream, figures).await;
    });
    Ok(answer)
}

/// Who reads slowly misses some, and gets the newest.
async fn run(mut stream: Stream, mut figures: watch::Receiver<Arc<str>>) -> Result<(), Gone> {
    stream.beat().await?;
    while figures.changed().await.is_ok() {
        let text = Arc::clone(&figures.borrow_and_update());
        stream.event(None, &text).await?;
    }
    Ok(())
}

/// Takes figures while somebody reads them, once for all readers.
pub(super) struct StatsFeed {
    control: Control,
    figures: watch::Sender<Arc<str>>,
    runs: AtomicBool,
}

impl StatsFeed {
    pub(super) fn new(control: Control) -> Self {
        Self {
            control,
            figures: watch::Sender::new("".into()),
            runs: AtomicBool::new(false),
        }
    }

    fn subscribe(self: Arc<Self>) -> watch::Receiver<Arc<str>> {
        let receiver = self.figures.subscribe();
        if !self.runs.swap(true, Ordering::AcqRel) {
            tokio::spawn(self.run());
        }
        receiver
    }

    async fn run(self: Arc<Self>) {
        let mut before = Counts::of(&self.control);
        loop {
            tokio::time::sleep(EVERY).await;
            if self.figures.receiver_count() == 0 {
                self.runs.store(false, Ordering::Release);
                // Somebody may have come before it was said that this one ends.
                let is_needed = self.figures.receiver_count() > 0;
                if !is_needed || self.runs.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
            let now = Counts::of(&self.control);
            let stats = Stats::between(&self.control, &before, &now);
            // Plain data can be written.
            let text = serde_json::to_string(&stats).unwrap_or_default();
            self.figures.send_replace(text.into());
            before = now;
        }
    }
}

/// What was counted up to a moment.
struct Counts {
    at: Instant,
    clusters: BTreeMap<Arc<str>, ClusterCounts>,
}

struct ClusterCounts {
    endpoints: Vec<EndpointReport>,
    own: Totals,
    retries: u64,
}

impl Counts {
    fn of(control: &Control) -> Self {
        let clusters = control.clusters();
        let counts = |cluster: &Arc<Cluster>| {
            let [success, failure, _] = cluster.retries();
            let counts = ClusterCounts {
                endpoints: cluster.endpoints(),
                own: cluster.own_totals(),
                retries: success + failure,
            };
            (cluster.shared_name(), counts)
        };
        Self {
            at: Instant::now(),
            clusters: clusters.iter().map(counts).collect(),
        }
    }
}

/// What was counted between two moments.
#[derive(Default)]
struct Part {
    requests: u64,
    errors: u64,
    failures: u64,
    durations: Histogram,
}

impl Part {
    fn between(before: Option<&Totals>, now: &Totals) -> Self {
        let none = Totals::default();
        // A series that began anew counts from 0.
        let before = before.filter(|before| before.requests() <= now.requests());
        let before = before.unwrap_or(&none);
        let errors = |totals: &Totals| totals.codes[CodeClass::ServerError as usize];
        Self {
            requests: now.requests() - before.requests(),
            errors: errors(now).saturating_sub(errors(before)),
            failures: now.failures.saturating_sub(before.failures),
            durations: now.durations.since(&before.durations),
        }
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.failures += other.failures;
        self.durations.add(&other.durations);
    }
}

#[derive(Serialize)]
struct Stats {
    time: String,
    /// What the figures are over.
    seconds: f64,
    clusters: Vec<ClusterStats>,
    listeners: Vec<ListenerStats>,
}

#[derive(Serialize)]
struct ClusterStats {
    name: String,
    strategy: &'static str,
    panic: bool,
    requests_per_second: f64,
    errors_per_second: f64,
    retries_per_second: f64,
    in_flight: u64,
    latency_ms: LatencyView,
    endpoints: Vec<EndpointStats>,
}

#[derive(Serialize)]
struct EndpointStats {
    id: String,
    state: &'static str,
    health: &'static str,
    weight: u16,
    effective_weight: Number,
    /// Of the requests that endpoints of the cluster answered.
    share: f64,
    requests_per_second: f64,
    errors_per_second: f64,
    failures_per_second: f64,
    in_flight: u32,
    latency_ms: LatencyView,
}

#[derive(Serialize)]
struct ListenerStats {
    name: String,
    connections: usize,
}

impl Stats {
    fn between(control: &Control, before: &Counts, now: &Counts) -> Self {
        let seconds = (now.at - before.at).as_secs_f64();
        let clusters = control.clusters();
        let clusters = clusters.iter().filter_map(|cluster| {
            let counts = now.clusters.get(cluster.name())?;
            let before = before.clusters.get(cluster.name());
            Some(cluster_stats(cluster, before, counts, seconds))
        });
        let listeners = control.listeners();
        Self {
            time: rfc3339(time_of_day()),
            seconds: thousandths(seconds),
            clusters: clusters.collect(),
            listeners: listeners
                .iter()
                .map(|listener| ListenerStats {
                    name: listener.name().to_owned(),
                    connections: listener.connections(),
                })
                .collect(),
        }
    }
}

fn cluster_stats(
    cluster: &Cluster,
    before: Option<&ClusterCounts>,
    now: &ClusterCounts,
    seconds: f64,
) -> ClusterStats {
    let known: BTreeMap<&str, &Totals> = before
        .into_iter()
        .flat_map(|before| &before.endpoints)
        .map(|report| (report.endpoint.id(), &report.totals))
        .collect();
    let parts = now.endpoints.iter().map(|report| {
        let before = known.get(report.endpoint.id()).copied();
        Part::between(before, &report.totals)
    });
    let parts: Vec<Part> = parts.collect();
    let mut sum = Part::default();
    parts.iter().for_each(|part| sum.add(part));
    let answered = sum.requests;
    let endpoints = now.endpoints.iter().zip(&parts);
    let endpoints = endpoints.map(|(report, part)| endpoint_stats(report, part, answered, seconds));
    let endpoints = endpoints.collect();
    sum.add(&Part::between(before.map(|before| &before.own), &now.own));
    let retries = before.map_or(0, |before| now.retries.saturating_sub(before.retries));
    let in_flight = now
        .endpoints
        .iter()
        .map(|report| u64::from(report.in_flight));
    ClusterStats {
        name: cluster.name().to_owned(),
        strategy: cluster.strategy().descriptor().name,
        panic: cluster.is_in_panic(),
        requests_per_second: rate(sum.requests, seconds),
        errors_per_second: rate(sum.errors, seconds),
        retries_per_second: rate(retries, seconds),
        in_flight: in_flight.sum(),
        latency_ms: LatencyView::of(&sum.durations),
        endpoints,
    }
}

fn endpoint_stats(
    report: &EndpointReport,
    part: &Part,
    answered: u64,
    seconds: f64,
) -> EndpointStats {
    let view = EndpointView::from(report);
    let share = part.requests as f64 / answered.max(1) as f64;
    EndpointStats {
        share: thousandths(share),
        requests_per_second: rate(part.requests, seconds),
        errors_per_second: rate(part.errors, seconds),
        failures_per_second: rate(part.failures, seconds),
        latency_ms: LatencyView::of(&part.durations),
        id: view.id,
        state: view.state,
        health: view.health,
        weight: view.weight,
        effective_weight: view.effective_weight,
        in_flight: view.in_flight,
    }
}

fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        thousandths(count as f64 / seconds)
    } else {
        0.0
    }
}

fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
