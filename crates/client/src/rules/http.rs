//! Rules for HTTP.

use std::any::Any;
use std::error::Error as StdError;
use std::io;
use std::marker::PhantomData;

use evenkeel_core::hash::Hasher;
use evenkeel_core::{FailurePoint, Outcome, Priority, RetryRules};
use http::header::HeaderName;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;

use super::kept::KeptRequest;
use super::{Judgement, Rules};
use crate::body::HeldBody;
use crate::error::BoxError;
#[cfg(feature = "hyper")]
use crate::http::HttpError;
use crate::lease::CallLease;

/// What a call is kept at its endpoint by, put into the extensions of its request. It goes before any field.
///
/// # Examples
///
/// ```
/// use evenkeel_client::RouteKey;
///
/// let request = http::Request::get("/cart").extension(RouteKey::new("user-7")).body(())?;
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteKey(Box<[u8]>);

impl RouteKey {
    /// A key; equal ones go to the same endpoint.
    #[must_use]
    pub fn new(key: impl AsRef<[u8]>) -> Self {
        Self(key.as_ref().into())
    }
}

/// Bodies that can be copied, and so be sent again.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Copied, Http};
///
/// let rules: Http<Copied> = Http::new();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Copied;

/// Bodies that are sent once: a call with one goes elsewhere only when not a byte of it was sent.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Http, Streamed};
///
/// let rules: Http<Streamed> = Http::streamed();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Streamed;

/// How bodies of requests are copied.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{CopyBody, Http};
///
/// /// Copies what is small.
/// #[derive(Clone)]
/// struct Small;
///
/// impl CopyBody<Vec<u8>> for Small {
///     fn copy(body: &Vec<u8>) -> Option<Vec<u8>> {
///         (body.len() <= 1024).then(|| body.clone())
///     }
/// }
///
/// let rules = Http::<Small>::default();
/// ```
pub trait CopyBody<B>: Clone + Send + Sync + 'static {
    /// A copy; none when there is none.
    fn copy(body: &B) -> Option<B>;
}

impl<B: Clone> CopyBody<B> for Copied {
    fn copy(body: &B) -> Option<B> {
        Some(body.clone())
    }
}

impl<B> CopyBody<B> for Streamed {
    fn copy(_: &B) -> Option<B> {
        None
    }
}

/// Rules for HTTP: idempotent methods may be sent again, statuses from 500 on are failures, 429 is too much, and an
/// answer holds its endpoint until its body ends.
///
/// The priority of a call is a [`Priority`] in the extensions of its request, its key a [`RouteKey`] there or a field.
///
/// # Examples
///
/// ```
/// use evenkeel_client::Http;
/// use http::HeaderName;
///
/// let rules = Http::new().key_field(HeaderName::from_static("x-user"));
/// ```
#[derive(Clone, Debug)]
pub struct Http<K = Copied> {
    key_field: Option<HeaderName>,
    bodies: PhantomData<fn() -> K>,
}

impl Http {
    /// For requests whose bodies can be cloned, such as `Full<Bytes>`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Http<Streamed> {
    /// For requests whose bodies are streams, which cannot be sent twice.
    #[must_use]
    pub fn streamed() -> Self {
        Self::default()
    }
}

impl<K> Http<K> {
    /// Takes the key of a call from this field of its request.
    #[must_use]
    pub fn key_field(mut self, name: HeaderName) -> Self {
        self.key_field = Some(name);
        self
    }
}

impl<K> Default for Http<K> {
    fn default() -> Self {
        Self {
            key_field: None,
            bodies: PhantomData,
        }
    }
}

