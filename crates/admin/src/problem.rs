//! Errors as problem documents (RFC 9457).

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The most characters of a quote that an error repeats.
const QUOTE_MAX: usize = 80;

/// An error as a caller sees it.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    /// All mistakes of a text, if it is about one.
    diagnostics: Option<Value>,
}

impl Problem {
    /// A problem in words: names the thing, the value, and what would be right.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: shortened(&detail.into()),
            diagnostics: None,
        }
    }

    /// Adds the mistakes of a text, as an extension member.
    pub(crate) fn with_diagnostics(self, diagnostics: Value) -> Self {
        Self {
            diagnostics: Some(diagnostics),
            ..self
        }
    }

    /// What was asked for is understood and cannot be.
    pub(crate) fn unprocessable(detail: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail.to_string())
    }

    /// There is no such thing.
    pub(crate) fn not_found(detail: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail.to_string())
    }
}

impl IntoResponse for Problem {
    /// The document itself is written by [`finish`], which knows the path.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Writes the document of a problem on its way out.
pub(crate) async fn finish(request: Request, next: Next) -> Response {
    let instance = request.uri().path().to_owned();
    let mut response = next.run(request).await;
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    let mut document = json!({
        "type": "about:blank",
        "title": problem.status.canonical_reason().unwrap_or("Error"),
        "status": problem.status.as_u16(),
        "detail": problem.detail,
        "instance": instance,
    });
    if let Some(diagnostics) = problem.diagnostics {
        document["diagnostics"] = diagnostics;
    }
    let text = document.to_string();
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    *response.body_mut() = Body::from(text);
    response
}

/// Cuts what is quoted, where it is long: somebody sent it and knows it, and the line is for people.
fn shortened(detail: &str) -> String {
    let mut short = String::with_capacity(detail.len().min(1024));
    let (mut within, mut escaped, mut length) = (false, false, 0);
    for c in detail.chars() {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        // A quote, or a word that should have been one.
        length = match (within, c) {
            _ if ends => 0,
            (false, ' ') => 0,
            _ => length + 1,
        };
        within ^= ends;
        match length {
            0..=QUOTE_MAX => short.push(c),
            _ if length == QUOTE_MAX + 1 => short.push('…'),
            _ => {}
        }
    }
    short
}

/// For paths that lead nowhere.
pub(crate) async fn no_such_path(uri: Uri) -> Problem {
    Problem::not_found(format!("there is nothing at {}", uri.path()))
}

/// For methods that a path does not take.
pub(crate) async fn no_such_method(method: Method, uri: Uri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!(
            "{} does not take {method}, see the header {ALLOW}",
            uri.path()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_quotes_are_cut_and_short_ones_are_not() {
        let long = "x".repeat(100_000);
        let cut = format!("{}…", "x".repeat(QUOTE_MAX));
        for (detail, expected) in [
            (
                "weight \"a b\" is not whole".to_owned(),
                "weight \"a b\" is not whole".to_owned(),
            ),
            (
                format!("no {long:?} in \"web\""),
                format!("no \"{cut}\" in \"web\""),
            ),
            (
                format!("nothing at /{long} here"),
                format!("nothing at /{}… here", &"x".repeat(QUOTE_MAX - 1)),
            ),
            (
                format!("\"a\\\"{long}\""),
                format!("\"a\\\"{}…\"", "x".repeat(QUOTE_MAX - 3)),
            ),
        ] {
            assert_eq!(shortened(&detail), expected);
        }
    }
}
