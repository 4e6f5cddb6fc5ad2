//! Connections of HTTP/1.1, kept for the next calls.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use evenkeel_core::{Nanos, unpoisoned};
use http::{Request, Response};
use http_body::Body;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;

use super::Target;
use super::error::HttpError;
use super::pooled::PooledBody;
use crate::clock;
use crate::error::BoxError;

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
        let oldest = clock::now().since(Nanos::from(self.target.options.idle_timeout));
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
        let oldest = since.since(Nanos::from(self.target.options.idle_timeout));
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

/// Sends a request on a kept connection, or on a new one.
pub(super) async fn call<B>(
    pool: Arc<Pool<B>>,
    mut request: Request<B>,
) -> Result<Response<PooledBody<B>>, HttpError<B>>
where
    B: Body + Send + 'static + Unpin,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    pool.target.prepare_one(&mut request);
    loop {
        let kept = pool.take();
        let is_new = kept.is_none();
        let mut sender = match kept {
            Some(mut kept) => match kept.ready().await {
                Ok(()) => kept,
                Err(_) => continue,
            },
            None => match connect(&pool.target).await {
                Ok(sender) => sender,
                Err(error) => return Err(HttpError::connect(error, request)),
            },
        };
        match sender.try_send_request(request).await {
            Ok(answer) => return Ok(answer.map(|body| PooledBody::one(body, sender, pool))),
            Err(mut error) => match error.take_message() {
                // It died before it took the request: others may have, too.
                Some(unsent) if !is_new => request = unsent,
                unsent => return Err(HttpError::broken(error.into_error(), unsent)),
            },
        }
    }
}

async fn connect<B>(target: &Target) -> io::Result<SendRequest<B>>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let stream = target.dial().await?;
    let shaken = handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(io::Error::other)?;
    // It ends with its socket, or when nobody can send any more.
    tokio::spawn(connection);
    sender.ready().await.map_err(io::Error::other)?;
    Ok(sender)
}
