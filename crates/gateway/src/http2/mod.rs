//! HTTP/2 as the rest of the gateway sees it: each stream is a connection that speaks HTTP/1.1 and
//! carries one request.
//!
//! So there is one set of rules for routes, retries, limits, receipts and logs. The price is that heads
//! and chunks are written and read once more inside the process. Frames, HPACK and flow control are
//! the crate `h2`'s; what a peer sends is checked (`compose_*` of `evenkeel-http1`) before it becomes
//! a line of HTTP/1.

mod answer;
mod body_reader;
mod body_writer;
mod connect;
mod fields;
mod incoming;
mod outgoing;
mod streams;
mod watch;
mod wire;

use std::io;

use evenkeel_http1::{HEADERS_MAX, Limits};

pub(crate) use incoming::Incoming;
pub(crate) use outgoing::{Outgoing, Ticket};
pub(crate) use streams::Streams;
pub(crate) use wire::Wire;

/// What a connection that speaks HTTP/2 without having said so begins with (RFC 9113 section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How much of a body a stream may send before it is read, in bytes; and all streams of a connection.
pub(crate) const STREAM_WINDOW: u32 = 256 * 1024;
pub(crate) const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// How much of a body waits for its way out, for each stream, in bytes.
pub(crate) const SEND_BUFFER: usize = 128 * 1024;

/// For heads of the gateway's own making.
const OWN_HEADS: Limits = Limits {
    header_bytes: 4 * 1024 * 1024,
    headers: HEADERS_MAX,
};

/// An error of the library as one of a connection.
///
/// The kind `ConnectionRefused` says that the peer has surely not begun with the request: it refused the
/// stream, or went away and said that it had not come to it (RFC 9113 section 8.7).
fn broken(error: h2::Error) -> io::Error {
    let refused = error.reason() == Some(h2::Reason::REFUSED_STREAM)
        || (error.is_go_away() && error.is_remote());
    let kind = if refused {
        io::ErrorKind::ConnectionRefused
    } else {
        io::ErrorKind::ConnectionReset
    };
    io::Error::new(kind, error)
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
