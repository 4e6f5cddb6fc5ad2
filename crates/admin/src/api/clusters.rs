//! Clusters as a whole.

use axum::Json;
use axum::extract::State;
use evenkeel_gateway::{Cluster, CodeClass, Control, EndpointReport, Totals};
use serde::Serialize;
use serde_json::{Map, Value};

use super::discovery::DiscoveryView;
use super::endpoint_view::EndpointView;
use super::named::NamedCluster;
use super::overrides::{self, OverrideView};
use super::strategy::StrategyView;

/// A cluster as the API tells it.
#[derive(Serialize)]
pub(super) struct ClusterView {
    name: String,
    strategy: StrategyView,
    endpoints: Vec<EndpointView>,
    panic: bool,
    totals: TotalsView,
    /// Where more endpoints come from; none: nowhere.
    discovery: Option<DiscoveryView>,
    /// What was changed by the API over the file.
    overrides: Vec<OverrideView>,
}

/// Sums over the endpoints of a cluster, and the answers that the gateway made itself.
#[derive(Serialize)]
struct TotalsView {
    requests: u64,
    /// Those among the requests that no endpoint answered.
    gateway_answers: u64,
    failures: u64,
    in_flight: u64,
    codes: Map<String, Value>,
}

/// `GET /clusters`
pub(super) async fn list(State(control): State<Control>) -> Json<Vec<ClusterView>> {
    let clusters = control.clusters();
    Json(clusters.iter().map(|cluster| view(cluster)).collect())
}

/// `GET /clusters/{cluster}`
pub(super) async fn show(NamedCluster(cluster): NamedCluster) -> Json<ClusterView> {
    Json(view(&cluster))
}

pub(super) fn view(cluster: &Cluster) -> ClusterView {
    let endpoints = cluster.endpoints();
    ClusterView {
        name: cluster.name().to_owned(),
        strategy: StrategyView::of(&*cluster.strategy()),
        panic: cluster.is_in_panic(),
        totals: totals(&endpoints, &cluster.own_totals()),
        endpoints: endpoints.iter().map(EndpointView::from).collect(),
        discovery: cluster.discovery().map(DiscoveryView::from),
        overrides: overrides::views(&cluster.overrides()),
    }
}

fn totals(endpoints: &[EndpointReport], own: &Totals) -> TotalsView {
    let all = || {
        endpoints
            .iter()
            .map(|endpoint| &endpoint.totals)
            .chain([own])
    };
    let of_class = |at: usize| all().map(|totals| totals.codes[at]).sum::<u64>();
    let codes = CodeClass::ALL.iter().enumerate();
    TotalsView {
        requests: all().map(Totals::requests).sum(),
        gateway_answers: own.requests(),
        failures: all().map(|totals| totals.failures).sum(),
        in_flight: endpoints
            .iter()
            .map(|endpoint| u64::from(endpoint.in_flight))
            .sum(),
        codes: codes
            .map(|(at, class)| (class.as_str().to_owned(), Value::from(of_class(at))))
            .collect(),
    }
}
