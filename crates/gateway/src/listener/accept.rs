//! Accepting connections.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_http1::{GatewayReply, ProxyError, gateway_reply};
use tokio::sync::Notify;

use super::Listener;
use super::door::{Door, TurnedAway};
use super::socket::Acceptor;
use crate::forward;
use crate::stream::Stream;
use crate::worker::{Entry, Worker};

/// How long to wait when the system has no descriptor for us.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Of failures in a row, which ones the log tells: one in five seconds.
const TOLD_EVERY: u32 = 50;

/// How many are told so at a time.
const SHED_MAX: usize = 256;

/// After how many seconds those who were shed may come again.
pub(crate) const RETRY_AFTER: u32 = 1;

/// Tells a door's accepting task that something has changed.
#[derive(Debug, Default)]
pub(crate) struct DoorBell {
    rung: Notify,
    closing: Cell<bool>,
}

impl DoorBell {
    /// There is a newer plan: the old one is not held any longer.
    pub(crate) fn ring(&self) {
        self.rung.notify_one();
    }

    /// Ends the task once it has taken in whom the system has let in.
    pub(crate) fn close(&self) {
        self.closing.set(true);
        self.ring();
    }
}

/// Accepts until it is told to stop.
pub(crate) async fn accept(
    worker: Rc<Worker>,
    mut entry: Entry,
    socket: Rc<Acceptor>,
    bell: Rc<DoorBell>,
) {
    let door = Arc::clone(entry.listener.door());
    let mut failures: u32 = 0;
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            () = bell.rung.notified() => {
                entry.refresh(&worker);
                if bell.closing.get() {
                    break;
                }
                continue;
            }
        };
        match accepted {
            Ok((stream, peer)) => {
                failures = 0;
                entry.refresh(&worker);
                welcome(&worker, &entry, &door, stream, peer);
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                let shed = shed(&worker, &entry.listener, &socket);
                if failures.is_multiple_of(TOLD_EVERY) {
                    tracing::warn!(listener = entry.listener.name(), %error, shed, "cannot accept");
                }
                failures = failures.wrapping_add(1);
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }
    // Closing the socket would reset the connections of those who are in its queue, with requests in
    // them.
    if let Some(socket) = Rc::into_inner(socket) {
        socket.take_the_last(|(stream, peer)| welcome(&worker, &entry, &door, stream, peer));
    }
}

/// The client was gone before it was accepted: nothing to wait for.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

fn welcome(
    worker: &Rc<Worker>,
    entry: &Entry,
    door: &Arc<Door>,
    stream: Stream,
    peer: Option<SocketAddr>,
) {
    let most = entry.listener.config.limits.connections as usize;
    let seat = match door.admit(most, &worker.shared.descriptors) {
        Ok(seat) => seat,
        Err(why) => {
            door.turn_away(why);
            turn_away(&entry.listener, &stream, why);
            return;
        }
    };
    if stream.set_nodelay().is_err() {
        return;
    }
    forward::serve(worker, entry.clone(), seat, stream, peer);
}

/// Tells those who wait to be accepted that there is no room, with the few descriptors that are kept
/// for that, and returns how many there were. Left in the queue they would wait without a word.
fn shed(worker: &Worker, listener: &Listener, socket: &Acceptor) -> usize {
    let mut shed = 0;
    worker.shared.descriptors.with_spare(|| {
        while shed < SHED_MAX
            && let Some((stream, _)) = socket.accept_now()
        {
            listener.door().turn_away(TurnedAway::Descriptors);
            turn_away(listener, &stream, TurnedAway::Descriptors);
            shed += 1;
        }
    });
    shed
}

/// Says why, as far as the socket takes it at once, and closes. Who speaks something else than plain
/// HTTP is told nothing.
fn turn_away(listener: &Listener, stream: &Stream, why: TurnedAway) {
    if !listener.begins_with_http() {
        return;
    }
    let mut out = Vec::new();
    let mut reply = GatewayReply::new(ProxyError::ConnectionLimitReached, "");
    reply.details = Some(match why {
        TurnedAway::Limit => "the listener has as many connections as its limit allows",
        _ => "the gateway has as many connections as it has descriptors for",
    });
    reply.retry_after = Some(RETRY_AFTER);
    gateway_reply(&mut out, &reply);
    // Best effort: under this load nobody waits for a slow reader.
    let _ = stream.try_write(&out);
}
