//! What operators changed over the file, as the API tells it.

use evenkeel_core::Admin;
use evenkeel_gateway::{EndpointOverride, Overrides, Presence};
use serde::Serialize;

use super::strategy::StrategyView;

/// One thing that was changed.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum OverrideView {
    Strategy {
        strategy: StrategyView,
    },
    Endpoint {
        endpoint: String,
        /// `added`, `removed`, or `changed`.
        change: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        weight: Option<u16>,
        #[serde(skip_serializing_if = "Option::is_none")]
        admin: Option<&'static str>,
    },
}

/// All that was changed of a cluster.
pub(super) fn views(overrides: &Overrides) -> Vec<OverrideView> {
    let strategy = overrides.strategy().map(|strategy| OverrideView::Strategy {
        strategy: StrategyView::of(&**strategy),
    });
    let endpoints = overrides.endpoints();
    let endpoints = endpoints.map(|(id, over)| OverrideView::Endpoint {
        endpoint: id.to_string(),
        change: change(over),
        weight: over.weight,
        admin: over.admin.map(Admin::as_str),
    });
    strategy.into_iter().chain(endpoints).collect()
}

fn change(over: &EndpointOverride) -> &'static str {
    match over.presence {
        Presence::Added(_) => "added",
        Presence::Removed => "removed",
        Presence::Configured => "changed",
    }
}
