//! The strategy of a cluster.

use axum::Json;
use axum::extract::State;
use evenkeel_config::strategy_from_json;
use evenkeel_core::strategy::{Strategy, Value as Param};
use evenkeel_gateway::Control;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::body::JsonBody;
use super::named::NamedCluster;
use crate::problem::Problem;

/// A strategy with the parameters in force, in the form in which it is set.
#[derive(Serialize)]
pub(super) struct StrategyView {
    name: &'static str,
    #[serde(flatten)]
    params: Map<String, Value>,
}

impl StrategyView {
    pub(super) fn of(strategy: &dyn Strategy) -> Self {
        let params = strategy.params().into_iter();
        Self {
            name: strategy.descriptor().name,
            params: params
                .map(|(name, value)| (name.to_owned(), in_json(&value)))
                .collect(),
        }
    }
}

/// `GET /clusters/{cluster}/strategy`
pub(super) async fn show(NamedCluster(cluster): NamedCluster) -> Json<StrategyView> {
    Json(StrategyView::of(&*cluster.strategy()))
}

/// `PUT /clusters/{cluster}/strategy`
pub(super) async fn replace(
    State(control): State<Control>,
    NamedCluster(cluster): NamedCluster,
    JsonBody(body): JsonBody,
) -> Result<Json<StrategyView>, Problem> {
    let choice = strategy_from_json(&body).map_err(Problem::unprocessable)?;
    control.set_strategy(&cluster, choice.build()).await;
    tracing::info!(
        cluster = cluster.name(),
        strategy = choice.name(),
        "strategy changed"
    );
    Ok(Json(StrategyView::of(&*choice.build())))
}

/// A parameter as it would be sent.
fn in_json(value: &Param) -> Value {
    match value {
        Param::Bool(flag) => json!(flag),
        Param::Duration(span) => json!(format!("{}ms", span.as_millis())),
        Param::Integer(number) => json!(number),
        Param::Number(number) => json!(number),
        Param::Text(text) => json!(text),
    }
}
