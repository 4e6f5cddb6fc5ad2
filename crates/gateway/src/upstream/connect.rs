//! Opening a connection.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::Nanos;
use evenkeel_http1::ProxyError;
use tokio::net::{TcpStream, UnixStream};

use crate::cluster::{Place, Target};
use crate::descriptors::{Descriptors, Held, Side};
use crate::stream::Stream;
use crate::tls::{ClientTls, TlsFault, TlsStream};
use crate::worker::buffer::{BufferPool, Inbox};

/// The process, or the system, has no descriptor left; the same number on all systems that this is
/// built for.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Why there is no connection. Nothing was sent, so any request may go elsewhere.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("the name does not resolve")]
    Unresolved,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no secure connection: {0}")]
    Tls(TlsFault),
    #[error("no connection within the time limit")]
    Timeout,
    #[error("the gateway has as many connections as it has descriptors for")]
    NoDescriptor,
}

impl ConnectError {
    /// Whether it is the gateway's own want, and no endpoint is to blame.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self, Self::NoDescriptor)
    }

    /// What the client is told.
    pub(crate) fn proxy_error(&self) -> ProxyError {
        match self {
            Self::Unresolved => ProxyError::DnsError,
            Self::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                ProxyError::ConnectionTimeout
            }
            Self::Io(_) => ProxyError::ConnectionRefused,
            Self::Tls(TlsFault::InvalidCertificate(_)) => ProxyError::TlsCertificateError,
            Self::Tls(_) => ProxyError::TlsProtocolError,
            Self::Timeout => ProxyError::ConnectionTimeout,
            Self::NoDescriptor => ProxyError::ConnectionLimitReached,
        }
    }
}

/// A connection that has just been made.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(super) stream: Stream,
    /// Counted while it lives; none for a stream, whose connection is.
    pub(super) held: Option<Held>,
}

impl Connected {
    /// A stream of a connection that stands.
    pub(super) fn stream(stream: Stream) -> Self {
        Self { stream, held: None }
    }
}

/// How a connection begins.
#[derive(Clone, Debug)]
pub(crate) struct Dial {
    /// How long it may take until it stands.
    pub(crate) timeout: Nanos,
    /// What is sent first, before anything else: a PROXY header; empty: nothing.
    pub(crate) greeting: Box<[u8]>,
    /// How it is secured then.
    pub(crate) tls: Option<Arc<ClientTls>>,
    /// Requests go as streams of HTTP/2.
    pub(crate) http2: bool,
    /// Where what comes on it is put.
    pub(crate) buffers: Rc<BufferPool>,
}

/// Opens a connection that sends small writes at once.
pub(super) async fn connect(
    target: &Target,
    dial: &Dial,
    descriptors: &Arc<Descriptors>,
) -> Result<Connected, ConnectError> {
    let place = target.place().ok_or(ConnectError::Unresolved)?;
    let held = descriptors.hold(Side::Endpoint);
    let held = held.ok_or(ConnectError::NoDescriptor)?;
    let opening = async {
        let stream = open(&place).await?;
        stream.set_nodelay()?;
        if !dial.greeting.is_empty() && stream.try_write(&dial.greeting)? < dial.greeting.len() {
            // The buffer of a new connection has room for it.
            return Err(ConnectError::Io(io::ErrorKind::WriteZero.into()));
        }
        match &dial.tls {
            None => Ok(stream),
            Some(tls) => Box::pin(secure(stream, tls, target, &dial.buffers)).await,
        }
    };
    let stream = tokio::time::timeout(Duration::from(dial.timeout), opening)
        .await
        .map_err(|_| ConnectError::Timeout)?
        .map_err(|error| match error {
            ConnectError::Io(error) if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => {
                ConnectError::NoDescriptor
            }
            error => error,
        })?;
    Ok(Connected {
        stream,
        held: Some(held),
    })
}

/// Makes the handshake with an endpoint.
async fn secure(
    below: Stream,
    tls: &ClientTls,
    target: &Target,
    buffers: &Rc<BufferPool>,
) -> Result<Stream, ConnectError> {
    let connection = tls.begin(target).map_err(ConnectError::Tls)?;
    let wire = Inbox::new(buffers);
    let mut stream = Box::new(TlsStream::new(below, connection, wire));
    match stream.shake_hands().await {
        Ok(()) => Ok(Stream::Tls(stream)),
        Err(error) => Err(match error.downcast::<TlsFault>() {
            Ok(error) => ConnectError::Tls(error),
            Err(error) => ConnectError::Io(error),
        }),
    }
}

async fn open(place: &Place) -> io::Result<Stream> {
    match place {
        Place::Tcp(address) => TcpStream::connect(address).await.map(Stream::Tcp),
        Place::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
    }
}
