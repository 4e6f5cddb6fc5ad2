//! The body of an answer, which gives its connection back when it has ended.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;

use super::one::Pool;

/// The body of an answer. A connection of HTTP/1.1 carries the next call once this has ended; dropped before, it
/// closes.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use evenkeel_client::http::PooledBody;
/// use http_body_util::{BodyExt, Full};
///
/// async fn whole(body: PooledBody<Full<Bytes>>) -> Result<Bytes, hyper::Error> {
///     Ok(body.collect().await?.to_bytes())
/// }
/// ```
pub struct PooledBody<B> {
    body: Incoming,
    back: Option<(SendRequest<B>, Arc<Pool<B>>)>,
}

impl<B> PooledBody<B> {
    pub(super) fn one(body: Incoming, sender: SendRequest<B>, pool: Arc<Pool<B>>) -> Self {
        let mut pooled = Self {
            body,
            back: Some((sender, pool)),
        };
        pooled.give_back_at_end();
        pooled
    }

    pub(super) fn two(body: Incoming) -> Self {
        Self { body, back: None }
    }

    fn give_back_at_end(&mut self) {
        if self.body.is_end_stream() {
            self.give_back();
        }
    }

    fn give_back(&mut self) {
        if let Some((sender, pool)) = self.back.take() {
            pool.put(sender);
        }
    }
}

// Nothing in it is pinned: the body of hyper may be moved.
impl<B> Unpin for PooledBody<B> {}

impl<B> Body for PooledBody<B> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.give_back(),
            Some(Ok(_)) => self.give_back_at_end(),
            Some(Err(_)) => self.back = None,
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

impl<B> fmt::Debug for PooledBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PooledBody").field(&self.body).finish()
    }
}
