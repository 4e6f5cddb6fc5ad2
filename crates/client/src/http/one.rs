//! Connections of HTTP/1.1, kept for the next calls.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use evenkeel_core::{Nanos, unpoisoned};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite};

use super::connecting::{Offer, Stream};
use super::error::HttpError;
use super::pooled::PooledBody;
use super::{Prepared, RequestBody, Target};
use crate::clock;
use crate::long::Boxed;

/// The connections to an endpoint that carry no call.
pub(super) struct Pool<B> {
    pub(super) target: Target,
    idle: Mutex<VecDeque<Idle<B>>>,
    retired: AtomicBool,
}

struct Idle<B> {
    sender: SendRequest<B>,
    since: Nanos,
}

impl<B> Pool<B> {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            idle: Mutex::default(),
            retired: AtomicBool::new(false),
        }
    }

    /// Closes what idles, now and from now on.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::SeqCst);
        let closed = std::mem::take(&mut *self.idle());
        drop(closed);
    }

    /// The connection that was used last, if it is still open and has not idled too long.
    fn take(&self) -> Option<SendRequest<B>> {
        let oldest = clock::of_call().since(self.target.options.idle_timeout);
        let mut idle = self.idle();
        while let Some(last) = idle.pop_back() {
            if last.since < oldest {
                // All others have idled longer.
                idle.clear();
                return None;
            }
            if !last.sender.is_closed() {
                return Some(last.sender);
            }
        }
        None
    }

    /// Keeps a connection that has carried its call.
    pub(super) fn put(&self, sender: SendRequest<B>) {
        if sender.is_closed() || self.retired.load(Ordering::SeqCst) {
            return;
        }
        let since = clock::now();
        let oldest = since.since(self.target.options.idle_timeout);
        let mut idle = self.idle();
        let is_stale = idle.front().is_some_and(|first| first.since < oldest);
        if is_stale || idle.len() >= self.target.options.idle_max {
            idle.pop_front();
        }
        idle.push_back(Idle { sender, since });
        drop(idle);
        if self.retired.load(Ordering::SeqCst) {
            self.retire();
        }
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<Idle<B>>> {
        unpoisoned(self.idle.lock())
    }
}

/// What comes of a request.
pub(super) type Answered<B> = Result<Response<PooledBody<B>>, HttpError<B>>;

/// Sends a request on a kept connection, or on a new one.
pub(super) fn call<B>(pool: &Arc<Pool<B>>, mut request: Request<B>) -> Boxed<Answered<B>>
where
    B: RequestBody,
{
    let prepared = pool.target.prepare_one(&mut request);
    let pool = Arc::clone(pool);
    match pool.take() {
        // At once: what need not be put anywhere is not moved.
        Some(mut kept) if kept.is_ready() => {
            let sent = kept.try_send_request(request);
            Box::pin(Sending {
                sent,
                way: Some((kept, pool)),
                prepared,
                again: None,
            })
        }
        kept => Box::pin(send(pool, request, prepared, kept)),
    }
}

pin_project! {
    /// A request that was sent on a kept connection. Small, since each call has one: a block that waits would have
    /// room for all that may become of it.
    struct Sending<B, F> {
        #[pin]
        sent: F,
        way: Option<(SendRequest<B>, Arc<Pool<B>>)>,
        prepared: Prepared,
        again: Option<Boxed<Answered<B>>>,
    }
}

impl<B, F> Future for Sending<B, F>
where
    B: RequestBody,
    F: Future<Output = Result<Response<Incoming>, TrySendError<Request<B>>>>,
{
    type Output = Answered<B>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answered<B>> {
        let this = self.project();
        if let Some(again) = this.again {
            return again.as_mut().poll(cx);
        }
        let answer = ready!(this.sent.poll(cx));
        let (kept, pool) = this.way.take().expect("polled until it is ready");
        match answer {
            Ok(answer) => Poll::Ready(Ok(answer.map(|body| PooledBody::one(body, kept, pool)))),
            Err(mut error) => match error.take_message() {
                // It died before it took the request: others may have, too.
                Some(unsent) => {
                    let again =
                        this.again
                            .insert(Box::pin(send(pool, unsent, *this.prepared, None)));
                    again.as_mut().poll(cx)
                }
                None => Poll::Ready(Err(HttpError::broken(error.into_error(), None))),
            },
        }
    }
}

/// Sends a request on the first connection that takes it.
async fn send<B>(
    pool: Arc<Pool<B>>,
    mut request: Request<B>,
    prepared: Prepared,
    mut kept: Option<SendRequest<B>>,
) -> Answered<B>
where
    B: RequestBody,
{
    loop {
        let candidate = kept.take().or_else(|| pool.take());
        let is_new = candidate.is_none();
        let mut sender = match candidate {
            Some(mut kept) => match kept.ready().await {
                Ok(()) => kept,
                Err(_) => continue,
            },
            None => match connect(&pool.target).await {
                Ok(sender) => sender,
                Err(error) => return Err(HttpError::connect(error, prepared.undo(request))),
            },
        };
        match sender.try_send_request(request).await {
            Ok(answer) => return Ok(answer.map(|body| PooledBody::one(body, sender, pool))),
            Err(mut error) => match error.take_message() {
                Some(unsent) if !is_new => request = unsent,
                unsent => {
                    let unsent = unsent.map(|unsent| prepared.undo(unsent));
                    return Err(HttpError::broken(error.into_error(), unsent));
                }
            },
        }
    }
}

async fn connect<B>(target: &Target) -> io::Result<SendRequest<B>>
where
    B: RequestBody,
{
    let (stream, _) = target.dial(Offer::One).await?;
    begin(stream).await
}

/// Begins to speak on a new connection. Of each kind by itself, so that reading and writing ask for no kind.
pub(super) async fn begin<B>(stream: Stream) -> io::Result<SendRequest<B>>
where
    B: RequestBody,
{
    match stream {
        Stream::Tcp(stream) => shake(stream).await,
        Stream::Unix(stream) => shake(stream).await,
        #[cfg(feature = "tls")]
        Stream::Secured(stream) => shake(stream).await,
    }
}

async fn shake<B, T>(stream: T) -> io::Result<SendRequest<B>>
where
    B: RequestBody,
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let shaken = handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(io::Error::other)?;
    // It ends with its socket, or when nobody can send any more.
    tokio::spawn(connection);
    sender.ready().await.map_err(io::Error::other)?;
    Ok(sender)
}