impl<K, B, A, E> Rules<Request<B>, Response<A>, E> for Http<K>
where
    K: CopyBody<B>,
    B: Send + 'static,
    A: Body,
    E: 'static,
{
    type Answer = Response<HeldBody<A>>;
    type Kept = KeptRequest<B>;

    fn key(&self, call: &Request<B>, hasher: Hasher) -> Option<u64> {
        key(call, self.key_field.as_ref(), hasher)
    }

    fn priority(&self, call: &Request<B>) -> Priority {
        priority(call)
    }

    fn request_id<'r>(&self, call: &'r Request<B>) -> Option<&'r str> {
        request_id(call)
    }

    fn is_idempotent(&self, call: &Request<B>) -> bool {
        is_idempotent(call.method())
    }

    fn keep(&self, call: &Request<B>) -> Option<KeptRequest<B>> {
        // What was not sent comes back by itself.
        if !is_idempotent(call.method()) {
            return None;
        }
        Some(KeptRequest::new(call, K::copy(call.body())?))
    }

    fn again(&self, kept: &KeptRequest<B>) -> Option<Request<B>> {
        kept.again(K::copy(kept.body())?)
    }

    fn unsent(&self, error: &mut E) -> Option<Request<B>> {
        unsent(error)
    }

    fn judge(&self, ended: Result<&Response<A>, &E>, retry: &RetryRules) -> Judgement {
        match ended {
            Ok(answer) => judge_status(answer.status(), retry),
            Err(error) => judge_error::<B, E>(error),
        }
    }

    fn answer(&self, answer: Response<A>, lease: CallLease) -> Self::Answer {
        answer.map(|body| HeldBody::new(body, lease))
    }
}

pub(super) fn key<B>(call: &Request<B>, field: Option<&HeaderName>, hasher: Hasher) -> Option<u64> {
    if let Some(RouteKey(key)) = call.extensions().get() {
        return Some(hasher.hash(key));
    }
    let value = call.headers().get(field?)?;
    Some(hasher.hash(value.as_bytes()))
}

pub(super) fn priority<B>(call: &Request<B>) -> Priority {
    let given = call.extensions().get();
    given.copied().unwrap_or(Priority::Default)
}

pub(super) fn request_id<B>(call: &Request<B>) -> Option<&str> {
    call.headers().get("x-request-id")?.to_str().ok()
}

/// Whether carrying out a request of this method twice does no more than carrying it out once (RFC 9110, 9.2.2).
pub(crate) fn is_idempotent(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE
    )
}

/// What a status says of an endpoint.
pub(crate) fn judge_status(status: StatusCode, retry: &RetryRules) -> Judgement {
    let code = status.as_u16();
    let judgement = match code {
        429 => Judgement::TOO_MUCH,
        _ if retry.is_failure(code) => Judgement {
            outcome: Outcome::Failure,
            ..Judgement::SUCCESS
        },
        _ => Judgement::SUCCESS,
    };
    let judgement = judgement.with_status(code);
    match retry.lists(code) {
        true => judgement.try_elsewhere(),
        false => judgement,
    }
}

/// A request that the library's own connections may have carried, and what their errors say then.
trait Carried: Sized {
    /// Takes it back out of an error, where it was not sent.
    fn unsent(error: &mut dyn Any) -> Option<Self>;

    /// What the error says of the endpoint; none of an error of others.
    fn judge(error: &dyn Any) -> Option<Judgement>;
}

#[cfg(feature = "hyper")]
impl<B: 'static> Carried for Request<B> {
    fn unsent(error: &mut dyn Any) -> Option<Self> {
        error.downcast_mut::<HttpError<B>>()?.take_request()
    }

    fn judge(error: &dyn Any) -> Option<Judgement> {
        error.downcast_ref().map(HttpError::<B>::judgement)
    }
}

/// There are no such connections.
#[cfg(not(feature = "hyper"))]
impl<B> Carried for Request<B> {
    fn unsent(_: &mut dyn Any) -> Option<Self> {
        None
    }

    fn judge(_: &dyn Any) -> Option<Judgement> {
        None
    }
}

/// A request that comes back unsent in an error.
pub(super) fn unsent<B: 'static, E: 'static>(error: &mut E) -> Option<Request<B>> {
    Carried::unsent(error)
}

/// What an error says of an endpoint, when requests have bodies of this kind.
pub(super) fn judge_error<B: 'static, E: 'static>(error: &E) -> Judgement {
    Request::<B>::judge(error).unwrap_or_else(|| judge_foreign(error))
}

/// Of what is not known it is taken to have come before the answer.
fn judge_foreign(error: &dyn Any) -> Judgement {
    let source = error.downcast_ref::<BoxError>().map(|error| &**error);
    let source = source.map(|error| error as &(dyn StdError + 'static));
    match source.is_some_and(is_refused) {
        true => Judgement::failure(FailurePoint::Connect, "connection_refused"),
        false => Judgement::failure(FailurePoint::Silent, "connection_terminated"),
    }
}

/// Whether there was no connection, by the first error of the system in the chain.
pub(crate) fn is_refused(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.kind() == io::ErrorKind::ConnectionRefused;
        }
        cause = error.source();
    }
    false
}
