//! Strategies that are evaluated beside the live one.

use axum::Json;
use evenkeel_gateway::ShadowReport;
use serde::Serialize;

use super::named::NamedCluster;

/// A shadow as the API tells it.
#[derive(Serialize)]
pub(super) struct ShadowView {
    strategy: String,
    decisions: u64,
    agreed: u64,
    nobody: u64,
    agreement: f64,
    distribution_difference: f64,
    latency_difference_ms: f64,
    endpoints: Vec<ShareView>,
    summary: String,
}

/// Which share of the requests an endpoint gets, and would get.
#[derive(Serialize)]
struct ShareView {
    id: String,
    live: u64,
    shadow: u64,
}

/// `GET /clusters/{cluster}/shadow`
pub(super) async fn list(NamedCluster(cluster): NamedCluster) -> Json<Vec<ShadowView>> {
    Json(cluster.shadows().iter().map(ShadowView::of).collect())
}

impl ShadowView {
    fn of(report: &ShadowReport) -> Self {
        let [agreed, _, nobody] = report.decisions;
        let endpoints = report.endpoints.iter().map(|share| ShareView {
            id: share.id.to_string(),
            live: share.live,
            shadow: share.shadow,
        });
        Self {
            strategy: report.strategy.to_string(),
            decisions: report.decisions.iter().sum(),
            agreed,
            nobody,
            agreement: report.agreement(),
            distribution_difference: report.distribution_difference(),
            latency_difference_ms: report.latency_difference() * 1e3,
            endpoints: endpoints.collect(),
            summary: report.summary(),
        }
    }
}
