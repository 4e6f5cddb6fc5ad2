//! Bytes between two peers as they come, in both directions at once: an upgraded connection, and
//! everything on a TCP listener.
//!
//! The end of one side is passed on to the other, which may go on speaking. A side that breaks tears
//! the other one down with a reset, so that nobody takes a part for the whole.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use evenkeel_core::Nanos;
use tokio::io::AsyncWrite;

use super::client::Client;
use crate::stream::Stream;
use crate::upstream::Carrier;
use crate::worker::alarm::Alarm;
use crate::worker::buffer::Inbox;

/// One peer of a tunnel, and what came of it and has not been passed on.
#[derive(Debug)]
struct Peer<'p> {
    stream: &'p mut Stream,
    inbox: &'p mut Inbox,
}

/// How a tunnel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TunnelEnd {
    /// Both sides had ended theirs.
    InOrder,
    /// Not a byte moved for as long as that may be.
    Idle,
    /// The client's connection broke.
    Client,
    /// The endpoint's did.
    Endpoint,
}

/// Two peers whose bytes are passed on.
#[derive(Debug)]
struct Tunnel<'t> {
    client: Peer<'t>,
    endpoint: Peer<'t>,
    up: Flow,
    down: Flow,
    alarm: &'t Alarm,
    idle: Nanos,
}

/// One direction.
#[derive(Debug, Default)]
struct Flow {
    /// Bytes that were read, and bytes that were written.
    received: u64,
    sent: u64,
    /// Its sender has said that no more comes.
    ended: bool,
    /// Nothing is left to do: its receiver has been told of the end, or takes nothing any more.
    done: bool,
}

/// What came of a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) end: TunnelEnd,
    /// How many bytes the endpoint was sent, and how many the client was.
    pub(super) up: u64,
    pub(super) down: u64,
}

/// Passes on what a client and an endpoint say to each other, to the end, or until neither has said
/// anything for `idle`.
pub(super) async fn pass_on(client: &mut Client, mut carrier: Carrier, idle: Nanos) -> Passed {
    let mut inbox = Inbox::new(&client.worker.buffers);
    let endpoint = Peer {
        stream: carrier.stream(),
        inbox: &mut inbox,
    };
    let peer = Peer {
        stream: &mut client.stream,
        inbox: &mut client.inbox,
    };
    let mut tunnel = Tunnel::new(peer, endpoint, &client.alarm, idle);
    let end = poll_fn(|cx| {
        // Lets go of a configuration that another one has followed.
        client.entry.refresh(&client.worker);
        tunnel.poll(cx)
    })
    .await;
    Passed {
        end,
        up: tunnel.up.sent,
        down: tunnel.down.sent,
    }
}

impl<'t> Tunnel<'t> {
    /// A tunnel that ends when nothing has moved for `idle`.
    fn new(client: Peer<'t>, endpoint: Peer<'t>, alarm: &'t Alarm, idle: Nanos) -> Self {
        alarm.set(idle);
        Self {
            client,
            endpoint,
            up: Flow::default(),
            down: Flow::default(),
            alarm,
            idle,
        }
    }

    /// Moves what can be moved. Ready when the tunnel is at its end.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<TunnelEnd> {
        let before = self.moved();
        let (client, endpoint) = (&mut self.client, &mut self.endpoint);
        let up = self.up.poll(client, endpoint.stream, cx);
        let down = self.down.poll(endpoint, client.stream, cx);
        let end = match (up, down) {
            (Err(_), _) => TunnelEnd::Client,
            (_, Err(_)) => TunnelEnd::Endpoint,
            (Ok(()), Ok(())) if self.up.done && self.down.done => TunnelEnd::InOrder,
            (Ok(()), Ok(())) => {
                if self.moved() != before {
                    self.alarm.set(self.idle);
                }
                ready!(self.alarm.poll_due(cx));
                TunnelEnd::Idle
            }
        };
        self.pass_on(end);
        Poll::Ready(end)
    }

    /// How many bytes were read and written so far.
    fn moved(&self) -> u64 {
        let flows = [&self.up, &self.down];
        flows.map(|flow| flow.received + flow.sent).iter().sum()
    }

    /// Has the peer of a connection that broke see a reset, as it would without a gateway between.
    fn pass_on(&self, end: TunnelEnd) {
        let other = match end {
            TunnelEnd::Client => &self.endpoint,
            TunnelEnd::Endpoint => &self.client,
            TunnelEnd::InOrder | TunnelEnd::Idle => return,
        };
        other.stream.reset_at_end();
    }
}

impl Flow {
    /// Moves bytes until one of the two has to be waited for, or all is done.
    ///
    /// A receiver that fails ends only this direction: what it sent before has yet to be read, and
    /// then its failure is seen there.
    ///
    /// # Errors
    ///
    /// When the sender's connection fails.
    fn poll(
        &mut self,
        from: &mut Peer<'_>,
        to: &mut Stream,
        cx: &mut Context<'_>,
    ) -> io::Result<()> {
        while !self.done {
            match self.poll_write(from.inbox, to, cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => self.done = true,
                Poll::Pending => break,
            }
            if self.done {
                break;
            }
            let Poll::Ready(count) = from.inbox.poll_fill(from.stream, cx) else {
                break;
            };
            let count = count?;
            self.received += count as u64;
            self.ended = count == 0;
        }
        Ok(())
    }

    /// Passes on what was read, and the end behind it.
    fn poll_write(
        &mut self,
        inbox: &mut Inbox,
        to: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !inbox.is_empty() {
            let count = ready!(write(to, inbox.data(), cx))?;
            inbox.consume(count);
            self.sent += count as u64;
        }
        if self.ended {
            ready!(Pin::new(to).poll_shutdown(cx))?;
            self.done = true;
        }
        Poll::Ready(Ok(()))
    }
}

/// Writes once; a socket that takes nothing is broken.
fn write(to: &mut Stream, data: &[u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
    match ready!(Pin::new(to).poll_write(cx, data))? {
        0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        count => Poll::Ready(Ok(count)),
    }
}
