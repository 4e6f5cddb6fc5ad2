//! Who may call: everybody, or who brings the token.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use evenkeel_config::Token;

use crate::page;
use crate::problem::Problem;

/// The token that calls must carry, if any.
#[derive(Clone)]
pub(crate) struct Guard(Option<Arc<Token>>);

impl Guard {
    pub(crate) fn new(token: Option<Token>) -> Self {
        Self(token.map(Arc::new))
    }

    fn admits(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(token) = &self.0 else {
            return meant_for_us(headers);
        };
        let refused = |why| Err(Problem::new(StatusCode::UNAUTHORIZED, why));
        let Some(given) = headers.get(AUTHORIZATION) else {
            return refused("this call needs a token: send `authorization: Bearer TOKEN`");
        };
        match bearer(given.as_bytes()) {
            Some(given) if same(given, token.expose().as_bytes()) => Ok(()),
            Some(_) => refused("the token is not the one in the gateway's token file"),
            None => refused("the authorization is not of the form `Bearer TOKEN`"),
        }
    }
}

/// Lets a call pass, or answers 401 or 403.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.admits(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            let mut response = problem.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                if page::is_asked_for(&request) {
                    response = page::index(request.headers().clone()).await;
                    *response.status_mut() = StatusCode::UNAUTHORIZED;
                }
                let challenge = HeaderValue::from_static("Bearer");
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

/// Without a token we listen on loopback, and are known there by address or as localhost. Any other
/// name was made to point here: by it, a page of that name could have a browser call us.
fn meant_for_us(headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default();
    if is_local(host) {
        return Ok(());
    }
    let detail =
        format!("without a token this API answers to an IP address or localhost, not to {host:?}");
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}

fn is_local(host: &str) -> bool {
    if host.parse::<SocketAddr>().is_ok() || host.parse::<IpAddr>().is_ok() {
        return true;
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    // An IPv6 address without a port stands in brackets too.
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost") || bare.is_some_and(|ip| ip.parse::<IpAddr>().is_ok())
}

/// The token of `Bearer TOKEN`; the name of the scheme has no case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// Compares in a time that tells nothing of where the two differ; the length is no secret.
fn same(given: &[u8], secret: &[u8]) -> bool {
    if given.len() != secret.len() {
        return false;
    }
    let pairs = given.iter().zip(secret);
    // Without the barrier the compiler could stop at the first difference.
    let differ = pairs.fold(0, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
    differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_same() {
        assert!(same(b"secret", b"secret"));
        for wrong in ["", "secre", "secrets", "Secret", "secreT"] {
            assert!(!same(wrong.as_bytes(), b"secret"), "{wrong}");
        }
    }

    #[test]
    fn local_names_are_addresses_and_localhost() {
        for ours in [
            "127.0.0.1:9900",
            "127.0.0.1",
            "[::1]:9900",
            "[::1]",
            "localhost:9900",
            "LOCALHOST",
        ] {
            assert!(is_local(ours), "{ours}");
        }
        for other in [
            "",
            "example.com",
            "127.0.0.1.example.com:9900",
            "localhost.example.com",
            "[x]",
        ] {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn the_scheme_has_no_case() {
        assert_eq!(bearer(b"Bearer a"), Some(&b"a"[..]));
        assert_eq!(bearer(b"bEARER  a "), Some(&b"a"[..]));
        for wrong in ["Basic a", "Bearer", "", "a", "Bearera"] {
            assert_eq!(bearer(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
