//! The backends behind every proxy that is measured: one thread, edge-triggered epoll, several
//! ports, fixed answers.
//!
//! `backend PORT[,PORT...]` answers `/big` with 1 MiB and every other path with 100 bytes.

mod http;

use anyhow::{Context, Result};
use http::{Answers, Connection};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

/// Tokens from here on are listeners; below are connections.
const LISTENERS: usize = usize::MAX / 2;
const EVENTS: usize = 512;
const READ_BYTES: usize = 65_536;

struct Client {
    stream: TcpStream,
    connection: Connection,
}

struct Server {
    poll: Poll,
    listeners: Vec<TcpListener>,
    clients: Slab<Client>,
    answers: Answers,
    buffer: Vec<u8>,
}

fn main() -> Result<()> {
    let ports = std::env::args()
        .nth(1)
        .context("usage: backend PORT[,PORT...]")?;
    let mut server = Server::bind(&ports)?;
    let mut events = Events::with_capacity(EVENTS);
    loop {
        match server.poll.poll(&mut events, None) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        for event in &events {
            match event.token().0.checked_sub(LISTENERS) {
                Some(listener) => server.accept(listener)?,
                None => server.serve(event.token().0),
            }
        }
    }
}

impl Server {
    fn bind(ports: &str) -> Result<Self> {
        let poll = Poll::new()?;
        let mut listeners = Vec::new();
        for port in ports.split(',') {
            let port: u16 = port.parse().with_context(|| format!("port `{port}`"))?;
            let mut listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port)))
                .with_context(|| format!("port {port}"))?;
            let token = Token(LISTENERS + listeners.len());
            poll.registry()
                .register(&mut listener, token, Interest::READABLE)?;
            listeners.push(listener);
        }
        let (clients, buffer) = (Slab::new(), vec![0; READ_BYTES]);
        Ok(Self {
            poll,
            listeners,
            clients,
            answers: Answers::default(),
            buffer,
        })
    }

    fn accept(&mut self, listener: usize) -> Result<()> {
        loop {
            let mut stream = match self.listeners[listener].accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // A connection that was reset while it waited is its client's loss.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error).context("accept"),
            };
            stream.set_nodelay(true)?;
            let entry = self.clients.vacant_entry();
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll
                .registry()
                .register(&mut stream, Token(entry.key()), interest)?;
            entry.insert(Client {
                stream,
                connection: Connection::default(),
            });
        }
    }

    /// Reads what came and writes what is due; drops the client when it is gone.
    fn serve(&mut self, key: usize) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let alive = client.read(&mut self.buffer) && client.write(&self.answers);
        if !alive {
            self.clients.remove(key);
        }
    }
}

impl Client {
    /// Whether the connection is still of use.
    fn read(&mut self, buffer: &mut [u8]) -> bool {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return false,
                Ok(read) if !self.connection.feed(&buffer[..read]) => return false,
                // After a short read the next would only say that there is no more.
                Ok(read) if read < buffer.len() => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// Whether the connection is still of use.
    fn write(&mut self, answers: &Answers) -> bool {
        while let Some(bytes) = self.connection.due(answers) {
            match self.stream.write(bytes) {
                Ok(written) => self.connection.written(written, answers),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }
}
