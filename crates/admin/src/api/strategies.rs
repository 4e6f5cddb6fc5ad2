//! The strategies that a cluster may have.

use axum::Json;
use evenkeel_core::strategy::Descriptor;
use evenkeel_core::strategy::registry::STRATEGIES;
use serde::Serialize;

/// A strategy as forms need it.
#[derive(Serialize)]
pub(super) struct StrategyInfo {
    name: &'static str,
    summary: &'static str,
    advice: &'static str,
    /// Whether it chooses by the key of a request.
    by_key: bool,
    params: Vec<ParamInfo>,
}

/// A parameter of it; without a default it is absent.
#[derive(Serialize)]
struct ParamInfo {
    name: &'static str,
    values: String,
    default: Option<&'static str>,
    doc: &'static str,
}

/// `GET /strategies`
pub(super) async fn list() -> Json<Vec<StrategyInfo>> {
    Json(STRATEGIES.iter().map(|one| info(one)).collect())
}

fn info(strategy: &Descriptor) -> StrategyInfo {
    let params = strategy.params.iter().map(|param| ParamInfo {
        name: param.name,
        values: param.kind.to_string(),
        default: Some(param.default).filter(|default| !default.is_empty()),
        doc: param.doc,
    });
    StrategyInfo {
        name: strategy.name,
        summary: strategy.summary,
        advice: strategy.advice,
        by_key: strategy.traits.keyed,
        params: params.collect(),
    }
}
