//! The admin API, a file for each resource.

mod body;
mod calls;
mod clusters;
mod endpoint_view;
mod endpoints;
mod named;
mod openapi;
mod overrides;
mod reload;
mod strategy;
mod unique_json;

use axum::Router;
use evenkeel_gateway::Control;

use crate::reloader::Reloader;

/// Where the API begins.
pub(crate) const BASE: &str = "/api/v1";

/// The routes below [`BASE`], by the table of calls.
pub(crate) fn router(reloader: &Reloader) -> Router<Control> {
    calls::CALLS.iter().fold(Router::new(), |router, call| {
        router.route(call.path, (call.serve)(reloader))
    })
}
