//! What orchestrators ask: is the process there, and may it be sent traffic.

use axum::extract::State;
use axum::http::StatusCode;
use evenkeel_gateway::Control;

/// 200: the process answers.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// 200 once every listener accepts, 503 before that and while draining.
pub(crate) async fn readyz(State(control): State<Control>) -> (StatusCode, &'static str) {
    if control.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}
