//! A connection of any kind, to a client or to an endpoint.
//!
//! Everything behind accepting and connecting works on this type, so that there is one relay, one
//! pool and one buffer for TCP, unix sockets and what is secured over them. It adds a branch that a CPU predicts to
//! calls that end in the kernel.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::http2::{Incoming, Outgoing};
use crate::tls::TlsStream;

/// A connection of any kind.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
    /// A stream of a client that speaks HTTP/2.
    Incoming(Box<Incoming>),
    /// A stream to an endpoint that speaks HTTP/2.
    Outgoing(Box<Outgoing>),
    /// What is left where one was taken from.
    Taken,
}

fn taken() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

impl Stream {
    /// Whether bytes or an end wait, as far as the runtime knows: no system call.
    #[inline]
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
            Self::Tls(stream) => stream.poll_read_ready(cx),
            Self::Incoming(stream) if stream.has_some() => Poll::Ready(Ok(())),
            Self::Outgoing(stream) if stream.has_some() => Poll::Ready(Ok(())),
            Self::Incoming(_) | Self::Outgoing(_) => Poll::Pending,
            Self::Taken => Poll::Ready(Err(taken())),
        }
    }

    /// Whether the two sides have agreed on HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.speaks_http2())
    }

    /// Writes as much as is taken at once, to one that is not secured.
    pub(crate) fn try_write(&self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(data),
            Self::Unix(stream) => stream.try_write(data),
            Self::Tls(_) | Self::Incoming(_) | Self::Outgoing(_) | Self::Taken => Err(taken()),
        }
    }

    /// Sees to it that small writes leave at once; a unix socket knows nothing else.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nodelay(true),
            Self::Unix(_) | Self::Incoming(_) | Self::Outgoing(_) | Self::Taken => Ok(()),
            Self::Tls(stream) => stream.below().set_nodelay(),
        }
    }

    /// The socket, for its options.
    ///
    /// # Errors
    ///
    /// Where the stream was taken.
    pub(crate) fn socket(&self) -> io::Result<SockRef<'_>> {
        match self {
            Self::Tcp(stream) => Ok(SockRef::from(stream)),
            Self::Unix(stream) => Ok(SockRef::from(stream)),
            Self::Tls(stream) => stream.below().socket(),
            Self::Incoming(_) | Self::Outgoing(_) | Self::Taken => Err(taken()),
        }
    }

    /// Says that no more comes, where that has to be said, as far as the system takes it at once. For
    /// a connection on which nothing is under way.
    pub(crate) fn part(&mut self) {
        if let Self::Tls(stream) = self {
            let mut cx = Context::from_waker(Waker::noop());
            // It is closed in any case.
            let _ = stream.poll_shutdown(&mut cx);
        }
    }

    /// Sees to it that the connection ends with a reset, and what was written and not sent is lost.
    pub(crate) fn reset_at_end(&self) {
        if let Ok(socket) = self.socket() {
            // One that has failed already needs it no more.
            let _ = socket.set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, space),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, space),
            Self::Tls(stream) => stream.poll_read(cx, space),
            Self::Incoming(stream) => stream.poll_read(cx, space),
            Self::Outgoing(stream) => stream.poll_read(cx, space),
            Self::Taken => Poll::Ready(Err(taken())),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Tls(stream) => stream.poll_write(cx, data),
            Self::Incoming(stream) => stream.poll_write(cx, data),
            Self::Outgoing(stream) => stream.poll_write(cx, data),
            Self::Taken => Poll::Ready(Err(taken())),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            // It makes records of what it is given, so pieces would only be small records.
            Self::Tls(stream) => {
                let first = parts.iter().find(|part| !part.is_empty());
                stream.poll_write(cx, first.map_or(&[], |part| part))
            }
            Self::Outgoing(stream) => {
                let first = parts.iter().find(|part| !part.is_empty());
                stream.poll_write(cx, first.map_or(&[], |part| part))
            }
            Self::Incoming(stream) => {
                let first = parts.iter().find(|part| !part.is_empty());
                stream.poll_write(cx, first.map_or(&[], |part| part))
            }
            Self::Taken => Poll::Ready(Err(taken())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => stream.poll_send(cx),
            Self::Incoming(_) | Self::Outgoing(_) => Poll::Ready(Ok(())),
            Self::Taken => Poll::Ready(Err(taken())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => stream.poll_shutdown(cx),
            Self::Incoming(stream) => Poll::Ready(stream.shut_down()),
            // A stream ends with its request.
            Self::Outgoing(_) => Poll::Ready(Ok(())),
            Self::Taken => Poll::Ready(Err(taken())),
        }
    }
}
