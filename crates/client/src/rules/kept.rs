//! What is kept of a request of HTTP until it is certain that it need not be sent again.

use std::cell::RefCell;
use std::fmt;

use http::header::{HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Extensions, HeaderMap, Method, Request, Uri, Version};

/// Holds the target and the fields of most requests.
const ROOM: usize = 256;

/// All of a request of HTTP, to make it again.
///
/// A copy of a request is a table of fields, each with shares of its own, and is for nothing in all calls but the few
/// that are repeated. So their text is kept, in one piece, and only read again when it is needed.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{BoxError, Http, KeptRequest, Rules};
/// use http::{Request, Response};
///
/// type Known = dyn Fn(&Http, &Request<String>) -> Option<KeptRequest<String>>;
/// let keep: &Known = &|rules, request| Rules::<_, Response<String>, BoxError>::keep(rules, request);
/// let request = Request::get("/users/7").body(String::new())?;
/// assert!(keep(&Http::new(), &request).is_some());
/// let request = Request::post("/users").body(String::new())?;
/// assert!(keep(&Http::new(), &request).is_none(), "it is not idempotent");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeptRequest<B> {
    method: Method,
    version: Version,
    text: Text,
    extensions: Extensions,
    body: B,
}

impl<B> KeptRequest<B> {
    pub(super) fn new(request: &Request<B>, body: B) -> Self {
        let mut text = Text::new();
        let uri = request.uri();
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().map_or("", Authority::as_str);
        let path = uri.path_and_query().map_or("", PathAndQuery::as_str);
        for part in [scheme, authority, path] {
            text.put(part.as_bytes(), false);
        }
        for (name, value) in request.headers() {
            text.put(name.as_str().as_bytes(), false);
            text.put(value.as_bytes(), value.is_sensitive());
        }
        Self {
            method: request.method().clone(),
            version: request.version(),
            text,
            extensions: request.extensions().clone(),
            body,
        }
    }

    pub(super) fn body(&self) -> &B {
        &self.body
    }

    /// The request, with a body like the one that it had.
    pub(super) fn again(&self, body: B) -> Option<Request<B>> {
        let mut rest = &*self.text.0;
        let mut parts = Uri::default().into_parts();
        parts.scheme = parsed::<Scheme>(take(&mut rest)?.0)?;
        parts.authority = parsed::<Authority>(take(&mut rest)?.0)?;
        parts.path_and_query = parsed::<PathAndQuery>(take(&mut rest)?.0)?;
        let mut headers = HeaderMap::new();
        while !rest.is_empty() {
            let (name, _) = take(&mut rest)?;
            let (value, is_sensitive) = take(&mut rest)?;
            let mut value = HeaderValue::from_bytes(value).ok()?;
            value.set_sensitive(is_sensitive);
            headers.append(HeaderName::from_bytes(name).ok()?, value);
        }
        let mut request = Request::new(body);
        *request.uri_mut() = Uri::from_parts(parts).ok()?;
        *request.method_mut() = self.method.clone();
        *request.version_mut() = self.version;
        *request.headers_mut() = headers;
        *request.extensions_mut() = self.extensions.clone();
        Some(request)
    }
}

/// Parts of a request, in room that is used again: nearly every call needs some, for as long as it takes.
struct Text(Vec<u8>);

/// How much room a thread has ready for calls that begin, at most.
const SPARE_MAX: usize = 32;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl Text {
    fn new() -> Self {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        let spare = spare.ok().flatten();
        Self(spare.unwrap_or_else(|| Vec::with_capacity(ROOM)))
    }

    /// Appends a part with its length, and a mark in the lowest bit of that.
    #[inline]
    fn put(&mut self, part: &[u8], mark: bool) {
        let length = (part.len() as u64) << 1 | u64::from(mark);
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(part);
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let mut room = std::mem::take(&mut self.0);
        // What had to grow is not kept for those that are small.
        if room.capacity() != ROOM {
            return;
        }
        room.clear();
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.push(room);
            }
        });
    }
}

/// Takes what [`Text::put`] has appended.
fn take<'t>(text: &mut &'t [u8]) -> Option<(&'t [u8], bool)> {
    let (length, rest) = text.split_first_chunk()?;
    let length = u64::from_le_bytes(*length);
    let (part, rest) = rest.split_at_checked((length >> 1) as usize)?;
    *text = rest;
    Some((part, length & 1 == 1))
}

/// A part of a target; nothing when it has none.
fn parsed<T: for<'t> TryFrom<&'t [u8]>>(text: &[u8]) -> Option<Option<T>> {
    match text.is_empty() {
        true => Some(None),
        false => T::try_from(text).ok().map(Some),
    }
}

impl<B> fmt::Debug for KeptRequest<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not its fields: some are nobody's business.
        f.debug_struct("KeptRequest")
            .field("method", &self.method)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(request: &Request<u8>) -> Request<u8> {
        let kept = KeptRequest::new(request, *request.body());
        kept.again(*kept.body()).expect("it was a request before")
    }

    #[test]
    fn a_request_is_made_again_as_it_was() {
        let targets = [
            "/",
            "*",
            "/a?b=c",
            "http://users:80/a%20b?",
            "https://x/",
            "users:80",
        ];
        for target in targets {
            let request = Request::put(target)
                .version(Version::HTTP_2)
                .header("host", "users")
                .header("x-list", "1")
                .header("x-other", "")
                .header("x-list", "2")
                .header("x-bytes", &b"\xff\t"[..])
                .extension(7_u64)
                .body(9)
                .expect("a request");
            let copy = again(&request);
            assert_eq!(copy.uri(), request.uri(), "{target}");
            assert_eq!(copy.uri().to_string(), request.uri().to_string());
            assert_eq!(copy.headers(), request.headers());
            let lists = copy.headers().get_all("x-list").iter();
            assert_eq!(lists.collect::<Vec<_>>(), ["1", "2"]);
            assert_eq!(
                (copy.method(), copy.version(), copy.body()),
                (request.method(), request.version(), request.body())
            );
            assert_eq!(copy.extensions().get(), Some(&7_u64));
        }
    }

    #[test]
    fn what_is_sensitive_stays_so() {
        let mut secret = HeaderValue::from_static("secret");
        secret.set_sensitive(true);
        let request = Request::get("/").header("authorization", secret).body(0);
        let copy = again(&request.expect("a request"));
        assert!(copy.headers()["authorization"].is_sensitive());
        let kept = format!("{:?}", KeptRequest::new(&copy, 0));
        assert!(!kept.contains("secret"), "{kept}");
    }

    #[test]
    fn long_fields_are_kept_whole() {
        let long = "x".repeat(10_000);
        let request = Request::get("/").header("cookie", &long).body(0);
        assert_eq!(
            again(&request.expect("a request")).headers()["cookie"],
            *long
        );
    }
}
