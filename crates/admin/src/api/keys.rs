//! Where keys live, under a strategy that chooses by key.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use serde::Serialize;

use super::named::NamedCluster;
use crate::problem::Problem;

/// Where keys live, as the API tells it.
#[derive(Serialize)]
pub(super) struct KeyMapView {
    strategy: &'static str,
    endpoints: Vec<KeyShareView>,
    places: Vec<(u32, u32)>,
}

/// The keys of an endpoint, as shares of one.
#[derive(Serialize)]
struct KeyShareView {
    id: String,
    weight: u16,
    home: f64,
    now: f64,
}

/// `GET /clusters/{cluster}/keys`
pub(super) async fn show(NamedCluster(cluster): NamedCluster) -> Result<Json<KeyMapView>, Problem> {
    // Where each look-up asks all of thousands of endpoints, the control thread and what it minds need not wait.
    let asked = Arc::clone(&cluster);
    let told = tokio::task::spawn_blocking(move || asked.key_map()).await;
    let map = told.map_err(|_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Problem::new(status, "the keys cannot be looked up")
    })?;
    let map = map.ok_or_else(|| {
        let strategy = cluster.strategy().descriptor().name;
        Problem::unprocessable(match cluster.strategy().hasher() {
            None => format!("{strategy} does not choose by key"),
            Some(_) => format!("the cluster {:?} has no endpoints", cluster.name()),
        })
    })?;
    let endpoints = map.endpoints.into_iter().map(|share| KeyShareView {
        id: share.id.to_string(),
        weight: share.weight,
        home: share.home,
        now: share.now,
    });
    Ok(Json(KeyMapView {
        strategy: map.strategy,
        endpoints: endpoints.collect(),
        places: map.places,
    }))
}
