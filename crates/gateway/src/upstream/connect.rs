//! Opening a connection.

use std::io;

use evenkeel_core::Nanos;
use evenkeel_http1::ProxyError;
use tokio::net::{TcpStream, UnixStream};

use crate::clock::duration;
use crate::cluster::{Place, Target};
use crate::stream::Stream;

/// Why there is no connection. Nothing was sent, so any request may go elsewhere.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("the name does not resolve")]
    Unresolved,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no connection within the time limit")]
    Timeout,
}

impl ConnectError {
    /// What the client is told.
    pub(crate) fn proxy_error(&self) -> ProxyError {
        match self {
            Self::Unresolved => ProxyError::DnsError,
            Self::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                ProxyError::ConnectionTimeout
            }
            Self::Io(_) => ProxyError::ConnectionRefused,
            Self::Timeout => ProxyError::ConnectionTimeout,
        }
    }
}

/// Opens a connection that sends small writes at once.
pub(crate) async fn connect(target: &Target, timeout: Nanos) -> Result<Stream, ConnectError> {
    let place = target.place().ok_or(ConnectError::Unresolved)?;
    let stream = tokio::time::timeout(duration(timeout), open(&place))
        .await
        .map_err(|_| ConnectError::Timeout)??;
    stream.set_nodelay()?;
    Ok(stream)
}

async fn open(place: &Place) -> io::Result<Stream> {
    match place {
        Place::Tcp(address) => TcpStream::connect(address).await.map(Stream::Tcp),
        Place::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
    }
}
