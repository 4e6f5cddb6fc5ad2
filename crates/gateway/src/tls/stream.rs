//! A connection that is secured.
//!
//! A write is done when the system has all of it: whoever is told to wait comes back with the same
//! bytes. So nobody has to flush, and a connection without work holds no buffer but a small one of the
//! library.

use std::future::poll_fn;
use std::io::{self, BufRead as _, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::Connection;
use tokio::io::{AsyncWrite, ReadBuf};

use crate::stream::Stream;
use crate::worker::buffer::Inbox;
use evenkeel_tls::HTTP2;

/// A connection that is secured.
#[derive(Debug)]
pub(crate) struct TlsStream {
    io: Stream,
    connection: Connection,
    /// What came and has not been decrypted.
    wire: Inbox,
    /// How much was taken of what is being written.
    taken: usize,
    /// How much has been decrypted and not been read.
    plain: usize,
    /// We have said that no more comes.
    closing: bool,
}

impl TlsStream {
    /// Secures a connection of which `wire` came already. The handshake has yet to be made.
    pub(crate) fn new(io: Stream, connection: impl Into<Connection>, wire: Inbox) -> Self {
        Self {
            io,
            connection: connection.into(),
            wire,
            taken: 0,
            plain: 0,
            closing: false,
        }
    }

    /// Makes the handshake.
    ///
    /// # Errors
    ///
    /// When the two do not come together.
    pub(crate) async fn shake_hands(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_handshake(cx)).await
    }

    pub(crate) fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_send(cx))?;
            if !self.connection.is_handshaking() {
                return Poll::Ready(Ok(()));
            }
            if self.wire.is_empty() && ready!(self.wire.poll_fill(&mut self.io, cx))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.decrypt(cx)?;
        }
    }

    /// Whether the two sides have agreed on HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(HTTP2)
    }

    /// The connection below.
    pub(crate) fn below(&self) -> &Stream {
        &self.io
    }

    /// Whether bytes or an end wait, as far as is known: no system call.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.plain > 0 || !self.wire.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.io.poll_read_ready(cx)
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = space.filled().len();
        loop {
            let mut reader = self.connection.reader();
            match reader.fill_buf() {
                // An end that was said.
                Ok([]) => return Poll::Ready(Ok(())),
                Ok(data) => {
                    let count = data.len().min(space.remaining());
                    space.put_slice(&data[..count]);
                    reader.consume(count);
                    self.plain = self.plain.saturating_sub(count);
                    if self.plain > 0 && space.remaining() > 0 {
                        continue;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.plain = 0,
                Err(_) if space.filled().len() > before => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error)),
            }
            let has_some = space.filled().len() > before;
            if has_some && (self.wire.is_empty() || space.remaining() == 0) {
                return Poll::Ready(Ok(()));
            }
            if self.wire.is_empty() && ready!(self.wire.poll_fill(&mut self.io, cx))? == 0 {
                // Whether that end was said is known there.
                self.connection.read_tls(&mut io::empty())?;
                continue;
            }
            self.decrypt(cx)?;
        }
    }

    /// Decrypts what came, as far as there is room for it.
    fn decrypt(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let count = self.connection.read_tls(&mut self.wire.data())?;
        self.wire.consume(count);
        let processed = self.connection.process_new_packets();
        // An answer of the protocol itself, or why it ends. It goes out with the next write if it
        // cannot now.
        if self.connection.wants_write() {
            let _ = self.poll_send(cx)?;
        }
        let state = processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.plain = state.plaintext_bytes_to_read();
        Ok(())
    }

    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.taken == 0 {
            ready!(self.poll_send(cx))?;
            self.taken = self.connection.writer().write(data)?;
        }
        ready!(self.poll_send(cx))?;
        Poll::Ready(Ok(std::mem::take(&mut self.taken)))
    }

    /// Says that no more comes, and ends our side below.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.closing {
            self.closing = true;
            self.connection.send_close_notify();
        }
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    /// Sends what is encrypted.
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.connection.wants_write() {
            let mut socket = Socket {
                io: &mut self.io,
                cx,
            };
            match self.connection.write_tls(&mut socket) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The socket as the library writes to it.
struct Socket<'s, 'c, 'w> {
    io: &'s mut Stream,
    cx: &'c mut Context<'w>,
}

fn blocking(poll: Poll<io::Result<usize>>) -> io::Result<usize> {
    match poll {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl io::Write for Socket<'_, '_, '_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        blocking(Pin::new(&mut *self.io).poll_write(self.cx, data))
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        blocking(Pin::new(&mut *self.io).poll_write_vectored(self.cx, parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
