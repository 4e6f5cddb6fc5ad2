//! The name in the hello of a TLS client (RFC 8446 section 4.1.2, RFC 6066 section 3), for whoever
//! passes the connection on without ending TLS.

/// How much of a connection is looked at for its hello. The largest ones of today's clients, with
/// post-quantum keys, are below 4 KiB.
pub const HELLO_MAX: usize = 16 * 1024;

/// The longest host name.
const NAME_MAX: usize = 253;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// What the beginning of a connection says of the name that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It may yet become a hello.
    More,
    /// It is a hello for this name, in lower case.
    Name(Box<str>),
    /// It is a hello without a name.
    Nobody,
    /// It is no hello: another protocol, or a hello that is malformed or too large.
    NoHello,
}

/// Reads the name that a client asks for off the start of `bytes`. Allocates the name, and a copy of a
/// hello that comes in several records. O(bytes), which are at most [`HELLO_MAX`].
///
/// # Examples
///
/// ```
/// use evenkeel_preface::{Asked, asked_name};
///
/// assert_eq!(asked_name(b"\x16\x03\x01"), Asked::More);
/// assert_eq!(asked_name(b"SSH-2.0"), Asked::NoHello);
/// ```
#[must_use]
pub fn asked_name(bytes: &[u8]) -> Asked {
    let seen = &bytes[..bytes.len().min(HELLO_MAX)];
    match message(seen) {
        Some(Some(hello)) => match name(&hello) {
            Some(Some(name)) => Asked::Name(name),
            Some(None) => Asked::Nobody,
            None => Asked::NoHello,
        },
        Some(None) if seen.len() < HELLO_MAX => Asked::More,
        _ => Asked::NoHello,
    }
}

/// The body of the first handshake message, out of its records: none is no hello, and none inside means
/// that more is needed.
fn message(mut bytes: &[u8]) -> Option<Option<Vec<u8>>> {
    let mut message: Vec<u8> = Vec::new();
    loop {
        let Some(length) = record(bytes)? else {
            return Some(None);
        };
        let payload = &bytes[5..];
        let there = payload.len().min(length);
        message.extend_from_slice(&payload[..there]);
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return None;
        }
        if let [_, high, middle, low, body @ ..] = &*message {
            let wanted = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
            if wanted > HELLO_MAX {
                return None;
            }
            if let Some(hello) = body.get(..wanted) {
                return Some(Some(hello.to_vec()));
            }
        }
        if there < length {
            return Some(None);
        }
        bytes = &payload[length..];
    }
}

/// The length of the record at the start of `bytes`: none if that is no record of a handshake, and none
/// inside if its head is not whole.
fn record(bytes: &[u8]) -> Option<Option<usize>> {
    let start = [HANDSHAKE, 3];
    let common = bytes.len().min(start.len());
    if bytes[..common] != start[..common] {
        return None;
    }
    let [_, _, _, high, low, ..] = bytes else {
        return Some(None);
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    // 2^14 is the most that a record may hold; an empty one carries no handshake.
    (1..=1 << 14).contains(&length).then_some(Some(length))
}

/// A reader of length-prefixed fields.
struct Cursor<'b>(&'b [u8]);

impl<'b> Cursor<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn short(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn within_short(&mut self) -> Option<Self> {
        let length = self.short()?;
        self.take(usize::from(length)).map(Self)
    }
}

/// The name in a hello: none if it is malformed, none inside if there is no name.
fn name(hello: &[u8]) -> Option<Option<Box<str>>> {
    let mut hello = Cursor(hello);
    // Version, random, session id, cipher suites, compression methods.
    hello.take(2 + 32)?;
    let session = hello.byte()?;
    hello.take(usize::from(session))?;
    hello.within_short()?;
    let methods = hello.byte()?;
    hello.take(usize::from(methods))?;
    if hello.0.is_empty() {
        return Some(None);
    }
    let mut extensions = hello.within_short()?;
    if !hello.0.is_empty() {
        return None;
    }
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.short()?;
        let content = extensions.within_short()?;
        if kind == SERVER_NAME {
            // A second one could be read by somebody else.
            let name = host_name(content)?;
            if found.replace(name).is_some() {
                return None;
            }
        }
    }
    Some(found)
}

/// The only host name of an extension, checked.
fn host_name(mut content: Cursor<'_>) -> Option<Box<str>> {
    let mut list = content.within_short()?;
    let kind = list.byte()?;
    let name = list.within_short()?.0;
    let is_alone = kind == HOST_NAME && list.0.is_empty() && content.0.is_empty();
    let is_right = (1..=NAME_MAX).contains(&name.len()) && name.iter().all(is_of_a_name);
    let name = std::str::from_utf8(name).ok()?;
    (is_alone && is_right).then(|| name.to_ascii_lowercase().into())
}

fn is_of_a_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}
