//! A body that holds its endpoint until it ends.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use evenkeel_core::{FailurePoint, Outcome};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::lease::CallLease;
use crate::rules::Judgement;

pin_project! {
    /// The body of an answer: the endpoint counts as busy with it until it has ended, broken off, or is dropped.
    ///
    /// A body that breaks off is a failure of its endpoint. One that is dropped before its end blames nobody:
    /// what the head said counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use bytes::Bytes;
    /// use evenkeel_client::HeldBody;
    /// use http_body_util::{BodyExt, Full};
    ///
    /// async fn whole(body: HeldBody<Full<Bytes>>) -> Bytes {
    ///     body.collect().await.expect("its data is there").to_bytes()
    /// }
    /// ```
    pub struct HeldBody<B> {
        #[pin]
        body: B,
        lease: Option<CallLease>,
        trailers: Option<fn(&HeaderMap) -> Option<Judgement>>,
    }
}

impl<B: Body> HeldBody<B> {
    /// Has a body hold its endpoint.
    pub fn new(body: B, lease: CallLease) -> Self {
        // What has no body is through already.
        let lease = (!body.is_end_stream()).then_some(lease);
        Self {
            body,
            lease,
            trailers: None,
        }
    }

    /// Has a body hold its endpoint, whose trailers say how the call ended.
    pub fn judged_by_trailers(
        body: B,
        lease: CallLease,
        judge: fn(&HeaderMap) -> Option<Judgement>,
    ) -> Self {
        Self {
            trailers: Some(judge),
            ..Self::new(body, lease)
        }
    }
}

impl<B: Body> Body for HeldBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(cx));
        match &frame {
            None => drop(this.lease.take()),
            Some(Err(_)) => {
                if let Some(lease) = this.lease.take() {
                    lease.fail(&BROKEN);
                }
            }
            Some(Ok(frame)) => {
                let judgement = this.trailers.zip(frame.trailers_ref());
                let judgement = judgement.and_then(|(judge, trailers)| judge(trailers));
                match (judgement, this.lease.take()) {
                    (Some(judgement), Some(lease)) if judgement.outcome != Outcome::Success => {
                        lease.fail(&judgement);
                    }
                    (_, lease) if !this.body.is_end_stream() => *this.lease = lease,
                    (_, lease) => drop(lease),
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How it is judged that an answer breaks off.
const BROKEN: Judgement = Judgement::failure(FailurePoint::Broken, "http_response_incomplete");

impl<B: Body + Default> Default for HeldBody<B> {
    /// A body that holds nobody.
    fn default() -> Self {
        Self {
            body: B::default(),
            lease: None,
            trailers: None,
        }
    }
}

impl<B: fmt::Debug> fmt::Debug for HeldBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBody")
            .field("body", &self.body)
            .field("lease", &self.lease)
            .finish()
    }
}
