//! Promises on heads that come from HTTP/2.

use super::WIDE;
use super::reader::{Form, Head, Start};
use crate::body_encoder::{BodyEncoder, Encoding};
use crate::compose::{Pseudo, compose_request, compose_response};
use crate::framing::Framing;
use crate::limits::Slots;
use crate::request_head::RequestHead;
use crate::response_head::{Asked, ResponseHead};
use crate::trailers::Trailers;

/// What stands between the parts of an input: a byte that is in no text.
const BETWEEN: u8 = 0xff;

/// Writes parts as a head of HTTP/1: method, path, authority, then names and values in turn; a byte before them
/// says whether a body follows, and that of a response whether it answers `HEAD`.
///
/// What is accepted is one head, whole, and nothing behind it: no part breaks out of its line. It has a body if,
/// and only if, the stream has one, and data behind it comes out as it went in. What comes of it is read by the rules
/// of HTTP/1, and may be refused there.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_composed(bytes: &[u8]) {
    let Some((flags, rest)) = bytes.split_first() else {
        return;
    };
    let mut parts = rest.split(|byte| *byte == BETWEEN);
    let mut text = || parts.next().and_then(|part| std::str::from_utf8(part).ok());
    let (Some(method), Some(path), Some(authority)) = (text(), text(), text()) else {
        return;
    };
    let rest: Vec<&[u8]> = parts.collect();
    let fields = rest.chunks_exact(2);
    let fields: Vec<(&str, &[u8])> = fields
        .filter_map(|pair| Some((std::str::from_utf8(pair[0]).ok()?, pair[1])))
        .collect();
    let pseudo = Pseudo {
        method,
        path,
        authority,
    };
    check_request(&pseudo, &fields, flags & 1 != 0);
    check_response(method, &fields, flags & 1 != 0, flags & 2 != 0);
}

fn check_request(pseudo: &Pseudo<'_>, fields: &[(&str, &[u8])], has_body: bool) {
    let mut out = Vec::new();
    if compose_request(pseudo, || fields.iter().copied(), has_body, &mut out).is_err() {
        return;
    }
    assert_one_head(&out);
    let mut slots = Slots::new();
    let Ok(head) = RequestHead::parse(&out, &WIDE, &mut slots) else {
        return;
    };
    let head = head.expect("it is whole");
    assert_eq!(head.len, out.len(), "nothing comes behind it");
    assert_eq!(head.method_bytes(), pseudo.method.as_bytes());
    let names_length = fields.iter().any(|(name, _)| *name == "content-length");
    assert_eq!(
        head.framing.has_body() && !names_length,
        has_body && !names_length
    );
    assert!(head.upgrade.is_none(), "no field asks for another protocol");
    check_body(&head, fields);
    let received = Head::read(&out, Start::Request, Form::Received);
    let received = received.expect("what is accepted is well-formed");
    assert!(received.is_some(), "what is accepted is complete");
}

/// Sends the values of fields as the data of a stream behind its head, in the form that the head announces: they
/// come out as they went in, none of them is taken for anything else, and of data beyond an announced length, or
/// short of it, no body is made that looks whole and is not.
fn check_body(head: &RequestHead<'_, '_>, pieces: &[(&str, &[u8])]) {
    let data: Vec<u8> = pieces
        .iter()
        .flat_map(|(_, piece)| *piece)
        .copied()
        .collect();
    let mut sent = Vec::new();
    match head.framing {
        Framing::Chunked => {
            let encoder = BodyEncoder::new(Encoding::Chunked);
            for (_, piece) in pieces.iter().filter(|(_, piece)| !piece.is_empty()) {
                encoder.chunk_start(piece.len(), &mut sent);
                sent.extend_from_slice(piece);
                sent.extend_from_slice(BodyEncoder::CHUNK_END);
            }
            encoder.finish(&Trailers::new(), &mut sent);
        }
        _ => sent.clone_from(&data),
    }
    let (mut decoder, mut rest, mut came) = (head.body_decoder(), &sent[..], Vec::new());
    while !rest.is_empty() && !decoder.is_done() {
        let piece = decoder.decode(rest).expect("what we wrote is well-formed");
        came.extend_from_slice(&rest[piece.data]);
        rest = &rest[piece.consumed..];
    }
    let expected = match head.framing {
        Framing::Chunked | Framing::UntilClose => data.len(),
        Framing::Length(length) => data
            .len()
            .min(usize::try_from(length).unwrap_or(usize::MAX)),
        Framing::None => 0,
    };
    assert_eq!(came, &data[..expected]);
    let is_whole = match head.framing {
        Framing::Length(length) => length <= data.len() as u64,
        _ => true,
    };
    assert_eq!(decoder.is_done(), is_whole);
    assert_eq!(
        rest.len(),
        if head.framing == Framing::Chunked {
            0
        } else {
            data.len() - expected
        }
    );
}

fn check_response(status: &str, fields: &[(&str, &[u8])], has_body: bool, head: bool) {
    let Ok(status @ 100..=999) = status.parse() else {
        return;
    };
    let mut out = Vec::new();
    let composed = compose_response(status, fields.iter().copied(), has_body, head, &mut out);
    if composed.is_err() {
        return;
    }
    assert_one_head(&out);
    let asked = Asked {
        head,
        upgrade: false,
    };
    let mut slots = Slots::new();
    if let Ok(parsed) = ResponseHead::parse(&out, &WIDE, &mut slots, asked) {
        let parsed = parsed.expect("it is whole");
        assert_eq!(parsed.len, out.len(), "nothing comes behind it");
        assert_eq!(parsed.status, status);
    }
}

/// The only empty line is the last one, and no line ends but by both characters.
fn assert_one_head(head: &[u8]) {
    let end = head.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    assert_eq!(
        end,
        Some(head.len() - 4),
        "one head: {}",
        head.escape_ascii()
    );
    let returns = head.iter().filter(|byte| **byte == b'\r').count();
    let feeds = head.iter().filter(|byte| **byte == b'\n').count();
    let ends = head.windows(2).filter(|bytes| bytes == b"\r\n").count();
    assert_eq!((returns, feeds), (ends, ends));
    assert!(!head.contains(&0));
}
