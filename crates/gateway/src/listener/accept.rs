//! Accepting connections.

use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_http1::{GatewayReply, ProxyError, gateway_reply};
use tokio::sync::Notify;

use super::Listener;
use super::socket::{Acceptor, BoundSocket};
use crate::forward;
use crate::stream::Stream;
use crate::worker::Worker;

/// How long to wait when the system has no descriptor for us.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Accepts until it is told to stop.
pub(crate) async fn accept(
    worker: Rc<Worker>,
    listener: Arc<Listener>,
    socket: BoundSocket,
    stop: Rc<Notify>,
) {
    let socket = match Acceptor::new(socket) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::error!(listener = listener.name(), %error, "cannot accept");
            return;
        }
    };
    worker.shared.listener_ready();
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            () = stop.notified() => break,
        };
        match accepted {
            Ok((stream, peer)) => welcome(&worker, &listener, stream, peer),
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(listener = listener.name(), %error, "cannot accept");
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }
    // Closing the socket would reset the connections of those who are in its queue, with requests in
    // them.
    socket.take_the_last(|(stream, peer)| welcome(&worker, &listener, stream, peer));
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

fn welcome(worker: &Rc<Worker>, listener: &Arc<Listener>, stream: Stream, peer: Option<IpAddr>) {
    let Some(seat) = listener.admit() else {
        turn_away(&stream);
        return;
    };
    if stream.set_nodelay().is_err() {
        return;
    }
    forward::serve(worker, seat, stream, peer);
}

/// Says why, as far as the socket takes it at once, and closes.
fn turn_away(stream: &Stream) {
    let mut out = Vec::new();
    let mut reply = GatewayReply::new(ProxyError::ConnectionLimitReached, "");
    reply.details = Some("the listener has as many connections as its limit allows");
    gateway_reply(&mut out, &reply);
    // Best effort: under this load nobody waits for a slow reader.
    let _ = stream.try_write(&out);
}
