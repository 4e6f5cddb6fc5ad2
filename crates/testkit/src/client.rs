//! A client that sends exact bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::SockRef;

use crate::deadline::{Deadline, PATIENCE};
use crate::message::{Head, Response, show};

/// A TCP connection that sends exact bytes and reads with a deadline.
///
/// Every method panics when the connection fails or [`PATIENCE`] is over, unless it says otherwise.
#[derive(Debug)]
pub struct RawClient {
    stream: TcpStream,
    /// What was received and not taken.
    received: Vec<u8>,
    /// The peer's side has ended.
    ended: bool,
    /// It ended by a RST.
    reset: bool,
}

impl RawClient {
    /// Connects.
    #[must_use]
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)
            .unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"));
        Self::from(stream)
    }

    /// Connects with a receive buffer of about `bytes`, so that what it does not read stays with
    /// the sender.
    #[must_use]
    #[track_caller]
    pub fn connect_narrow(address: SocketAddr, bytes: usize) -> Self {
        let socket = socket2::Socket::new(
            socket2::Domain::for_address(address),
            socket2::Type::STREAM,
            None,
        )
        .expect("a socket");
        socket.set_recv_buffer_size(bytes).expect("a buffer size");
        socket.connect(&address.into()).expect("a connection");
        Self::from(TcpStream::from(socket))
    }

    /// Connects, sends all of `bytes` and leaves the connection open.
    #[must_use]
    #[track_caller]
    pub fn sending(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Self {
        let mut client = Self::connect(address);
        client.send(bytes);
        client
    }

    /// A second hold on the same connection, to send while the first one reads. The connection lives
    /// as long as one of them.
    #[must_use]
    pub fn second_hand(&self) -> Self {
        Self {
            stream: self.stream.try_clone().expect("a descriptor"),
            received: Vec::new(),
            ended: false,
            reset: false,
        }
    }

    /// The address of this side.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.stream.local_addr().expect("a bound socket")
    }

    /// Sends bytes.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.stream
            .write_all(bytes)
            .unwrap_or_else(|error| panic!("cannot send {}: {error}", show(bytes)));
    }

    /// Sends as much of `bytes` as the peer takes: false when it does not take all.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends `bytes` until the peer has taken nothing more for `span`; how many it took.
    pub fn send_until_stuck(&mut self, bytes: impl AsRef<[u8]>, span: Duration) -> usize {
        let patience = self.stream.write_timeout().expect("an open connection");
        let limit = |span| self.stream.set_write_timeout(span).expect("above zero");
        limit(Some(span));
        let mut rest = bytes.as_ref();
        let length = rest.len();
        while let Ok(count @ 1..) = (&self.stream).write(rest) {
            rest = &rest[count..];
        }
        limit(patience);
        length - rest.len()
    }

    /// Sends bytes one by one, each in a write of its own.
    #[track_caller]
    pub fn drip(&mut self, bytes: impl AsRef<[u8]>) {
        for byte in bytes.as_ref() {
            self.send([*byte]);
        }
    }

    /// Ends this side and goes on reading.
    pub fn half_close(&mut self) {
        self.stream
            .shutdown(Shutdown::Write)
            .expect("an open connection");
    }

    /// Tears the connection down with a RST.
    pub fn reset(self) {
        SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .expect("linger can be set");
    }

    /// Reads a whole response to a GET, past interim ones.
    #[track_caller]
    pub fn response(&mut self) -> Response {
        self.response_to("GET")
    }

    /// Reads a whole response to a request of this method, past interim ones.
    #[track_caller]
    pub fn response_to(&mut self, method: &str) -> Response {
        loop {
            let response = self.any_response_to(method);
            if response.status >= 200 {
                return response;
            }
        }
    }

    /// Reads the next response to a request of this method, interim or not.
    ///
    /// One without a length is read up to the end of the connection.
    #[track_caller]
    pub fn any_response_to(&mut self, method: &str) -> Response {
        let deadline = Deadline::after(PATIENCE);
        loop {
            match Response::read(&self.received, method) {
                Some((response, length)) if response.is_whole || self.ended => {
                    self.received.drain(..length);
                    return response;
                }
                None if self.ended => {
                    panic!("no response but the end after {}", show(&self.received))
                }
                _ => self.receive(deadline),
            }
        }
    }

    /// Reads the head of a response; its body is left to be taken.
    #[track_caller]
    pub fn head(&mut self) -> Head {
        let deadline = Deadline::after(PATIENCE);
        loop {
            if let Some((head, length)) = Head::split(&self.received) {
                self.received.drain(..length);
                return head;
            }
            assert!(!self.ended, "no head but {}", show(&self.received));
            self.receive(deadline);
        }
    }

    /// Takes exactly `count` bytes.
    #[track_caller]
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let deadline = Deadline::after(PATIENCE);
        while self.received.len() < count {
            assert!(!self.ended, "the end after {}", show(&self.received));
            self.receive(deadline);
        }
        self.received.drain(..count).collect()
    }

    /// Takes all bytes up to the end of the connection, in order or by a reset.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<u8> {
        let deadline = Deadline::after(PATIENCE);
        while !self.ended {
            self.receive(deadline);
        }
        std::mem::take(&mut self.received)
    }

    /// Takes all bytes up to the end, which must be a reset.
    #[track_caller]
    pub fn rest_before_reset(&mut self) -> Vec<u8> {
        let rest = self.rest();
        assert!(
            self.reset,
            "a reset, not an end in order, after {}",
            show(&rest)
        );
        rest
    }

    /// Waits for the end of the connection, before which nothing may come.
    #[track_caller]
    pub fn expect_end(&mut self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "nothing but the end, not {}", show(&rest));
    }

    /// Whether anything, be it the end, comes within `span`.
    pub fn hears_within(&mut self, span: Duration) -> bool {
        let deadline = Deadline::after(span);
        while self.received.is_empty() && !self.ended && !deadline.is_over() {
            self.try_receive(deadline);
        }
        self.ended || !self.received.is_empty()
    }

    /// Waits for what comes next: whether it is the end.
    #[track_caller]
    pub fn hears_the_end(&mut self) -> bool {
        let deadline = Deadline::after(PATIENCE);
        while self.received.is_empty() && !self.ended {
            self.receive(deadline);
        }
        self.received.is_empty()
    }

    #[track_caller]
    fn receive(&mut self, deadline: Deadline) {
        if !self.try_receive(deadline) {
            panic!("nothing more in time after {}", show(&self.received));
        }
    }

    /// Reads once: false when the deadline is over.
    fn try_receive(&mut self, deadline: Deadline) -> bool {
        let mut bytes = vec![0; 64 * 1024];
        let left = deadline.left().max(Duration::from_millis(1));
        self.stream
            .set_read_timeout(Some(left))
            .expect("a time limit above zero");
        match self.stream.read(&mut bytes) {
            Ok(0) => self.ended = true,
            Ok(count) => self.received.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return false;
            }
            Err(error) => {
                self.ended = true;
                self.reset = error.kind() == ErrorKind::ConnectionReset;
            }
        }
        true
    }
}

impl From<TcpStream> for RawClient {
    fn from(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("an open connection");
        stream
            .set_write_timeout(Some(PATIENCE))
            .expect("a time limit above zero");
        Self {
            stream,
            received: Vec::new(),
            ended: false,
            reset: false,
        }
    }
}
