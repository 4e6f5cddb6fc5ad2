//! Rules for gRPC.

use std::convert::Infallible;

use evenkeel_core::hash::Hasher;
use evenkeel_core::{FailurePoint, Priority, RetryRules};
use http::header::HeaderName;
use http::{HeaderMap, Request, Response};
use http_body::Body;

use super::{Judgement, Rules, http as rules};
use crate::body::HeldBody;
use crate::lease::CallLease;

/// Rules for gRPC: each call is balanced for itself, whatever connection it takes; its status is read from the head
/// or the trailers of its answer; and a stream holds its endpoint until it ends.
///
/// `UNAVAILABLE`, `INTERNAL`, `UNKNOWN`, `DATA_LOSS` and `DEADLINE_EXCEEDED` are failures of the endpoint,
/// `RESOURCE_EXHAUSTED` is too much for it, and all others are answers. Calls are streams, so one is sent elsewhere
/// only when not a byte of it was sent.
///
/// # Examples
///
/// ```
/// use evenkeel_client::Grpc;
/// use http::HeaderName;
///
/// let rules = Grpc::new().key_field(HeaderName::from_static("user-id"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Grpc {
    key_field: Option<HeaderName>,
}

impl Grpc {
    /// The rules, without a key.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the key of a call from this field of its metadata.
    #[must_use]
    pub fn key_field(mut self, name: HeaderName) -> Self {
        self.key_field = Some(name);
        self
    }
}

impl<B, A, E> Rules<Request<B>, Response<A>, E> for Grpc
where
    B: 'static,
    A: Body,
    E: 'static,
{
    type Answer = Response<HeldBody<A>>;
    type Kept = Infallible;

    fn keep(&self, _: &Request<B>) -> Option<Infallible> {
        None
    }

    fn again(&self, kept: &Infallible) -> Option<Request<B>> {
        match *kept {}
    }

    fn key(&self, call: &Request<B>, hasher: Hasher) -> Option<u64> {
        rules::key(call, self.key_field.as_ref(), hasher)
    }

    fn priority(&self, call: &Request<B>) -> Priority {
        rules::priority(call)
    }

    fn request_id<'r>(&self, call: &'r Request<B>) -> Option<&'r str> {
        rules::request_id(call)
    }

    fn unsent(&self, error: &mut E) -> Option<Request<B>> {
        rules::unsent(error)
    }

    fn judge(&self, ended: Result<&Response<A>, &E>, retry: &RetryRules) -> Judgement {
        match ended {
            Ok(answer) => {
                let of_head = rules::judge_status(answer.status(), retry);
                judge_fields(answer.headers()).unwrap_or(of_head)
            }
            Err(error) => rules::judge_error::<B, E>(error),
        }
    }

    fn answer(&self, answer: Response<A>, lease: CallLease) -> Self::Answer {
        answer.map(|body| HeldBody::judged_by_trailers(body, lease, judge_fields))
    }
}

/// What the status of gRPC says of an endpoint, if there is one.
fn judge_fields(fields: &HeaderMap) -> Option<Judgement> {
    let status = fields.get("grpc-status")?.to_str().ok()?;
    Some(match status {
        "2" => failure("grpc_unknown"),
        "4" => failure("grpc_deadline_exceeded"),
        "8" => Judgement::TOO_MUCH,
        "13" => failure("grpc_internal"),
        "14" => failure("grpc_unavailable").try_elsewhere(),
        "15" => failure("grpc_data_loss"),
        _ => Judgement::SUCCESS,
    })
}

const fn failure(word: &'static str) -> Judgement {
    Judgement::failure(FailurePoint::Broken, word)
}
