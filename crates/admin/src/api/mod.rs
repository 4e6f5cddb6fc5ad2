//! The admin API, a file for each resource.

mod body;
mod clusters;
mod endpoint_view;
mod endpoints;
mod named;
mod strategy;

use axum::Router;
use axum::routing::{get, patch, put};
use evenkeel_gateway::Control;

/// The routes below `/api/v1`.
pub(crate) fn router() -> Router<Control> {
    Router::new()
        .route("/clusters", get(clusters::list))
        .route("/clusters/{cluster}", get(clusters::show))
        .route(
            "/clusters/{cluster}/endpoints",
            get(endpoints::list).post(endpoints::add),
        )
        .route(
            "/clusters/{cluster}/endpoints/{endpoint}",
            patch(endpoints::change).delete(endpoints::remove),
        )
        .route("/clusters/{cluster}/strategy", put(strategy::replace))
}
