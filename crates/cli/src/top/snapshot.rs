//! All of it once, for programs.

use std::time::Duration;

use evenkeel_admin::path_segment;
use hyper::Method;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::client::Client;
use crate::exit::Failure;

/// How long figures of one second may take.
const FIGURES_MAX: Duration = Duration::from_secs(30);

/// What is drawn, as one document. `clusters` are those that are meant, as the API tells them.
pub(crate) async fn snapshot(client: &Client, clusters: Vec<Value>) -> Result<Value, Failure> {
    let get = async |path: &str| client.call(Method::GET, path, None).await;
    let mut stream = client.events("/stats/stream").await?;
    let figures = timeout(FIGURES_MAX, stream.next()).await;
    let figures = figures
        .map_err(|_| Failure::runtime("the gateway sent no figures"))??
        .ok_or_else(|| Failure::runtime("the gateway ended before it sent figures"))?;
    let figures: Value = serde_json::from_str(&figures)
        .map_err(|error| Failure::runtime(format!("the gateway sent no figures: {error}")))?;
    let mut shadows = Map::new();
    let mut decisions = Vec::new();
    for cluster in &clusters {
        let name = cluster.get("name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let segment = path_segment(name);
        let shadow = get(&format!("/clusters/{segment}/shadow")).await?;
        shadows.insert(name.to_owned(), shadow);
        // They may be off, which is no reason to tell nothing.
        if let Ok(Value::Array(kept)) = get(&format!("/decisions?cluster={segment}")).await {
            decisions.extend(kept);
        }
    }
    Ok(json!({
        "time": figures.get("time"),
        "clusters": clusters,
        "figures": figures,
        "shadows": shadows,
        "decisions": decisions,
        "events": get("/events?follow=false").await?,
    }))
}
