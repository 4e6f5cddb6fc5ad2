//! Listening sockets of either kind.

use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::stream::Stream;

/// A listening socket that is on its way to its worker.
#[derive(Debug)]
pub(crate) enum BoundSocket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// A connection, and who the peer is; nobody knows it of one on a unix socket.
pub(super) type Accepted = (Stream, Option<SocketAddr>);

/// A listening socket on the event loop of its worker.
#[derive(Debug)]
pub(crate) enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Acceptor {
    /// Puts a socket on the event loop.
    pub(crate) fn new(socket: BoundSocket) -> io::Result<Self> {
        match socket {
            BoundSocket::Tcp(socket) => TcpListener::from_std(socket).map(Self::Tcp),
            BoundSocket::Unix(socket) => UnixListener::from_std(socket).map(Self::Unix),
        }
    }

    /// Another hold on the same socket, for another process.
    pub(crate) fn lend(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(socket) => socket.as_fd().try_clone_to_owned(),
            Self::Unix(socket) => socket.as_fd().try_clone_to_owned(),
        }
    }

    /// Waits for a connection. Cancel safe: none is lost.
    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(socket) => {
                let (stream, peer) = socket.accept().await?;
                Ok((Stream::Tcp(stream), Some(canonical(peer))))
            }
            Self::Unix(socket) => {
                let (stream, _) = socket.accept().await?;
                Ok((Stream::Unix(stream), None))
            }
        }
    }

    /// The next connection, if one waits.
    pub(super) fn accept_now(&self) -> Option<Accepted> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut accept = pin!(self.accept());
        match accept.as_mut().poll(&mut cx) {
            Poll::Ready(accepted) => accepted.ok(),
            Poll::Pending => None,
        }
    }

    /// Takes in whom the system has let in already, one after another, and closes the socket.
    pub(super) fn take_the_last(self, mut welcome: impl FnMut(Accepted)) {
        match self {
            Self::Tcp(socket) => {
                let Ok(socket) = socket.into_std() else {
                    return;
                };
                while let Ok((stream, peer)) = socket.accept() {
                    let ready = stream.set_nonblocking(true);
                    if let Ok(stream) = ready.and_then(|()| TcpStream::from_std(stream)) {
                        welcome((Stream::Tcp(stream), Some(canonical(peer))));
                    }
                }
            }
            Self::Unix(socket) => {
                let Ok(socket) = socket.into_std() else {
                    return;
                };
                while let Ok((stream, _)) = socket.accept() {
                    let ready = stream.set_nonblocking(true);
                    if let Ok(stream) = ready.and_then(|()| UnixStream::from_std(stream)) {
                        welcome((Stream::Unix(stream), None));
                    }
                }
            }
        }
    }
}

/// An IPv4 address as one, also on a socket for both families.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
