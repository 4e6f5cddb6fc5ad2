//! Extended CONNECT (RFC 8441): a stream that becomes a WebSocket, as the upgrade of HTTP/1.1 that it stands
//! for.
//!
//! `CONNECT` with `:protocol` is asked for as `GET` with `Upgrade`; the 101 that answers it is a 200 on the
//! stream, and what follows are bytes in both directions. Another protocol would be another request in
//! HTTP/1.1, or none: it stays a `CONNECT`, which is refused.

use evenkeel_http1::{Pseudo, Reject, compose_request};
use h2::ext::Protocol;
use http::request::Parts;
use http::{Method, Response, StatusCode};

/// The protocol that has a form in HTTP/1.1.
const WEBSOCKET: &str = "websocket";

/// The alphabet of base64.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Whether a request wants its stream to become a WebSocket.
pub(super) fn is_websocket(parts: &Parts) -> bool {
    let is_named = |protocol: &Protocol| protocol.as_str().eq_ignore_ascii_case(WEBSOCKET);
    parts.method == Method::CONNECT && parts.extensions.get().is_some_and(is_named)
}

/// Writes the head of the upgrade that such a request stands for.
///
/// `draw` draws below a number.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn compose<'f, F: Iterator<Item = (&'f str, &'f [u8])>>(
    pseudo: &Pseudo<'_>,
    fields: impl Fn() -> F,
    draw: impl Fn(u32) -> u32,
    head: &mut Vec<u8>,
) -> Result<(), Reject> {
    let pseudo = Pseudo {
        method: "GET",
        ..*pseudo
    };
    // A body has no place there, and a key is for one connection.
    let is_own = |name: &str| name == "sec-websocket-key" || name == "content-length";
    let passing = || fields().filter(|(name, _)| !is_own(name));
    compose_request(&pseudo, passing, false, head)?;
    // Behind the last field, before the empty line.
    head.truncate(head.len() - 2);
    head.extend_from_slice(b"connection: upgrade\r\nupgrade: ");
    head.extend_from_slice(WEBSOCKET.as_bytes());
    head.extend_from_slice(b"\r\nsec-websocket-key: ");
    put_key(draw, head);
    head.extend_from_slice(b"\r\n\r\n");
    Ok(())
}

/// Makes the answer to an upgrade that of the stream, which is open from here on.
pub(super) fn answer(response: &mut Response<()>) {
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().remove("sec-websocket-accept");
}

/// Appends sixteen random bytes in base64 (RFC 6455 section 4.1).
fn put_key(draw: impl Fn(u32) -> u32, head: &mut Vec<u8>) {
    head.extend((0..21).map(|_| ALPHABET[draw(64) as usize]));
    // The last digit holds two bits.
    head.push(ALPHABET[16 * draw(4) as usize]);
    head.extend_from_slice(b"==");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extended_connect_is_an_upgrade() {
        let pseudo = Pseudo {
            method: "CONNECT",
            path: "/chat?x",
            authority: "a",
        };
        let fields = [("origin", &b"http://a"[..]), ("sec-websocket-key", b"mine")];
        let mut head = Vec::new();
        let fields = || fields.iter().copied();
        compose(&pseudo, fields, |parts| parts - 1, &mut head).expect("legal");
        assert_eq!(
            String::from_utf8(head).expect("ASCII"),
            "GET /chat?x HTTP/1.1\r\nhost: a\r\norigin: http://a\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-key: /////////////////////w==\r\n\r\n"
        );
    }
}
