//! A connection of HTTP/2, shared by all calls to its endpoint.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_core::unpoisoned;
use http::{Request, Response};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::connecting::{Offer, Stream};
use super::error::HttpError;
use super::pooled::PooledBody;
use super::{RequestBody, Target};

/// How often a connection is asked whether it lives, while calls are on it, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// The connection to an endpoint.
pub(super) struct Shared<B> {
    pub(super) target: Target,
    current: Mutex<Option<SendRequest<B>>>,
    /// Held by the one who connects; the others wait for what comes of it.
    connecting: tokio::sync::Mutex<()>,
    retired: AtomicBool,
}

impl<B> Shared<B> {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            current: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            retired: AtomicBool::new(false),
        }
    }

    /// Has the connection close when the calls on it have ended.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::SeqCst);
        let closed = unpoisoned(self.current.lock()).take();
        drop(closed);
    }

    fn open(&self) -> Option<SendRequest<B>> {
        let current = unpoisoned(self.current.lock());
        current
            .as_ref()
            .filter(|sender| !sender.is_closed())
            .cloned()
    }
}

/// Sends a request on the connection, which is made if there is none.
pub(super) async fn call<B>(
    shared: Arc<Shared<B>>,
    mut request: Request<B>,
) -> Result<Response<PooledBody<B>>, HttpError<B>>
where
    B: RequestBody,
{
    let prepared = shared.target.prepare_two(&mut request);
    let mut is_new = false;
    loop {
        let mut sender = match shared.open() {
            Some(sender) => sender,
            None => {
                is_new = true;
                match connect(&shared).await {
                    Ok(sender) => sender,
                    Err(error) => return Err(HttpError::connect(error, prepared.undo(request))),
                }
            }
        };
        match sender.try_send_request(request).await {
            Ok(answer) => return Ok(answer.map(PooledBody::two)),
            Err(mut error) => match error.take_message() {
                // It went away before it took the request.
                Some(unsent) if !is_new => {
                    request = unsent;
                    shared.forget_closed();
                }
                unsent => {
                    let unsent = unsent.map(|unsent| prepared.undo(unsent));
                    return Err(HttpError::broken(error.into_error(), unsent));
                }
            },
        }
    }
}

impl<B> Shared<B> {
    /// Lets go of a connection on which nothing can be sent any more.
    fn forget_closed(&self) {
        let mut current = unpoisoned(self.current.lock());
        *current = current
            .take()
            .filter(|sender| !sender.is_closed() && sender.is_ready());
    }
}

async fn connect<B>(shared: &Shared<B>) -> io::Result<SendRequest<B>>
where
    B: RequestBody,
{
    let _alone = shared.connecting.lock().await;
    if let Some(made) = shared.open() {
        return Ok(made);
    }
    let (stream, _) = shared.target.dial(Offer::Two).await?;
    shared.begin(stream).await
}

impl<B> Shared<B>
where
    B: RequestBody,
{
    /// Begins to speak on a new connection, which is the one from now on.
    pub(super) async fn begin(&self, stream: Stream) -> io::Result<SendRequest<B>> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        let shaken = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(io::Error::other)?;
        // It ends with its socket, or when nobody can send any more.
        tokio::spawn(connection);
        if !self.retired.load(Ordering::SeqCst) {
            *unpoisoned(self.current.lock()) = Some(sender.clone());
        }
        Ok(sender)
    }
}
