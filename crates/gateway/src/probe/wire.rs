//! The connection of a check, or of a notification: plain or secured. It moves between threads as checks do, which the
//! connections of workers do not, and nothing of it is quick: each carries one request.

use std::io::{self, Read as _, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::ClientConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::cluster::Place;

/// How much is read at once.
const READ: usize = 8 << 10;

/// What bytes go over.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Opens a connection, for as long as it takes.
pub(crate) async fn open(place: &Place) -> io::Result<Box<dyn Wire>> {
    match place {
        Place::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        Place::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
    }
}

/// A connection that is secured. The handshake is made by whoever reads first.
pub(super) struct Secured {
    below: Box<dyn Wire>,
    tls: ClientConnection,
    /// Encrypted, and how much of it has been sent.
    out: Vec<u8>,
    sent: usize,
}

impl Secured {
    pub(super) fn new(below: Box<dyn Wire>, tls: ClientConnection) -> Self {
        Self {
            below,
            tls,
            out: Vec::new(),
            sent: 0,
        }
    }

    /// Sends all that can be encrypted now.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            while self.sent < self.out.len() {
                let below = Pin::new(&mut self.below);
                match ready!(below.poll_write(cx, &self.out[self.sent..]))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    count => self.sent += count,
                }
            }
            self.out.clear();
            self.sent = 0;
            if !self.tls.wants_write() {
                return Poll::Ready(Ok(()));
            }
            self.tls.write_tls(&mut self.out)?;
        }
    }

    /// Takes in some of what comes; 0 at its end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut chunk = [0; READ];
        let mut buffer = ReadBuf::new(&mut chunk);
        ready!(Pin::new(&mut self.below).poll_read(cx, &mut buffer))?;
        let mut rest = buffer.filled();
        let count = rest.len();
        while !rest.is_empty() {
            self.tls.read_tls(&mut rest)?;
            let processed = self.tls.process_new_packets();
            processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        Poll::Ready(Ok(count))
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            // Our part of the handshake, or an answer to what came.
            let _ = this.poll_send(cx)?;
            match this.tls.reader().read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if ready!(this.poll_fill(cx))? == 0 {
                        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                    }
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let taken = this.tls.writer().write(bytes)?;
        if this.poll_send(cx)?.is_pending() && taken == 0 && !bytes.is_empty() {
            return Poll::Pending;
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_send(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.tls.send_close_notify();
        ready!(this.poll_send(cx))?;
        Pin::new(&mut this.below).poll_shutdown(cx)
    }
}
