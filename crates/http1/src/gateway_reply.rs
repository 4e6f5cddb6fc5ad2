//! The answers that the gateway gives itself.

use crate::field::{write_field, write_number};
use crate::proxy_error::{ProxyError, phrase};
use crate::reject::Reject;
use crate::response_forward::write_connection;
use crate::version::Version;

/// The interim answer that lets a client send its body (RFC 9110 section 15.2.1).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Describes an answer of the gateway's own.
#[derive(Clone, Copy, Debug)]
pub struct GatewayReply<'a> {
    /// The status code. Start from [`ProxyError::status`] or [`Reject::status`].
    pub status: u16,
    /// What went wrong.
    pub error: ProxyError,
    /// More about it for an operator, in a few words of printable ASCII. Goes into `Proxy-Status`
    /// as `details`.
    pub details: Option<&'a str>,
    /// The cluster that the request was for, if that is known.
    pub cluster: Option<&'a str>,
    /// The request id. Empty when the request was not read so far: it is left out of the head then.
    pub request_id: &'a str,
    /// Seconds after which the client may try again.
    pub retry_after: Option<u32>,
    /// The time as an HTTP date, for the Date field (RFC 9110 section 6.6.1).
    pub date: Option<&'a str>,
    /// The version that the client speaks.
    pub client_version: Version,
    /// The client's connection stays open after the answer. Must be false after a [`Reject`].
    pub keep_alive: bool,
    /// The method was HEAD, so that the body is left out.
    pub head: bool,
}

impl<'a> GatewayReply<'a> {
    /// Makes an answer with the status of the error that closes the connection.
    #[must_use]
    pub const fn new(error: ProxyError, request_id: &'a str) -> Self {
        Self {
            status: error.status(),
            error,
            details: None,
            cluster: None,
            request_id,
            retry_after: None,
            date: None,
            client_version: Version::Http11,
            keep_alive: false,
            head: false,
        }
    }

    /// Makes the answer to a request that is refused. It closes the connection.
    #[must_use]
    pub const fn refused(reject: Reject, request_id: &'a str) -> Self {
        let mut reply = Self::new(ProxyError::HttpRequestError, request_id);
        reply.status = reject.status;
        reply.details = Some(reject.reason);
        reply
    }
}

/// Appends an answer of the gateway's own: a head with `Proxy-Status` (RFC 9209) and a JSON body
/// `{"error","cluster","request_id"}`.
///
/// # Examples
///
/// ```
/// use evenkeel_http1::{GatewayReply, ProxyError, gateway_reply};
///
/// let mut out = Vec::new();
/// let mut reply = GatewayReply::new(ProxyError::DestinationUnavailable, "r1");
/// reply.cluster = Some("web");
/// reply.keep_alive = true;
/// gateway_reply(&mut out, &reply);
/// assert_eq!(
///     String::from_utf8_lossy(&out),
///     "HTTP/1.1 503 Service Unavailable\r\ncache-control: no-store\r\n\
///      content-type: application/json\r\ncontent-length: 70\r\n\
///      x-request-id: r1\r\nProxy-Status: evenkeel; error=destination_unavailable\r\n\r\n\
///      {\"error\":\"destination_unavailable\",\"cluster\":\"web\",\"request_id\":\"r1\"}\n"
/// );
/// ```
pub fn gateway_reply(out: &mut Vec<u8>, reply: &GatewayReply<'_>) {
    let mut body = Vec::with_capacity(128);
    write_json(reply, &mut body);

    write_start(reply.status, out);
    if let Some(date) = reply.date {
        write_field("date", date.as_bytes(), out);
    }
    // Some of these codes may be cached by default (RFC 9110 section 15.1), and they pass.
    out.extend_from_slice(b"cache-control: no-store\r\n");
    out.extend_from_slice(b"content-type: application/json\r\ncontent-length: ");
    write_number(body.len() as u64, out);
    out.extend_from_slice(b"\r\n");
    if !reply.request_id.is_empty() {
        write_field("x-request-id", reply.request_id.as_bytes(), out);
    }
    out.extend_from_slice(b"Proxy-Status: evenkeel; error=");
    out.extend_from_slice(reply.error.word().as_bytes());
    if let Some(details) = reply.details {
        out.extend_from_slice(b"; details=");
        write_sf_string(details, out);
    }
    out.extend_from_slice(b"\r\n");
    if let Some(seconds) = reply.retry_after {
        out.extend_from_slice(b"Retry-After: ");
        write_number(u64::from(seconds), out);
        out.extend_from_slice(b"\r\n");
    }
    write_connection(!reply.keep_alive, reply.client_version, out);
    out.extend_from_slice(b"\r\n");
    if !reply.head {
        out.extend_from_slice(&body);
    }
}

/// Appends a redirect without a body. `location` must be visible ASCII.
///
/// `request_id` may be empty; it is left out then.
pub fn gateway_redirect(
    out: &mut Vec<u8>,
    status: u16,
    location: &str,
    request_id: &str,
    client_version: Version,
    keep_alive: bool,
) {
    write_start(status, out);
    write_field("location", location.as_bytes(), out);
    out.extend_from_slice(b"content-length: 0\r\n");
    if !request_id.is_empty() {
        write_field("x-request-id", request_id.as_bytes(), out);
    }
    write_connection(!keep_alive, client_version, out);
    out.extend_from_slice(b"\r\n");
}

fn write_start(status: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    write_number(u64::from(status), out);
    out.push(b' ');
    out.extend_from_slice(phrase(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn write_json(reply: &GatewayReply<'_>, body: &mut Vec<u8>) {
    body.extend_from_slice(b"{\"error\":");
    write_json_string(reply.error.word(), body);
    body.extend_from_slice(b",\"cluster\":");
    match reply.cluster {
        Some(cluster) => write_json_string(cluster, body),
        None => body.extend_from_slice(b"null"),
    }
    body.extend_from_slice(b",\"request_id\":");
    write_json_string(reply.request_id, body);
    body.extend_from_slice(b"}\n");
}

/// Appends a string as JSON (RFC 8259 section 7). DEL and everything beyond ASCII may stand as it
/// is.
fn write_json_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => {
                let hex = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[hex[usize::from(byte >> 4)], hex[usize::from(byte & 15)]]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Appends a string of a structured field (RFC 8941 section 3.3.3); bytes that it cannot hold
/// become `?`.
fn write_sf_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            _ => out.push(b'?'),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::{write_json_string, write_sf_string};

    #[test]
    fn json_strings_are_escaped() {
        let mut out = Vec::new();
        write_json_string("a\"b\\c\n\u{1f}\u{e9}", &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "\"a\\\"b\\\\c\\u000a\\u001f\u{e9}\""
        );
    }

    #[test]
    fn structured_strings_stay_ascii() {
        let mut out = Vec::new();
        write_sf_string("a\"b\\\n\u{e9}", &mut out);
        assert_eq!(out, b"\"a\\\"b\\\\???\"");
    }
}
