//! A client that knows just enough of HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use super::PATIENCE;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
    head: String,
}

impl Answer {
    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map_or("", |(_, value)| value)
    }
}

/// Asks for a path.
#[track_caller]
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    send(
        address,
        &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"),
    )
}

/// Asks for a path, if somebody is there.
pub(crate) fn try_get(address: SocketAddr, path: &str) -> Option<Answer> {
    try_send(
        address,
        &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"),
    )
}

/// Sends a request as it is written.
#[track_caller]
pub(crate) fn send(address: SocketAddr, request: &str) -> Answer {
    try_send(address, request).expect("an answer")
}

fn try_send(address: SocketAddr, request: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(Answer {
        status: head.get(9..12)?.parse().ok()?,
        text: body.to_owned(),
        head: head.to_owned(),
    })
}
