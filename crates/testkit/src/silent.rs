//! Addresses at which nobody answers.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use evenkeel_core::Endpoint;
use socket2::{Domain, Socket, Type};

/// An address that refuses connections for as long as this lives: bound, but not listening.
#[derive(Debug)]
pub struct Refusing {
    socket: Socket,
}

/// An address that lets connections hang: its queue is full, and nobody accepts.
#[derive(Debug)]
pub struct Blackhole {
    socket: Socket,
    /// Fill the queue.
    _waiting: Vec<Socket>,
}

impl Refusing {
    /// Reserves a free port.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it takes a port")]
    pub fn new() -> Self {
        Self { socket: bound() }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        address(&self.socket)
    }

    /// As an endpoint of that id.
    #[must_use]
    pub fn endpoint(&self, id: &str) -> Endpoint {
        Endpoint::new(id, self.address().to_string())
    }
}

impl Blackhole {
    /// Fills the queue of a free port.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it takes a port")]
    pub fn new() -> Self {
        let socket = bound();
        socket.listen(0).expect("a bound socket listens");
        let to = address(&socket);
        let mut waiting = Vec::new();
        // One more than the queue holds is enough on most systems; a few more do no harm.
        for _ in 0..4 {
            let client = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            client.set_nonblocking(true).expect("a socket");
            // In progress, and it stays so.
            let _ = client.connect(&to.into());
            waiting.push(client);
        }
        let probe = TcpStream::connect_timeout(&to, Duration::from_millis(100));
        assert!(probe.is_err(), "the queue is full");
        Self {
            socket,
            _waiting: waiting,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        address(&self.socket)
    }

    /// As an endpoint of that id.
    #[must_use]
    pub fn endpoint(&self, id: &str) -> Endpoint {
        Endpoint::new(id, self.address().to_string())
    }
}

/// A socket on a free port of the loopback interface that does not listen yet.
pub(crate) fn bound() -> Socket {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    bound_to(any).expect("a free port")
}

/// A socket at this address that does not listen yet.
pub(crate) fn bound_to(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Where it is bound.
pub(crate) fn address(socket: &Socket) -> SocketAddr {
    socket
        .local_addr()
        .ok()
        .and_then(|address| address.as_socket())
        .expect("a bound socket has an address")
}
