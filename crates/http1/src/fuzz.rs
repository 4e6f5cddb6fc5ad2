//! Entry points for fuzzers: any bytes in, a broken promise is a panic.

use crate::body_decoder::BodyDecoder;
use crate::framing::Framing;
use crate::limits::{Limits, Slots};
use crate::request_forward::Forward;
use crate::request_head::RequestHead;
use crate::response_forward::Reply;
use crate::response_head::{Asked, ResponseHead};

/// Reads bytes as a request. What is passed on must be accepted again, framed alike, and no further
/// change.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_request(bytes: &[u8]) {
    let (limits, mut slots) = (Limits::default(), Slots::new());
    let Ok(Some(head)) = RequestHead::parse(bytes, &limits, &mut slots) else {
        return;
    };
    let via = Forward {
        client: "::1",
        proto: "http",
        request_id: "r",
        fallback_host: "e",
        ..Forward::default()
    };
    let mut once = Vec::new();
    head.forward(&via, &mut once);
    let names = assert_canonical(&once);
    assert_eq!(count(&names, "host"), 1, "one host");
    assert_eq!(
        count(&names, "x-forwarded-for"),
        1,
        "one chain of addresses"
    );

    // A head may grow by what is added.
    let limits = Limits {
        header_bytes: usize::MAX,
        headers: crate::limits::HEADERS_MAX,
    };
    let mut slots = Slots::new();
    let again =
        RequestHead::parse(&once, &limits, &mut slots).expect("a forwarded head is well-formed");
    let again = again.expect("a forwarded head is complete");
    assert_eq!(again.len, once.len(), "nothing is left behind the head");
    assert_eq!(again.framing, head.framing, "both sides see one framing");
    assert_eq!(again.path(), head.path(), "the path is untouched");
    // The fallback host is news to the second gateway, which tells it on.
    if head.authority().is_some() {
        let mut twice = Vec::new();
        again.forward(&via, &mut twice);
        assert_eq!(once, twice, "the canonical form is stable");
    }
}

/// Reads bytes as a response, the first bit of them saying whether to HEAD. What is passed on must
/// be accepted again.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_response(bytes: &[u8]) {
    let asked = Asked {
        head: bytes.len() % 2 == 1,
        upgrade: true,
    };
    let (limits, mut slots) = (Limits::default(), Slots::new());
    let Ok(Some(head)) = ResponseHead::parse(bytes, &limits, &mut slots, asked) else {
        return;
    };
    let to = Reply {
        keep_alive: true,
        request_id: "r",
        ..Reply::default()
    };
    let mut once = Vec::new();
    head.forward(&to, &mut once);
    assert_canonical(&once);

    let limits = Limits {
        header_bytes: usize::MAX,
        headers: crate::limits::HEADERS_MAX,
    };
    let mut slots = Slots::new();
    let again = ResponseHead::parse(&once, &limits, &mut slots, asked)
        .expect("a forwarded head is well-formed");
    let again = again.expect("a forwarded head is complete");
    assert_eq!(again.len, once.len(), "nothing is left behind the head");
    assert_eq!(again.status, head.status, "the status is untouched");
    if let Framing::Length(_) | Framing::None = head.framing {
        assert_eq!(again.framing, head.framing, "both sides see one framing");
    } else {
        assert_eq!(again.framing, Framing::Chunked, "an open end is chunked");
    }
    let mut twice = Vec::new();
    again.forward(&to, &mut twice);
    assert_eq!(once, twice, "the canonical form is stable");
}

/// Checks a written head without the parser that is on trial, and lists its field names.
fn assert_canonical(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head);
    let lines = text
        .strip_suffix("\r\n\r\n")
        .expect("an empty line at the end");
    let mut names = Vec::new();
    for line in lines.split("\r\n").skip(1) {
        assert!(!line.contains(['\r', '\n', '\0']), "a line is one line");
        let (name, value) = line.split_once(": ").expect("a colon and a space");
        assert!(
            !name.is_empty() && !name.contains([' ', '\t', ':']),
            "a name is a token"
        );
        assert_eq!(
            value.trim_matches([' ', '\t']),
            value,
            "no white space around a value"
        );
        names.push(name.to_ascii_lowercase());
        if name.eq_ignore_ascii_case("transfer-encoding") {
            assert_eq!(value, "chunked", "one coding");
        }
    }
    let lengths = count(&names, "content-length") + count(&names, "transfer-encoding");
    assert!(lengths <= 1, "one length at most");
    for hop in [
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "http2-settings",
    ] {
        assert_eq!(count(&names, hop), 0, "{hop} stays here");
    }
    names
}

fn count(names: &[String], name: &str) -> usize {
    names.iter().filter(|other| *other == name).count()
}

/// Reads bytes as a chunked body, whole and byte by byte. Both must find the same.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_chunked(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    let split = read(bytes, 1);
    assert_eq!(whole, split, "a split changes nothing");
}

/// The data, the bytes used, whether the body is complete, and what was wrong.
fn read(bytes: &[u8], step: usize) -> (Vec<u8>, usize, bool, Option<&'static str>) {
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    let (mut data, mut used) = (Vec::new(), 0);
    while used < bytes.len() && !decoder.is_done() {
        let input = &bytes[used..bytes.len().min(used + step)];
        match decoder.decode(input) {
            Ok(piece) => {
                assert!(piece.consumed > 0, "a step makes progress");
                data.extend_from_slice(&input[piece.data]);
                used += piece.consumed;
            }
            // Bytes before the bad one in the same input are not reported.
            Err(bad) => return (Vec::new(), 0, false, Some(bad.reason)),
        }
    }
    (data, used, decoder.is_done(), None)
}
