//! Heads of answers that the gateway wrote, as a stream has them.
//!
//! They are canonical (`name: value` and CRLF, nothing folded, nothing twice that must not be), so that reading
//! them takes no parser.

use std::io::{self, BufRead as _};

use bytes::Bytes;
use evenkeel_http1::Framing;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use super::{fields, invalid};

/// Differs in each answer: a table of what came before has no use for it.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How many fields have room at once: memory that an allocator has at hand.
const USUAL: usize = 6;

/// Where the status stands in `HTTP/1.1 200 OK`.
const STATUS: std::ops::Range<usize> = 9..12;

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: Response<()>,
    /// How the body behind it comes, if one does.
    pub(super) framing: Framing,
    /// How long it is, in bytes.
    pub(super) len: usize,
}

impl Answer {
    /// Reads a head; none if it is not whole. `is_head`: no body belongs to it.
    ///
    /// # Errors
    ///
    /// When it is none of the gateway's.
    pub(super) fn read(data: &Bytes, is_head: bool) -> io::Result<Option<Self>> {
        let Some(mut at) = line(data, 0) else {
            return Ok(None);
        };
        let status = data.get(STATUS).ok_or_else(broken)?;
        let status = StatusCode::from_bytes(status).map_err(invalid)?;
        let mut list = HeaderMap::with_capacity(USUAL);
        let mut framing = Framing::UntilClose;
        while !data[at..].starts_with(b"\r\n") {
            let Some(next) = line(data, at) else {
                return Ok(None);
            };
            let colon = data[at..next].iter().position(|&byte| byte == b':');
            let colon = at + colon.ok_or_else(broken)?;
            let name = &data[at..colon];
            // Behind the colon and a space, and before the end of the line.
            let value = data.slice((colon + 2).min(next - 2)..next - 2);
            at = next;
            if fields::is_of_connection(name) {
                if name.eq_ignore_ascii_case(b"transfer-encoding") {
                    framing = Framing::Chunked;
                }
                continue;
            }
            let name = HeaderName::from_bytes(name).map_err(invalid)?;
            if name == header::CONTENT_LENGTH {
                framing = Framing::Length(number(&value).ok_or_else(broken)?);
            }
            let mut value = HeaderValue::from_maybe_shared(value).map_err(invalid)?;
            value.set_sensitive(name == REQUEST_ID);
            list.append(name, value);
        }
        let without = is_head || matches!(status.as_u16(), 100 | 102..=199 | 204 | 304);
        let mut response = Response::new(());
        *response.status_mut() = status;
        *response.headers_mut() = list;
        Ok(Some(Self {
            response,
            framing: if without { Framing::None } else { framing },
            len: at + 2,
        }))
    }

    /// Whether another head follows.
    pub(super) fn is_interim(&self) -> bool {
        let status = self.response.status();
        status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS
    }
}

/// Where the next line begins; none if this one has no end yet.
fn line(data: &[u8], at: usize) -> Option<usize> {
    let mut rest = &data[at..];
    // Looks at many bytes at once, and cannot fail.
    let length = rest.skip_until(b'\n').unwrap_or(0);
    let next = at + length;
    data[at..next].ends_with(b"\n").then_some(next)
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn broken() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str, is_head: bool) -> Answer {
        let whole = Bytes::from_static(text.as_bytes());
        for cut in 0..text.len() {
            let part = Answer::read(&whole.slice(..cut), is_head);
            assert!(part.expect("no fault so far").is_none(), "{cut}");
        }
        let read = Answer::read(&whole, is_head).expect("well-formed");
        let read = read.expect("whole");
        assert_eq!(read.len, text.len());
        read
    }

    #[test]
    fn a_head_has_its_status_and_its_fields() {
        let text = "HTTP/1.1 404 Not Found\r\nServer: a: b\r\nx-request-id: 7\r\nempty: \r\n\
                    Content-Length: 12\r\nConnection: close\r\nset-cookie: a\r\nSet-Cookie: b\r\n\r\n";
        let answer = read(text, false);
        assert_eq!(answer.response.status(), 404);
        assert_eq!(answer.framing, Framing::Length(12));
        let list = answer.response.headers();
        assert_eq!(
            (&list["server"], &list["empty"]),
            (&"a: b".parse().unwrap(), &"".parse().unwrap())
        );
        assert!(list["x-request-id"].is_sensitive() && !list["server"].is_sensitive());
        assert_eq!(list.get_all("set-cookie").iter().count(), 2);
        assert_eq!(list.len(), 6);
        assert_eq!(read(text, true).framing, Framing::None);
    }

    #[test]
    fn the_framing_goes_by_status_and_fields() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(read(chunked, false).framing, Framing::Chunked);
        assert_eq!(
            read("HTTP/1.1 200 \r\n\r\n", false).framing,
            Framing::UntilClose
        );
        let bare = read("HTTP/1.1 304 \r\ncontent-length: 9\r\n\r\n", false);
        assert_eq!(bare.framing, Framing::None);
        assert!(read("HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n", false).is_interim());
        let switches = read("HTTP/1.1 101 \r\nUpgrade: websocket\r\n\r\n", false);
        assert!(!switches.is_interim() && switches.response.headers().is_empty());
    }
}
