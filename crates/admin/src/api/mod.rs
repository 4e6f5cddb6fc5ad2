//! The admin API, a file for each resource.

mod body;
mod clusters;
mod endpoint_view;
mod endpoints;
mod named;
mod overrides;
mod reload;
mod strategy;

use axum::Router;
use axum::routing::{get, patch, post, put};
use evenkeel_gateway::Control;

use crate::reloader::Reloader;

/// The routes below `/api/v1`.
pub(crate) fn router(reloader: Reloader) -> Router<Control> {
    let file = Router::new()
        .route("/reload", post(reload::reload))
        .route("/check", post(reload::check))
        .with_state(reloader);
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
        .merge(file)
}
