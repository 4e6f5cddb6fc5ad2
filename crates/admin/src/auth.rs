//! Who may call: everybody, or who brings the token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use evenkeel_config::Token;

use crate::problem::Problem;

/// The token that calls must carry, if any.
#[derive(Clone)]
pub(crate) struct Guard(Option<Arc<Token>>);

impl Guard {
    pub(crate) fn new(token: Option<Token>) -> Self {
        Self(token.map(Arc::new))
    }

    fn admits(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let Some(token) = &self.0 else {
            return Ok(());
        };
        let Some(given) = headers.get(AUTHORIZATION) else {
            return Err("this call needs a token: send `authorization: Bearer TOKEN`");
        };
        match bearer(given.as_bytes()) {
            Some(given) if same(given, token.expose().as_bytes()) => Ok(()),
            Some(_) => Err("the token is not the one in the gateway's token file"),
            None => Err("the authorization is not of the form `Bearer TOKEN`"),
        }
    }
}

/// Lets a call pass, or answers 401.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.admits(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(why) => {
            let mut response = Problem::new(StatusCode::UNAUTHORIZED, why).into_response();
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            response
        }
    }
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
    fn the_scheme_has_no_case() {
        assert_eq!(bearer(b"Bearer a"), Some(&b"a"[..]));
        assert_eq!(bearer(b"bEARER  a "), Some(&b"a"[..]));
        for wrong in ["Basic a", "Bearer", "", "a", "Bearera"] {
            assert_eq!(bearer(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
