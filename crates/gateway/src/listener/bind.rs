//! Binding: one socket for each worker on the same port, or several holds on one unix socket.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use evenkeel_config::ListenAddress;
use socket2::{Domain, Protocol, Socket, Type};

use super::door::Door;
use super::socket::BoundSocket;
use super::socket_file::SocketFile;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 4096;

/// What was bound: the door, and sockets of it, at least one for each worker.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) door: Arc<Door>,
    pub(crate) sockets: Vec<BoundSocket>,
}

/// Binds `count` sockets to one address.
///
/// # Errors
///
/// When the address cannot be bound.
pub(crate) fn bind(address: &ListenAddress, count: usize) -> io::Result<Bound> {
    let (bound, sockets, file) = match address {
        ListenAddress::Ip(address) => {
            let (address, sockets) = bind_port(*address, count)?;
            let sockets = sockets.into_iter().map(BoundSocket::Tcp).collect();
            (address.into(), sockets, None)
        }
        ListenAddress::Unix(path) => {
            let (file, sockets) = SocketFile::bind(path, count)?;
            let sockets = sockets.into_iter().map(BoundSocket::Unix).collect();
            (address.clone(), sockets, Some(file))
        }
    };
    let door = Arc::new(Door::new(bound, file));
    Ok(Bound { door, sockets })
}

/// Binds `count` sockets to one port; port 0 is picked once for all of them.
///
/// The kernel spreads connections over the sockets. Since sockets that share a port would also share
/// it with a second process of ours, the first bind is exclusive: a busy port is an error.
fn bind_port(address: SocketAddr, count: usize) -> io::Result<(SocketAddr, Vec<TcpListener>)> {
    let probe = open(address)?;
    probe.bind(&address.into())?;
    probe.listen(1)?;
    let address = probe
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::other("not an IP socket"))?;
    drop(probe);
    let sockets = (0..count)
        .map(|_| {
            let socket = open(address)?;
            socket.set_reuse_port(true)?;
            socket.bind(&address.into())?;
            socket.listen(BACKLOG)?;
            Ok(socket.into())
        })
        .collect::<io::Result<Vec<TcpListener>>>()?;
    Ok((address, sockets))
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_a_port_and_nobody_else_gets_it() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, sockets) = bind_port(any, 2).expect("a free port");
        assert_ne!(address.port(), 0);
        assert_eq!(sockets.len(), 2);
        let busy = bind_port(address, 1).expect_err("it is taken");
        assert_eq!(busy.kind(), io::ErrorKind::AddrInUse);
    }
}
