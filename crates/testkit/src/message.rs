//! As much of HTTP/1 as assertions need.

use std::fmt;

/// The head of a message: its first line and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The first line, without its end.
    pub line: String,
    /// The fields in order, names as they came.
    pub fields: Vec<(String, String)>,
}

impl Head {
    /// Splits a head off the start of `bytes`: the head and its length, none while it is not whole.
    #[must_use]
    pub fn split(bytes: &[u8]) -> Option<(Self, usize)> {
        let length = find(bytes, b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&bytes[..length - 4]);
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let fields = lines
            .map(|field| match field.split_once(':') {
                Some((name, value)) => (name.to_owned(), value.trim().to_owned()),
                None => (field.to_owned(), String::new()),
            })
            .collect();
        Some((Self { line, fields }, length))
    }

    /// The value of the first field of that name, in any case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all(name).into_iter().next()
    }

    /// The values of all fields of that name, in any case.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.fields
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// How the body behind this head is framed, if the message can have one.
    pub(crate) fn framing(&self) -> Framing {
        let chunked = self
            .field("transfer-encoding")
            .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
        match self.field("content-length") {
            _ if chunked => Framing::Chunked,
            Some(length) => Framing::Length(length.parse().expect("a length is a number")),
            None => Framing::Open,
        }
    }
}

/// How a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Chunked,
    Length(usize),
    /// By nothing: no body in a request, up to the close in a response.
    Open,
}

/// A body as far as it has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) data: Vec<u8>,
    pub(crate) trailers: Vec<String>,
    /// Bytes that it took.
    pub(crate) length: usize,
    pub(crate) is_whole: bool,
}

impl Body {
    /// Reads a body from the start of `bytes`.
    pub(crate) fn read(framing: Framing, bytes: &[u8]) -> Self {
        match framing {
            Framing::Chunked => Self::read_chunks(bytes),
            Framing::Length(length) => Self::plain(bytes, length),
            Framing::Open => Self {
                is_whole: false,
                ..Self::plain(bytes, bytes.len())
            },
        }
    }

    fn plain(bytes: &[u8], length: usize) -> Self {
        let length_there = length.min(bytes.len());
        Self {
            data: bytes[..length_there].to_vec(),
            trailers: Vec::new(),
            length: length_there,
            is_whole: length_there == length,
        }
    }

    fn read_chunks(bytes: &[u8]) -> Self {
        let mut body = Self::default();
        while let Some(line) = find(&bytes[body.length..], b"\r\n") {
            let start = body.length + line + 2;
            let size = &bytes[body.length..body.length + line];
            let size = usize::from_str_radix(&String::from_utf8_lossy(size), 16)
                .unwrap_or_else(|_| panic!("not a clean chunk size: {}", show(size)));
            if size == 0 {
                body.read_trailers(bytes, start);
                return body;
            }
            let end = start + size;
            if bytes.len() < end + 2 {
                body.data
                    .extend_from_slice(&bytes[start..end.min(bytes.len())]);
                return body;
            }
            assert_eq!(&bytes[end..end + 2], b"\r\n", "a chunk ends in CRLF");
            body.data.extend_from_slice(&bytes[start..end]);
            body.length = end + 2;
        }
        body
    }

    fn read_trailers(&mut self, bytes: &[u8], mut at: usize) {
        while let Some(line) = find(&bytes[at..], b"\r\n") {
            let text = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
            at += line + 2;
            if line == 0 {
                self.length = at;
                self.is_whole = true;
                return;
            }
            self.trailers.push(text);
        }
    }
}

/// A response as a client reads it.
#[derive(Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The head.
    pub head: Head,
    /// The body, without chunk syntax.
    pub body: Vec<u8>,
    /// The trailer fields, a line each.
    pub trailers: Vec<String>,
    /// Its length or its last chunk says that all of it came; a body without either ends with the
    /// connection and never says so.
    pub is_whole: bool,
}

impl Response {
    /// Reads a response to a request of this method: it and its length, none while there is no head.
    #[must_use]
    pub fn read(bytes: &[u8], method: &str) -> Option<(Self, usize)> {
        let (head, length) = Head::split(bytes)?;
        let status = head
            .line
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or_else(|| panic!("not a status line: {:?}", head.line));
        let framing = match status {
            100..=199 | 204 | 304 => Framing::Length(0),
            _ if method == "HEAD" => Framing::Length(0),
            _ => head.framing(),
        };
        let body = Body::read(framing, &bytes[length..]);
        let response = Self {
            status,
            head,
            body: body.data,
            trailers: body.trailers,
            is_whole: body.is_whole,
        };
        Some((response, length + body.length))
    }

    /// The value of the first field of that name, in any case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.field(name)
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether the connection ends with it, as far as the head says.
    #[must_use]
    pub fn says_close(&self) -> bool {
        self.field("connection")
            .is_some_and(|option| option.eq_ignore_ascii_case("close"))
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("line", &self.head.line)
            .field("fields", &self.head.fields)
            .field("body", &show(&self.body))
            .field("trailers", &self.trailers)
            .field("is_whole", &self.is_whole)
            .finish()
    }
}

/// The start of `bytes`, fit for a message.
pub(crate) fn show(bytes: &[u8]) -> String {
    const SHOWN: usize = 300;
    let text = bytes[..bytes.len().min(SHOWN)].escape_ascii();
    let rest = bytes.len().saturating_sub(SHOWN);
    if rest > 0 {
        format!("\"{text}\" and {rest} bytes more")
    } else {
        format!("\"{text}\"")
    }
}

pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_told_apart() {
        let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            2\r\nok\r\n0\r\nA: b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
        let (first, length) = Response::read(bytes, "GET").expect("a head");
        assert_eq!((first.status, first.text()), (200, "ok".into()));
        assert_eq!(first.trailers, ["A: b"]);
        assert!(first.is_whole);
        let (second, rest) = Response::read(&bytes[length..], "GET").expect("a head");
        assert_eq!((second.status, second.is_whole), (204, true));
        assert_eq!(length + rest, bytes.len());
    }

    #[test]
    fn what_is_cut_is_not_whole() {
        let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
        let (response, _) = Response::read(cut, "GET").expect("a head");
        assert_eq!((response.text(), response.is_whole), ("abc".into(), false));
        let (response, _) = Response::read(cut, "HEAD").expect("a head");
        assert!(response.is_whole);
    }
}
