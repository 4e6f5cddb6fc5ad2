//! Rules for services of which nothing is known.

use std::convert::Infallible;

use evenkeel_core::{FailurePoint, RetryRules};

use super::{Judgement, Rules};
use crate::lease::CallLease;

/// An answer is a success, an error is a failure, and nothing is sent twice. The endpoint is free when the
/// answer is there.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use evenkeel_client::{Cluster, Plain, Settings, core::Endpoint};
/// use tower::{ServiceExt, service_fn};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let connect = |_: &Endpoint| service_fn(|call: u32| async move { Ok::<_, Infallible>(call + 1) });
/// let list = [Endpoint::new("a", "10.0.0.1:80")];
/// let cluster = Cluster::new(Settings::new("numbers"), list, connect)?;
/// assert_eq!(cluster.balance(Plain).oneshot(7).await?, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl<Req, Res, Err> Rules<Req, Res, Err> for Plain {
    type Answer = Res;
    type Kept = Infallible;

    fn keep(&self, _: &Req) -> Option<Infallible> {
        None
    }

    fn again(&self, kept: &Infallible) -> Option<Req> {
        match *kept {}
    }

    fn judge(&self, ended: Result<&Res, &Err>, _: &RetryRules) -> Judgement {
        match ended {
            Ok(_) => Judgement::SUCCESS,
            Err(_) => Judgement::failure(FailurePoint::Broken, "error"),
        }
    }

    fn answer(&self, answer: Res, lease: CallLease) -> Res {
        drop(lease);
        answer
    }
}
