//! A client's connection that speaks HTTP/2: its streams, each served as a client of its own.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_core::Nanos;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::Request;

use super::client::Client;
use super::hands::Hands;
use crate::http2::{CONNECTION_WINDOW, Incoming, SEND_BUFFER, STREAM_WINDOW, Streams, Wire};
use crate::listener::TurnedAway;
use crate::stream::Stream;
use crate::worker::buffer::Inbox;

/// How long a connection that ends may take to be rid of its last words.
const LINGER: Nanos = Nanos::from_secs(1);

/// How many streams a client may have reset before we have looked at them.
const RESETS_UNSEEN_MAX: usize = 100;

/// How much larger a head may be than the limit for the client to be told as we tell it; the library answers
/// beyond that, in its own words.
const HEAD_ROOM: usize = 4;

/// How many streams the library may have reset for what the client did wrong on them.
const FORCED_RESETS_MAX: usize = 256;

/// Serves a connection to its end.
///
/// The future has no name, since a stream is served by what serves a connection.
pub(super) fn serve(client: Client) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(run(client))
}

async fn run(mut client: Client) {
    let streams = Rc::new(Streams::new());
    let Some(connection) = shake_hands(&mut client, &streams).await else {
        return;
    };
    let mut driver = Driver {
        idle_from: client.worker.alarms.now(),
        client,
        connection,
        streams,
        state: State::Open,
    };
    driver.rest();
    while let Some((request, respond)) = poll_fn(|cx| driver.poll(cx)).await {
        driver.client.refresh();
        let worker = &driver.client.worker;
        let draw = |parts| worker.draw(parts);
        let head = worker.buffers.output();
        if let Some(stream) = Incoming::accept(request, respond, &driver.streams, draw, head) {
            Hands::serve(&driver.client, stream);
        }
    }
}

/// Reads the preface and says what is allowed, in the time that a head may take.
async fn shake_hands(
    client: &mut Client,
    streams: &Rc<Streams>,
) -> Option<Connection<Wire, Bytes>> {
    let inbox = Inbox::new(&client.worker.buffers);
    let inbox = std::mem::replace(&mut client.inbox, inbox);
    let stream = std::mem::replace(&mut client.stream, Stream::Taken);
    let limits = &client.listener().config.limits;
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(head_room(limits.header_bytes))
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(RESETS_UNSEEN_MAX)
        .max_local_error_reset_streams(Some(FORCED_RESETS_MAX))
        .enable_connect_protocol();
    client.alarm.set(client.listener().header_timeout);
    let wire = Wire::new(inbox, stream, streams, client.worker.alarms.alarm());
    let mut shaking = builder.handshake(wire);
    poll_fn(|cx| match Pin::new(&mut shaking).poll(cx) {
        Poll::Ready(result) => {
            Poll::Ready(result.inspect_err(|error| note_misuse(client, error)).ok())
        }
        Poll::Pending => client.alarm.poll_due(cx).map(|()| None),
    })
    .await
}

/// How large a head the library reads, in the bytes that it counts.
fn head_room(header_bytes: usize) -> u32 {
    u32::try_from(header_bytes.saturating_mul(HEAD_ROOM)).unwrap_or(u32::MAX)
}

/// Counts a connection that the library ends for what its client did.
fn note_misuse(client: &Client, error: &h2::Error) {
    if error.is_library() {
        client.listener().door().turn_away(TurnedAway::Http2);
    }
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The client was told to send nothing more; what it has sent is answered.
    Leaving,
    /// Nothing is answered any more but with the word that says why.
    Ended,
}

/// A connection and what its streams are served with.
struct Driver {
    client: Client,
    connection: Connection<Wire, Bytes>,
    streams: Rc<Streams>,
    state: State,
    /// When the last stream ended.
    idle_from: Nanos,
}

impl Driver {
    /// The next request; none: the connection has ended.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Request<RecvStream>, SendResponse<Bytes>)>> {
        self.streams.watch(cx);
        self.streams.forget(self.client.worker.alarms.now());
        loop {
            if self.is_misused() {
                self.client.listener().door().turn_away(TurnedAway::Http2);
                self.end(Reason::ENHANCE_YOUR_CALM);
            }
            match self.connection.poll_accept(cx) {
                Poll::Ready(Some(Ok(_))) if self.state == State::Ended => {}
                Poll::Ready(Some(Ok(next))) => return Poll::Ready(Some(next)),
                Poll::Ready(Some(Err(error))) => {
                    if self.state != State::Ended {
                        note_misuse(&self.client, &error);
                    }
                    let (peer, name) = (&self.client.peer, self.client.listener().name());
                    tracing::debug!(listener = name, %peer, %error, "connection broken");
                    return Poll::Ready(None);
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    self.client.refresh();
                    if !self.is_misused() && !self.has_to_act(cx) {
                        return Poll::Pending;
                    }
                    if self.state == State::Ended && !self.goes_on() {
                        return Poll::Ready(None);
                    }
                }
            }
        }
    }

    /// Whether it is to end for what its client does.
    fn is_misused(&self) -> bool {
        self.state != State::Ended && self.streams.are_abused()
    }

    /// Whether the state has changed, or the time for a change has come.
    fn has_to_act(&mut self, cx: &mut Context<'_>) -> bool {
        if self.state == State::Open && self.client.is_leaving() {
            self.state = State::Leaving;
            self.connection.graceful_shutdown();
            return true;
        }
        let is_unused = self.streams.open() == 0;
        if self.state != State::Ended && self.client.worker.closing.get() && is_unused {
            self.end(Reason::NO_ERROR);
            return true;
        }
        if !is_unused {
            self.idle_from = self.client.worker.alarms.now();
        }
        if self.client.alarm.poll_due(cx).is_pending() {
            return false;
        }
        if self.state != State::Ended {
            self.mind_idle_time(is_unused);
        }
        true
    }

    /// Ends a connection that has been without a request for long enough.
    fn mind_idle_time(&mut self, is_unused: bool) {
        let client = &self.client;
        let idle = client.listener().idle_timeout;
        if is_unused && client.worker.alarms.now().since(self.idle_from) >= idle {
            self.end(Reason::NO_ERROR);
        } else {
            self.rest();
        }
    }

    /// Sets the alarm to when the connection may have idled for long enough.
    fn rest(&self) {
        let client = &self.client;
        let since = client.worker.alarms.now().since(self.idle_from);
        let idle = client.listener().idle_timeout;
        client.alarm.set(Nanos(idle.0.saturating_sub(since.0)));
    }

    /// Says why nothing more is answered.
    fn end(&mut self, reason: Reason) {
        self.state = State::Ended;
        self.connection.abrupt_shutdown(reason);
        self.client.alarm.set(LINGER);
    }

    /// Whether the last words have time left.
    fn goes_on(&self) -> bool {
        !self.client.alarm.is_due()
    }
}
