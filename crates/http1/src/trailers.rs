//! The fields behind a chunked body.

use httparse::{EMPTY_HEADER, Status};

use crate::connection::options;
use crate::field::{Field, write_field};
use crate::field_kind::Kind;
use crate::reject::BadChunk;
use crate::token::is_token_byte;

/// Most bytes of a trailer section. 8 KiB.
pub const TRAILER_BYTES_MAX: usize = 8 * 1024;

/// Most fields of a trailer section.
pub const TRAILER_FIELDS_MAX: usize = 64;

/// Trailer fields that are safe to pass on, in their canonical lines.
///
/// Fields that frame, route, authenticate or describe a message have no business behind its body
/// (RFC 9110 section 6.5.1): whoever merged them into the head would be deceived. They are dropped.
/// Allocates only when there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers {
    lines: Vec<u8>,
}

impl Trailers {
    /// Makes an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Adds a field. One that may not stand here, or is not a legal field, is left out; false then.
    pub fn push(&mut self, name: &str, value: &[u8]) -> bool {
        let legal = !name.is_empty()
            && name.bytes().all(is_token_byte)
            && value
                .iter()
                .all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
            && may_trail(name);
        if legal {
            write_field(name, value, &mut self.lines);
        }
        legal
    }

    /// Tells whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The fields as lines that each end in CRLF, without an empty line behind them.
    #[must_use]
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// The fields in their order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.lines.split(|&byte| byte == b'\n').filter_map(|line| {
            let line = line.strip_suffix(b"\r")?;
            let colon = line.iter().position(|&byte| byte == b':')?;
            let name = std::str::from_utf8(&line[..colon]).ok()?;
            Some(Field {
                name,
                value: &line[colon + 2..],
            })
        })
    }

    /// Reads a trailer section that ends in its empty line. Every line ends in CRLF: the decoder
    /// has seen to that. Fields in the list `named` are left out.
    pub(crate) fn parse(section: &[u8], named: &[u8]) -> Result<Self, BadChunk> {
        let mut slots = [EMPTY_HEADER; TRAILER_FIELDS_MAX];
        let fields = match httparse::parse_headers(section, &mut slots) {
            Ok(Status::Complete((len, fields))) if len == section.len() => fields,
            Ok(_) => {
                return Err(BadChunk {
                    reason: "malformed trailer section",
                });
            }
            Err(httparse::Error::TooManyHeaders) => {
                return Err(BadChunk {
                    reason: "too many trailer fields",
                });
            }
            Err(_) => {
                return Err(BadChunk {
                    reason: "malformed trailer field",
                });
            }
        };
        let mut trailers = Self::new();
        for field in fields {
            let name = field.name.as_bytes();
            if !options(named).any(|option| option.eq_ignore_ascii_case(name)) {
                trailers.push(field.name, field.value);
            }
        }
        Ok(trailers)
    }
}

/// Tells whether a field may stand in a trailer section.
fn may_trail(name: &str) -> bool {
    Kind::of(name) == Kind::Plain
        && !FORBIDDEN
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other))
}

/// Fields that change how a message is read, beside those that have a [`Kind`] of their own.
const FORBIDDEN: [&str; 22] = [
    "age",
    "authorization",
    "cache-control",
    "content-encoding",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expires",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "range",
    "set-cookie",
    "vary",
    "www-authenticate",
];
