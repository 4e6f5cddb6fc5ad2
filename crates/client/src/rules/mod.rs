//! What calls and answers mean to a balancer.

#[cfg(feature = "http")]
mod grpc;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod kept;
mod plain;

use evenkeel_core::hash::Hasher;
use evenkeel_core::{FailurePoint, Outcome, Priority, RetryRules};

use crate::lease::CallLease;

#[cfg(feature = "http")]
pub use self::grpc::Grpc;
#[cfg(feature = "http")]
pub use self::http::{Copied, CopyBody, Http, RouteKey, Streamed};
#[cfg(feature = "reqwest")]
pub(crate) use self::http::{is_idempotent, is_refused, judge_status};
#[cfg(feature = "http")]
pub use self::kept::KeptRequest;
pub use plain::Plain;

/// What a balancer has to know of calls and answers, and cannot know by itself.
///
/// [`Plain`] knows nothing but success and error, and so fits any service. [`Http`] knows methods and statuses,
/// [`Grpc`] the statuses of gRPC. For a protocol of one's own, write another one.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{BoxError, CallLease, Judgement, Rules, core::{FailurePoint, RetryRules}};
///
/// /// Numbers may be asked for twice, and a negative answer is a failure.
/// #[derive(Clone)]
/// struct Numbers;
///
/// impl Rules<u32, i64, BoxError> for Numbers {
///     type Answer = i64;
///     type Kept = u32;
///
///     fn is_idempotent(&self, _: &u32) -> bool {
///         true
///     }
///
///     fn keep(&self, call: &u32) -> Option<u32> {
///         Some(*call)
///     }
///
///     fn again(&self, kept: &u32) -> Option<u32> {
///         Some(*kept)
///     }
///
///     fn judge(&self, ended: Result<&i64, &BoxError>, _: &RetryRules) -> Judgement {
///         match ended {
///             Ok(answer) if *answer >= 0 => Judgement::SUCCESS,
///             _ => Judgement::failure(FailurePoint::Broken, "negative"),
///         }
///     }
///
///     fn answer(&self, answer: i64, _: CallLease) -> i64 {
///         answer
///     }
/// }
/// ```
pub trait Rules<Req, Res, Err>: Clone + Send + Sync + 'static {
    /// What callers get.
    type Answer;

    /// What is kept of a call that may be sent again: a copy of it, or less. [`Infallible`](std::convert::Infallible)
    /// where nothing is.
    type Kept: Send + 'static;

    /// The hash of what keeps a call at its endpoint, for strategies that choose by key.
    fn key(&self, call: &Req, hasher: Hasher) -> Option<u64> {
        let _ = (call, hasher);
        None
    }

    /// How much a call matters when not all can be served.
    fn priority(&self, call: &Req) -> Priority {
        let _ = call;
        Priority::Default
    }

    /// The name of a call in receipts.
    fn request_id<'r>(&self, call: &'r Req) -> Option<&'r str> {
        let _ = call;
        None
    }

    /// Whether carrying a call out twice does no more than carrying it out once.
    fn is_idempotent(&self, call: &Req) -> bool {
        let _ = call;
        false
    }

    /// Keeps what it takes to make a call again; none: it cannot be. Asked before a call is sent, where there may be
    /// retries, and so by nearly every call, of which few need it: should be cheap. What is kept of a call that is not
    /// idempotent serves only if there was no connection.
    fn keep(&self, call: &Req) -> Option<Self::Kept>;

    /// Makes a call again by what was kept of it; none: it cannot be, and is not repeated.
    fn again(&self, kept: &Self::Kept) -> Option<Req>;

    /// Takes a call back out of an error, where not a byte of it was sent. It is sent elsewhere then, whatever
    /// it is.
    fn unsent(&self, error: &mut Err) -> Option<Req> {
        let _ = error;
        None
    }

    /// What an answer, or its lack, says of the endpoint. Asked once for each try that ends before its time is over.
    fn judge(&self, ended: Result<&Res, &Err>, retry: &RetryRules) -> Judgement;

    /// Gives an answer to the caller, with the lease of its endpoint: to be held for as long as the endpoint is
    /// busy with it. The lease has been told what was judged.
    fn answer(&self, answer: Res, lease: CallLease) -> Self::Answer;
}

/// What is held of how a call ended at an endpoint.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Judgement, core::{FailurePoint, Outcome}};
///
/// let judgement = Judgement::failure(FailurePoint::Broken, "checksum").with_status(200);
/// assert_eq!(judgement.outcome(), Outcome::Failure);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub(crate) outcome: Outcome,
    pub(crate) failed_at: Option<FailurePoint>,
    pub(crate) status: Option<u16>,
    pub(crate) word: Option<&'static str>,
}

impl Judgement {
    /// The endpoint answered.
    pub const SUCCESS: Self = Self {
        outcome: Outcome::Success,
        failed_at: None,
        status: None,
        word: None,
    };

    /// The endpoint answered that this was too much for it.
    pub const TOO_MUCH: Self = Self {
        outcome: Outcome::TooMuch,
        ..Self::SUCCESS
    };

    /// The endpoint failed at this point; `word` says why in receipts.
    #[must_use]
    pub const fn failure(at: FailurePoint, word: &'static str) -> Self {
        Self {
            outcome: Outcome::Failure,
            failed_at: Some(at),
            status: None,
            word: Some(word),
        }
    }

    /// The caller is to blame, or nobody: nothing is held against the endpoint.
    #[must_use]
    pub const fn neutral(word: &'static str) -> Self {
        Self {
            outcome: Outcome::Cancelled,
            word: Some(word),
            ..Self::SUCCESS
        }
    }

    /// With the status of the answer.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// An answer that stands for another try: it is given up if there is one.
    #[must_use]
    pub const fn try_elsewhere(mut self) -> Self {
        self.failed_at = Some(FailurePoint::Status);
        self
    }

    /// How it ended, as far as the endpoint is concerned.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }
}
