//! The floor: bytes go from a client to one backend and back, and nothing looks at them. What a proxy
//! costs above this, it costs for being a proxy.
//!
//! `relay LISTEN BACKEND[,BACKEND...]`: one thread, edge-triggered epoll, one connection to a backend
//! for each client.

use anyhow::{Context, Result};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Registry, Token};
use slab::Slab;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

const LISTENER: Token = Token(usize::MAX / 2);
const EVENTS: usize = 512;
const READ_BYTES: usize = 65_536;

/// One end of a relayed pair.
struct End {
    stream: TcpStream,
    peer: usize,
    /// Bytes read here that the peer has not taken yet.
    pending: Vec<u8>,
}

struct Relay {
    ends: Slab<End>,
    backends: Vec<SocketAddr>,
    turn: usize,
    buffer: Vec<u8>,
}

fn main() -> Result<()> {
    let usage = "usage: relay LISTEN BACKEND[,BACKEND...]";
    let mut arguments = std::env::args().skip(1);
    let listen: SocketAddr = arguments.next().context(usage)?.parse()?;
    let backends = arguments.next().context(usage)?;
    let backends: Vec<SocketAddr> = backends
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let (ends, buffer) = (Slab::new(), vec![0; READ_BYTES]);
    let mut relay = Relay {
        ends,
        backends,
        turn: 0,
        buffer,
    };

    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind(listen)?;
    poll.registry()
        .register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut events = Events::with_capacity(EVENTS);
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() == LISTENER {
                relay.accept(&listener, poll.registry())?;
                continue;
            }
            let end = event.token().0;
            let mut alive = true;
            if event.is_readable() {
                alive = relay.pump(end);
            }
            // What the peer could not hand on before can go on when this end takes bytes again.
            if alive && event.is_writable() {
                let peer = relay.ends.get(end).map(|end| end.peer);
                alive = peer.is_none_or(|peer| relay.pump(peer));
            }
            if !alive {
                relay.close(end);
            }
        }
    }
}

impl Relay {
    fn accept(&mut self, listener: &TcpListener, registry: &Registry) -> Result<()> {
        loop {
            let client = match listener.accept() {
                Ok((client, _)) => client,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("accept"),
            };
            let backend = TcpStream::connect(self.backends[self.turn % self.backends.len()])?;
            self.turn += 1;
            let client = self.insert(client, registry)?;
            let backend = self.insert(backend, registry)?;
            self.ends[client].peer = backend;
            self.ends[backend].peer = client;
        }
    }

    fn insert(&mut self, mut stream: TcpStream, registry: &Registry) -> Result<usize> {
        stream.set_nodelay(true)?;
        let entry = self.ends.vacant_entry();
        let key = entry.key();
        registry.register(
            &mut stream,
            Token(key),
            Interest::READABLE | Interest::WRITABLE,
        )?;
        entry.insert(End {
            stream,
            peer: key,
            pending: Vec::new(),
        });
        Ok(key)
    }

    /// Hands on what came to this end; whether the pair is still of use.
    fn pump(&mut self, from: usize) -> bool {
        loop {
            if !self.flush(from) {
                return false;
            }
            let Some(end) = self.ends.get_mut(from) else {
                return true;
            };
            if !end.pending.is_empty() {
                return true;
            }
            let read = match end.stream.read(&mut self.buffer) {
                Ok(0) => return false,
                Ok(read) => read,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            };
            let peer = end.peer;
            let Some(written) = write(&mut self.ends[peer].stream, &self.buffer[..read]) else {
                return false;
            };
            self.ends[from]
                .pending
                .extend_from_slice(&self.buffer[written..read]);
            if read < self.buffer.len() {
                return true;
            }
        }
    }

    /// Hands on what was read before; whether the pair is still of use.
    fn flush(&mut self, from: usize) -> bool {
        let Some(end) = self
            .ends
            .get_mut(from)
            .filter(|end| !end.pending.is_empty())
        else {
            return true;
        };
        let (peer, pending) = (end.peer, std::mem::take(&mut end.pending));
        let Some(written) = write(&mut self.ends[peer].stream, &pending) else {
            return false;
        };
        self.ends[from].pending = pending[written..].to_vec();
        true
    }

    fn close(&mut self, end: usize) {
        if let Some(end) = self.ends.try_remove(end) {
            self.ends.try_remove(end.peer);
        }
    }
}

/// How many bytes the stream took; None when it is gone.
fn write(stream: &mut TcpStream, bytes: &[u8]) -> Option<usize> {
    match stream.write(bytes) {
        Ok(written) => Some(written),
        // A connection that is still being made takes nothing yet.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::NotConnected
            ) =>
        {
            Some(0)
        }
        Err(_) => None,
    }
}
