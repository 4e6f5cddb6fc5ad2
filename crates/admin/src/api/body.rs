//! Bodies of requests.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName, ORIGIN};
use serde_json::Value;

use super::unique_json;
use crate::problem::Problem;

/// What `curl -d` and many a library declare when nobody told them what the body is.
const UNASKED: &str = "application/x-www-form-urlencoded";

/// What browsers send with each call that changes something, and pages cannot take away.
const BROWSER: [HeaderName; 2] = [ORIGIN, HeaderName::from_static("sec-fetch-site")];

/// A body that is JSON.
pub(super) struct JsonBody(pub(super) Value);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    /// Insists on the content type where a browser sends it: a page cannot send that one elsewhere
    /// without asking first, so it cannot change a gateway that listens on the same host.
    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !may_be_json(&request) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body is not declared as JSON: send `content-type: application/json`",
            ));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unread)?;
        unique_json::from_slice(&bytes).map(Self).map_err(|error| {
            if error.is_data() {
                return Problem::unprocessable(error);
            }
            Problem::new(
                StatusCode::BAD_REQUEST,
                format!("the body is not JSON: {error}"),
            )
        })
    }
}

/// A body that is text.
pub(super) struct TextBody(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for TextBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await.map_err(unread)?;
        String::from_utf8(bytes.into()).map(Self).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let detail = format!("the body is not text: it is no UTF-8 from byte {at} on");
            Problem::new(StatusCode::BAD_REQUEST, detail)
        })
    }
}

fn may_be_json(request: &Request) -> bool {
    let declared = request.headers().get(CONTENT_TYPE);
    let declared = declared.and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = declared.split(';').next().unwrap_or("").trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return true;
    }
    let undeclared = kind.is_empty() || kind.eq_ignore_ascii_case(UNASKED);
    undeclared
        && !BROWSER
            .iter()
            .any(|field| request.headers().contains_key(field))
}

fn unread(rejection: BytesRejection) -> Problem {
    let status = rejection.status();
    let detail = if status == StatusCode::PAYLOAD_TOO_LARGE {
        "the body is larger than 1 MiB".to_owned()
    } else {
        rejection.body_text().to_lowercase()
    };
    Problem::new(status, detail)
}
