//! Connections to endpoints.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
#[cfg(feature = "tls")]
use tokio_rustls::client::TlsStream;

use super::{Target, Version};

/// A connection of one kind or the other.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Secured(Box<TlsStream<Stream>>),
}

/// What is offered to an endpoint, where that is negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    One,
    Two,
    #[cfg(feature = "tls")]
    Either,
}

impl Target {
    /// Connects within the time for that, and says what is spoken.
    pub(super) async fn dial(&self, offer: Offer) -> io::Result<(Stream, Version)> {
        let dial = async { self.agree(self.open().await?, offer).await };
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        let dialled = tokio::time::timeout(self.options.connect_timeout, dial).await;
        dialled.map_err(late)?
    }

    async fn open(&self) -> io::Result<Stream> {
        match self.address.strip_prefix("unix:") {
            Some(path) => UnixStream::connect(path).await.map(Stream::Unix),
            None => {
                let stream = TcpStream::connect(&*self.address).await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }

    /// Secures a connection, if it is to be.
    async fn agree(&self, stream: Stream, offer: Offer) -> io::Result<(Stream, Version)> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.options.tls {
            let (secured, version) = tls.secure(stream, &self.address, offer).await?;
            return Ok((Stream::Secured(secured), version));
        }
        Ok((stream, offer.version()))
    }
}

impl Offer {
    /// What is spoken with prior knowledge.
    fn version(self) -> Version {
        match self {
            Self::Two => Version::Two,
            _ => Version::One,
        }
    }
}

/// Does the same with either kind of connection.
macro_rules! with {
    ($stream:expr, $one:ident => $work:expr) => {
        match $stream {
            Stream::Tcp($one) => $work,
            Stream::Unix($one) => $work,
            #[cfg(feature = "tls")]
            Stream::Secured($one) => $work,
        }
    };
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_write(cx, buf))
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(cx))
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        with!(self, stream => stream.is_write_vectored())
    }
}
