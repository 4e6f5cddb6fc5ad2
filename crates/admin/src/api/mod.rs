//! The admin API, a file for each resource.

mod body;
mod calls;
mod clusters;
mod decisions;
mod discovery;
mod endpoint_view;
mod endpoints;
mod events;
mod keys;
mod named;
mod openapi;
mod overrides;
mod query;
mod reload;
mod shadow;
mod sse;
mod stats;
mod strategies;
mod strategy;
mod unique_json;

use std::sync::Arc;

use axum::Router;
use evenkeel_gateway::Control;

use crate::reloader::Reloader;
use sse::Places;
use stats::StatsFeed;

/// Where the API begins.
pub(crate) const BASE: &str = "/api/v1";

/// What calls need beside the hold on the gateway.
pub(crate) struct Desk {
    reloader: Reloader,
    places: Places,
    stats: Arc<StatsFeed>,
}

impl Desk {
    pub(crate) fn new(reloader: Reloader) -> Self {
        Self {
            places: Places::default(),
            stats: Arc::new(StatsFeed::new(reloader.control().clone())),
            reloader,
        }
    }

    fn control(&self) -> Control {
        self.reloader.control().clone()
    }
}

/// The routes below [`BASE`], by the table of calls.
pub(crate) fn router(desk: &Desk) -> Router<Control> {
    calls::CALLS.iter().fold(Router::new(), |router, call| {
        router.route(call.path, (call.serve)(desk))
    })
}
