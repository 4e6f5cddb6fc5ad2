//! Connections to an endpoint that speaks HTTP/2, each of which carries many requests at once.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_core::Nanos;
use h2::client::{Builder, SendRequest};
use tokio::sync::Mutex;

use super::connect::{ConnectError, Connected, Dial, connect};
use crate::cluster::Target;
use crate::descriptors::Descriptors;
use crate::http2::{CONNECTION_WINDOW, Outgoing, SEND_BUFFER, STREAM_WINDOW, Ticket};
use crate::stream::Stream;

/// The connections of one worker to one endpoint.
#[derive(Debug, Default)]
pub(super) struct SharedConnections {
    all: RefCell<Vec<Shared>>,
    /// One at a time opens a connection, and the others come along on it.
    opening: Mutex<()>,
}

#[derive(Debug)]
struct Shared {
    requests: SendRequest<Bytes>,
    streams: Rc<Cell<usize>>,
    /// When it was first seen without a stream.
    idle_from: Option<Nanos>,
}

impl Shared {
    /// Whether it stands and takes new streams, as far as is known.
    fn stands(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        // Ready at once otherwise: requests are sent by copies of it.
        !matches!(self.requests.poll_ready(&mut cx), Poll::Ready(Err(_)))
    }
}

impl SharedConnections {
    /// A stream on a connection that has room for it.
    fn take(&self, is_secured: bool) -> Option<Connected> {
        let mut all = self.all.borrow_mut();
        all.retain_mut(Shared::stands);
        let free = all
            .iter()
            .find(|shared| shared.streams.get() < shared.requests.current_max_send_streams())?;
        let ticket = Ticket::take(&free.streams);
        let outgoing = Outgoing::new(free.requests.clone(), is_secured, ticket);
        Some(Connected::stream(Stream::Outgoing(Box::new(outgoing))))
    }

    /// A stream, on a new connection where there is none with room.
    ///
    /// # Errors
    ///
    /// When there is no connection, in the time that one may take.
    pub(super) async fn open(
        &self,
        target: &Target,
        dial: &Dial,
        descriptors: &Arc<Descriptors>,
    ) -> Result<Connected, ConnectError> {
        let is_secured = dial.tls.is_some();
        if let Some(stream) = self.take(is_secured) {
            return Ok(stream);
        }
        let opening = async {
            let _alone = self.opening.lock().await;
            if let Some(stream) = self.take(is_secured) {
                return Ok(stream);
            }
            self.connect(target, dial, descriptors).await?;
            let refused = || ConnectError::Io(std::io::ErrorKind::ConnectionReset.into());
            self.take(is_secured).ok_or_else(refused)
        };
        let opened = tokio::time::timeout(Duration::from(dial.timeout), opening).await;
        opened.map_err(|_| ConnectError::Timeout)?
    }

    async fn connect(
        &self,
        target: &Target,
        dial: &Dial,
        descriptors: &Arc<Descriptors>,
    ) -> Result<(), ConnectError> {
        let Connected { stream, held } = connect(target, dial, descriptors).await?;
        let shaken = Builder::new()
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(SEND_BUFFER)
            .handshake(stream)
            .await;
        let (requests, connection) = shaken.map_err(|error| {
            ConnectError::Io(std::io::Error::new(
                std::io::ErrorKind::ConnectionReset,
                error,
            ))
        })?;
        tokio::task::spawn_local(async move {
            // Its streams are told why it ended.
            let _ = connection.await;
            drop(held);
        });
        self.all.borrow_mut().push(Shared {
            requests,
            streams: Rc::default(),
            idle_from: None,
        });
        Ok(())
    }

    /// Lets go of connections that have been without a stream for `timeout`, and of those that ended.
    pub(super) fn close_stale(&self, now: Nanos, timeout: Nanos) {
        self.all.borrow_mut().retain_mut(|shared| {
            if shared.streams.get() > 0 {
                shared.idle_from = None;
                return true;
            }
            let since = *shared.idle_from.get_or_insert(now);
            now.since(since) < timeout && shared.stands()
        });
    }
}
