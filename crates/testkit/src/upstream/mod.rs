//! Upstreams that play a script.

mod answer;
mod connection;
mod log;
mod script;

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use evenkeel_core::Endpoint;
use socket2::Socket;

pub use answer::{Act, Answer, Gate};
pub use log::Received;
pub use script::Script;

use crate::silent::{address, bound, bound_to};
use connection::Connection;
use log::Log;

/// How many connections may wait to be accepted. Of those that find no room the system drops the
/// first packet, and sends it again a second later: as long as a gateway waits for a connection.
const QUEUE: i32 = 1024;

/// A server on a free port of the loopback interface that plays a script and logs every byte.
///
/// It has a thread for each connection, and ends with all of them when it is dropped.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    log: Arc<Log>,
    acceptor: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Starts one that plays `script`.
    #[must_use]
    pub fn start(script: Script) -> Self {
        Self::listening(bound(), script)
    }

    /// Starts one at an address of the caller's choice that answers every request with 200 and this body.
    ///
    /// # Errors
    ///
    /// When the address is taken, or this machine has none of its kind.
    pub fn ok_at(address: SocketAddr, body: &str) -> io::Result<Self> {
        let body = body.to_owned();
        let script = Script::new(move |_| Answer::ok(&body));
        Ok(Self::listening(bound_to(address)?, script))
    }

    fn listening(socket: Socket, script: Script) -> Self {
        socket.listen(QUEUE).expect("a bound socket listens");
        let address = address(&socket);
        let listener = TcpListener::from(socket);
        let log = Arc::<Log>::default();
        let acceptor = thread::spawn({
            let log = Arc::clone(&log);
            move || accept(&listener, &Arc::new(script), &log)
        });
        Self {
            address,
            log,
            acceptor: Some(acceptor),
        }
    }

    /// Starts one that gives these answers.
    #[must_use]
    pub fn answering(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(Script::new(answer))
    }

    /// Starts one that answers every request with 200 and this body.
    #[must_use]
    pub fn ok(body: &str) -> Self {
        let body = body.to_owned();
        Self::answering(move |_| Answer::ok(&body))
    }

    /// Starts one that answers every request with its body.
    #[must_use]
    pub fn echo() -> Self {
        Self::answering(|request| Answer::ok(&request.body))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// As an endpoint of that id.
    #[must_use]
    pub fn endpoint(&self, id: &str) -> Endpoint {
        Endpoint::new(id, self.address.to_string())
    }

    /// How many connections were made to it.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.log.connections()
    }

    /// How many of them are open.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.log.open_connections()
    }

    /// How many bytes came in, on all connections.
    #[must_use]
    pub fn bytes_received(&self) -> usize {
        self.log.bytes_received()
    }

    /// How many bytes the system took from it, on all connections.
    #[must_use]
    pub fn bytes_sent(&self) -> usize {
        self.log.bytes_sent()
    }

    /// The most requests that waited for an answer at one time.
    #[must_use]
    pub fn most_waiting(&self) -> usize {
        self.log.most_waiting()
    }

    /// The requests that came in whole, in the order in which they did.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.log.requests()
    }

    /// How many requests came in whole.
    #[must_use]
    pub fn count(&self) -> usize {
        self.log.count()
    }

    /// The only request that came.
    ///
    /// # Panics
    ///
    /// When there was none, or more than one.
    #[must_use]
    #[track_caller]
    pub fn only_request(&self) -> Received {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "one request: {requests:?}");
        requests.remove(0)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.log.end();
        // Wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            // Its connections end with their sockets; nobody waits for them.
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, script: &Arc<Script>, log: &Arc<Log>) {
    for number in 0.. {
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        if log.has_ended() {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
        let (script, log) = (Arc::clone(script), Arc::clone(log));
        let handle = stream.try_clone().expect("a descriptor");
        log.opened(number, handle);
        thread::spawn(move || {
            Connection::new(number, stream, &log).run(&script);
            log.closed(number);
        });
    }
}
