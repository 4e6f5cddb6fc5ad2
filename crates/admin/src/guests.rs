//! Connections to the admin API: so many at once, and none for nothing.
//!
//! Who may connect is not always who has the token. Without a bound, strangers could take the
//! descriptors that the traffic of the gateway needs.

use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// How many connections there may be at once; more wait to be accepted.
const CONNECTIONS_MAX: usize = 256;

/// How long a connection may stay without a byte in either direction.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// How long a new connection may stay silent: whoever takes places without asking for anything gives
/// them back before a probe of `/healthz` is given up.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(5);

/// Accepts as many connections as there are places.
pub(crate) struct Guests {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

/// A connection that has a place.
pub(crate) struct Guest {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Guests {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        }
    }
}

impl Listener for Guests {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        // The semaphore is never closed, so there is a place in the end.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, peer) = Listener::accept(&mut self.listener).await;
        let guest = Guest {
            stream,
            idle: Box::pin(tokio::time::sleep(FIRST_BYTE_MAX)),
            _place: place,
        };
        (guest, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Guest {
    /// Notes that something moved, or ends a wait that has lasted too long.
    fn watch<T>(
        &mut self,
        moved: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if moved.is_ready() {
            self.idle.as_mut().reset(Instant::now() + IDLE_MAX);
            return moved;
        }
        match self.idle.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Guest {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let moved = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.watch(moved, cx)
    }
}

impl AsyncWrite for Guest {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let moved = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(moved, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let moved = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.watch(moved, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    async fn guests() -> (Guests, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        (Guests::new(listener), address)
    }

    #[tokio::test]
    async fn a_place_is_free_again_when_its_guest_leaves() {
        let (mut guests, address) = guests().await;
        let (_client, (guest, _)) = tokio::join!(TcpStream::connect(address), guests.accept());
        assert_eq!(guests.places.available_permits(), CONNECTIONS_MAX - 1);
        drop(guest);
        assert_eq!(guests.places.available_permits(), CONNECTIONS_MAX);
    }

    #[tokio::test]
    async fn who_says_nothing_for_too_long_leaves() {
        let (mut guests, address) = guests().await;
        let (_client, (mut guest, _)) = tokio::join!(TcpStream::connect(address), guests.accept());
        guest.idle.as_mut().reset(Instant::now());
        let error = guest.read_u8().await.expect_err("nothing was sent");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
