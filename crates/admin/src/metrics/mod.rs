//! `/metrics`: what Prometheus scrapes.

mod collector;
mod health;
mod queue;
mod sample;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use evenkeel_gateway::Control;
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;

use crate::problem::Problem;
use collector::Collector;

/// What scrapers that prefer OpenMetrics ask for, and get.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /metrics`
pub(crate) async fn scrape(
    State(control): State<Control>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let open = wants_open_metrics(&headers);
    // With a thousand endpoints it is megabytes. Whoever else asks the control thread, and what it minds, need
    // not wait for that.
    let written = tokio::task::spawn_blocking(move || page(&control, open)).await;
    let page = written.ok().and_then(Result::ok).ok_or_else(|| {
        let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
        Problem::new(status, "the metrics cannot be written")
    })?;
    let kind = if open {
        OPEN_METRICS
    } else {
        prometheus_text::CONTENT_TYPE
    };
    Ok(([(CONTENT_TYPE, kind)], page).into_response())
}

fn page(control: &Control, open: bool) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("evenkeel");
    registry.register_collector(Box::new(Collector::new(control.clone())));
    let mut page = String::new();
    if open {
        text::encode(&mut page, &registry)?;
    } else {
        prometheus_text::encode(&mut page, &registry)?;
    }
    Ok(page)
}

fn wants_open_metrics(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("application/openmetrics-text"))
}
