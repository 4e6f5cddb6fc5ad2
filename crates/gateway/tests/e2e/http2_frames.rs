//! A client of HTTP/2 that sends what it is told, frame by frame.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use evenkeel_testkit::PATIENCE;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;

pub(crate) const PROTOCOL_ERROR: u32 = 1;
pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
pub(crate) const STREAM_CLOSED: u32 = 5;
pub(crate) const CANCEL: u32 = 8;
pub(crate) const CALM: u32 = 11;

/// The first byte of a head that begins with the status 200.
pub(crate) const OK: u8 = 0x88;

/// A frame as it came.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The code of a reset, or of a GOAWAY.
    pub(crate) fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        let code = self.payload[at..at + 4].try_into().expect("four bytes");
        u32::from_be_bytes(code)
    }
}

/// A connection on which frames are sent.
pub(crate) struct Frames<S>(pub(crate) S);

impl Frames<TcpStream> {
    /// One that has not said anything yet.
    pub(crate) fn silent(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).expect("it listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        socket.set_nodelay(true).expect("open");
        Self(socket)
    }

    pub(crate) fn connect(address: SocketAddr) -> Self {
        let mut frames = Self::silent(address);
        frames.begin(&[]);
        frames
    }
}

impl<S: Read + Write> Frames<S> {
    /// Sends the preface and these settings.
    pub(crate) fn begin(&mut self, settings: &[(u16, u32)]) {
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend_from_slice(&name.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        let bytes = [PREFACE, &frame(SETTINGS, 0, 0, &payload)].concat();
        assert!(self.try_send(&bytes));
    }

    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        let sent = self.0.write_all(bytes);
        sent.and_then(|()| self.0.flush()).is_ok()
    }

    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        assert!(self.try_send(&frame(kind, flags, stream, payload)));
    }

    /// Sends a request without a body.
    pub(crate) fn ask(&mut self, stream: u32, fields: &[(&str, &str)]) {
        let head = head(fields);
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, &head);
    }

    /// The next frame; none at the end.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut start = [0; 9];
        self.0.read_exact(&mut start).ok()?;
        let length =
            usize::from(start[0]) << 16 | usize::from(start[1]) << 8 | usize::from(start[2]);
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).ok()?;
        Some(Frame {
            kind: start[3],
            flags: start[4],
            stream: u32::from_be_bytes([start[5], start[6], start[7], start[8]]),
            payload,
        })
    }

    /// The next frame of a stream, or the one that ends the connection; none at the end.
    pub(crate) fn next_of(&mut self, stream: u32) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            if frame.stream == stream || frame.kind == GOAWAY {
                return Some(frame);
            }
        }
    }

    /// The code of the GOAWAY that comes, and whether the connection ends behind it; none without one.
    pub(crate) fn goaway(&mut self) -> Option<u32> {
        loop {
            let frame = self.next()?;
            if frame.kind == GOAWAY {
                return Some(frame.code());
            }
        }
    }
}

/// A request with a body.
pub(crate) const POST: [(&str, &str); 4] = [(":method", "POST"), GET[1], GET[2], GET[3]];

/// The simplest request there is.
pub(crate) const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":authority", "a.example"),
    (":path", "/"),
];

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A block of fields: literals that are not indexed, and no Huffman code.
pub(crate) fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            length(text.len(), &mut block);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// A length in the form of RFC 7541 section 5.1, with seven bits in its first byte.
fn length(length: usize, block: &mut Vec<u8>) {
    if length < 127 {
        block.push(length as u8);
        return;
    }
    block.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        block.push((rest % 128 + 128) as u8);
        rest /= 128;
    }
    block.push(rest as u8);
}
