//! The dashboard: files that the build script has put in.
//!
//! They hold nothing of this gateway, so that everybody who reaches the address may have them. Where a token is
//! wanted, a browser cannot bring it when it comes for the page: it gets the page as the body of the 401, and the
//! page asks for the token and sends it with its calls.

use axum::extract::{Path, Request};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};

use crate::problem;

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Whether the dashboard is in this build, or only a page that says how to build it.
pub const HAS_DASHBOARD: bool = IS_BUILT;

/// Nothing from elsewhere, nothing inline, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the dashboard.
struct File {
    path: &'static str,
    kind: &'static str,
    tag: &'static str,
    plain: &'static [u8],
    packed: Option<&'static [u8]>,
}

/// `GET /`
pub(crate) async fn index(headers: HeaderMap) -> Response {
    // The build script writes it in either case.
    match FILES.iter().find(|file| file.path == "/") {
        Some(file) => file.answer(&headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Whether a request is that of a browser for the page, which shows whatever comes with a 401.
pub(crate) fn is_asked_for(request: &Request) -> bool {
    let is_html = names(request.headers(), &ACCEPT, "text/html");
    request.method() == Method::GET && request.uri().path() == "/" && is_html
}

/// `GET /assets/{name}`
pub(crate) async fn asset(Path(name): Path<String>, request: Request) -> Response {
    let wanted = |file: &&File| file.path.strip_prefix("/assets/") == Some(&name);
    match FILES.iter().find(wanted) {
        Some(file) => file.answer(request.headers()),
        None => problem::no_such_path(request.uri().clone())
            .await
            .into_response(),
    }
}

impl File {
    fn answer(&self, headers: &HeaderMap) -> Response {
        // The names of assets change with what is in them; the page's does not.
        let caching = match self.path {
            "/" => "no-cache",
            _ => "public, max-age=31536000, immutable",
        };
        let common = [
            (CACHE_CONTROL, caching),
            (CONTENT_SECURITY_POLICY, POLICY),
            (ETAG, self.tag),
            (REFERRER_POLICY, "no-referrer"),
            (VARY, "accept-encoding"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        if names(headers, &IF_NONE_MATCH, self.tag) {
            return (StatusCode::NOT_MODIFIED, common).into_response();
        }
        let kind = [(CONTENT_TYPE, self.kind)];
        match self.packed {
            Some(packed) if names(headers, &ACCEPT_ENCODING, "gzip") => {
                let encoding = [(CONTENT_ENCODING, "gzip")];
                (common, kind, encoding, packed).into_response()
            }
            _ => (common, kind, self.plain).into_response(),
        }
    }
}

/// Whether a list in a header has this member; one with parameters, such as `gzip;q=0`, is not it.
fn names(headers: &HeaderMap, header: &HeaderName, member: &str) -> bool {
    let values = headers.get_all(header).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|one| one.trim().trim_start_matches("W/") == member)
}
