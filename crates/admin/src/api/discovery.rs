//! Where endpoints come from beside the configuration, and the lists that are held.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use evenkeel_gateway::{Control, DiscoveryReport};
use serde::Serialize;

use super::clusters::{ClusterView, view};
use super::named::NamedCluster;
use crate::problem::Problem;

/// A source as the API tells it.
#[derive(Serialize)]
pub(super) struct DiscoveryView {
    r#type: &'static str,
    source: String,
    endpoints: usize,
    age_seconds: f64,
    stored: bool,
    error: Option<String>,
    held: Option<HeldView>,
    skipped: Vec<String>,
}

/// A list that is held since it loses too much.
#[derive(Serialize)]
struct HeldView {
    endpoints: usize,
    lost: usize,
    of: usize,
}

impl From<DiscoveryReport> for DiscoveryView {
    fn from(report: DiscoveryReport) -> Self {
        Self {
            r#type: report.kind,
            source: report.source,
            endpoints: report.endpoints,
            age_seconds: report.age.0 as f64 / 1e9,
            stored: report.is_stored,
            error: report.error,
            held: report.held.map(|(loss, endpoints)| HeldView {
                endpoints,
                lost: loss.lost,
                of: loss.of,
            }),
            skipped: report.faults,
        }
    }
}

/// `POST /clusters/{cluster}/discovery/accept`
pub(super) async fn accept(
    State(control): State<Control>,
    NamedCluster(cluster): NamedCluster,
) -> Result<Json<ClusterView>, Problem> {
    if let Err(nothing) = control.accept_list(&cluster).await {
        let detail = format!("{nothing} in cluster {:?}", cluster.name());
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    tracing::info!(cluster = cluster.name(), "held list accepted");
    Ok(Json(view(&cluster)))
}
