//! The calls by which the dashboard of the demo makes a backend slow, sick, full or cold.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, put};
use serde_json::{Value, json};

use super::fleet::Fleet;
use crate::backend::{MOODS, Mood};

/// The backends by name.
type Moods = Arc<[(&'static str, Arc<Mood>)]>;

/// `GET /api/v1/demo` and `PUT /api/v1/demo/{backend}/{mood}`
pub(super) fn calls(fleet: &Fleet) -> axum::Router {
    let backends = fleet.backends().iter();
    let moods: Moods = backends.map(|one| (one.name, one.mood())).collect();
    axum::Router::new()
        .route("/api/v1/demo", get(list))
        .route("/api/v1/demo/{backend}/{mood}", put(set))
        .with_state(moods)
}

async fn list(State(moods): State<Moods>) -> Response {
    let backends = moods.iter();
    let told: Vec<Value> = backends
        .map(|(name, mood)| json!({ "id": name, "mood": mood.name() }))
        .collect();
    in_json(&json!({ "moods": MOODS, "backends": told }))
}

async fn set(
    State(moods): State<Moods>,
    Path((backend, mood)): Path<(String, String)>,
) -> Response {
    let found = moods.iter().find(|(name, _)| *name == backend);
    if found.is_some_and(|(_, one)| one.set(&mood)) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let detail = format!(
        "no backend {backend:?}, or no mood {mood:?}; moods are {}",
        MOODS.join(", ")
    );
    (StatusCode::NOT_FOUND, in_json(&json!({ "detail": detail }))).into_response()
}

fn in_json(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
