//! Heads that come from HTTP/2, in the bytes of HTTP/1.

use crate::field::{write_field, write_number};
use crate::reject::{BadResponse, Reject};
use crate::token::is_token_byte;

/// The parts of a request that HTTP/2 sends as pseudo-fields (RFC 9113 section 8.3.1).
#[derive(Clone, Copy, Debug)]
pub struct Pseudo<'a> {
    /// `:method`
    pub method: &'a str,
    /// `:path`
    pub path: &'a str,
    /// `:authority`; empty when there is none, so that a Host field stands for it.
    pub authority: &'a str,
}

/// Appends a request of HTTP/2 as an HTTP/1.1 head, to be read by [`RequestHead::parse`].
///
/// So both protocols meet the same rules on routing, forwarding and framing. `:authority` stands
/// above a Host field (RFC 9113 section 8.3.1), several Cookie fields become one (section 8.2.3),
/// and a body of unknown length (`has_body` without a Content-Length) is announced in chunks; its
/// data does not come in chunks, so it is read without a decoder. `fields` gives all fields, whenever it is
/// called.
///
/// # Errors
///
/// A [`Reject`] with 400 when a name or value could break out of its line, or when a field is there
/// that HTTP/2 forbids (section 8.2.2). `out` holds a part of the head then.
///
/// [`RequestHead::parse`]: crate::RequestHead::parse
///
/// # Examples
///
/// ```
/// use evenkeel_http1::{Pseudo, compose_request};
///
/// let pseudo = Pseudo { method: "GET", path: "/", authority: "a" };
/// let fields = [("cookie", &b"a=1"[..]), ("accept", b"*/*"), ("cookie", b"b=2")];
/// let mut head = Vec::new();
/// compose_request(&pseudo, || fields, false, &mut head).expect("legal");
/// assert_eq!(head, b"GET / HTTP/1.1\r\nhost: a\r\naccept: */*\r\ncookie: a=1; b=2\r\n\r\n");
/// ```
pub fn compose_request<'f, F: IntoIterator<Item = (&'f str, &'f [u8])>>(
    pseudo: &Pseudo<'_>,
    fields: impl Fn() -> F,
    has_body: bool,
    out: &mut Vec<u8>,
) -> Result<(), Reject> {
    let line_is_legal = pseudo.method.bytes().all(is_token_byte)
        && pseudo.path.bytes().all(|byte| byte.is_ascii_graphic())
        && legal_value(pseudo.authority.as_bytes());
    if !line_is_legal {
        return Err(Reject::bad("illegal byte in a pseudo-field"));
    }
    out.extend_from_slice(pseudo.method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(pseudo.path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    if !pseudo.authority.is_empty() {
        write_field("host", pseudo.authority.as_bytes(), out);
    }
    let (mut length_known, mut has_cookies) = (false, false);
    for (name, value) in fields() {
        check(name, value).map_err(Reject::bad)?;
        match name {
            "cookie" => {
                has_cookies = true;
                continue;
            }
            "host" if !pseudo.authority.is_empty() => continue,
            "content-length" => length_known = true,
            _ => {}
        }
        write_field(name, value, out);
    }
    if has_cookies {
        write_cookies(fields().into_iter(), out);
    }
    if has_body && !length_known {
        out.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Appends a response of HTTP/2 as an HTTP/1.1 head, to be read by [`ResponseHead::parse`].
///
/// `has_body` is false when the head ended the stream; a length of 0 is announced then, unless the
/// status or the method (`head`) says as much. A body of unknown length is announced in chunks; its
/// data does not come in chunks, so it is read without a decoder.
///
/// # Errors
///
/// A [`BadResponse`] when a name or value could break out of its line, or when a field is there that
/// HTTP/2 forbids (RFC 9113 section 8.2.2). `out` holds a part of the head then.
///
/// [`ResponseHead::parse`]: crate::ResponseHead::parse
pub fn compose_response<'f>(
    status: u16,
    fields: impl IntoIterator<Item = (&'f str, &'f [u8])>,
    has_body: bool,
    head: bool,
    out: &mut Vec<u8>,
) -> Result<(), BadResponse> {
    out.extend_from_slice(b"HTTP/1.1 ");
    write_number(u64::from(status), out);
    out.extend_from_slice(b" \r\n");
    let mut length_known = false;
    for (name, value) in fields {
        check(name, value).map_err(BadResponse::bad)?;
        length_known |= name == "content-length";
        write_field(name, value, out);
    }
    let bodiless = head || status < 200 || status == 204 || status == 304;
    if !length_known && !bodiless {
        let framing: &[u8] = if has_body {
            b"transfer-encoding: chunked\r\n"
        } else {
            b"content-length: 0\r\n"
        };
        out.extend_from_slice(framing);
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Refuses what could not be one line, and what concerns an HTTP/1 connection.
fn check(name: &str, value: &[u8]) -> Result<(), &'static str> {
    let legal_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| is_token_byte(byte) && !byte.is_ascii_uppercase());
    if !legal_name {
        return Err("illegal byte in a field name");
    }
    if !legal_value(value) {
        return Err("illegal byte in a field value");
    }
    let of_connection = match name {
        "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => true,
        "te" => !value.eq_ignore_ascii_case(b"trailers"),
        _ => false,
    };
    if of_connection {
        Err("connection field in http/2")
    } else {
        Ok(())
    }
}

/// Tells whether a value is legal: no controls but tabs, and no white space around it.
fn legal_value(value: &[u8]) -> bool {
    let white = |byte: Option<&u8>| byte.is_some_and(|&byte| byte == b' ' || byte == b'\t');
    value
        .iter()
        .all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
        && !white(value.first())
        && !white(value.last())
}

/// Joins the Cookie fields, of which there are some, into one.
fn write_cookies<'f>(fields: impl Iterator<Item = (&'f str, &'f [u8])>, out: &mut Vec<u8>) {
    let mut any = false;
    for (_, value) in fields.filter(|(name, _)| *name == "cookie") {
        out.extend_from_slice(if any { &b"; "[..] } else { b"cookie: " });
        out.extend_from_slice(value);
        any = true;
    }
    out.extend_from_slice(b"\r\n");
}
