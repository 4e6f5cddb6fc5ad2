//! Promises on bodies in chunks.

use super::pieces::{Cut, pieces};
use super::reader::{Body, Ends, Form};
use crate::body_decoder::BodyDecoder;
use crate::body_encoder::{BodyEncoder, Encoding};
use crate::framing::Framing;

/// What was read of a body: its data, trailer lines, the bytes it took, and whether it is complete.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    data: Vec<u8>,
    trailers: Vec<u8>,
    used: usize,
    complete: bool,
}

/// Reads bytes as a body in chunks.
///
/// A split changes nothing, a plain reader agrees, and what is written on is read back as the same
/// body, by both readers.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_chunked_body(bytes: &[u8]) {
    let whole = read(bytes, Cut::Whole);
    let seed = bytes.first().copied().unwrap_or_default();
    for cut in [Cut::Bytes, Cut::Seeded(seed)] {
        assert_eq!(whole, read(bytes, cut), "a split changes nothing");
    }
    let Ok(found) = whole else {
        return;
    };
    // The codec looks at a trailer section once all of it is there, the plain reader at once.
    let plain = Body::read(bytes, Ends::Chunked, Form::Received);
    if let (Err(reason), true) = (&plain, found.complete) {
        panic!("a plain reader refuses it: {reason}");
    }
    let Ok(plain) = plain else {
        return;
    };
    assert_eq!(plain.data, found.data, "both readers find the same data");
    assert_eq!(plain.complete, found.complete, "and the same end");
    if found.complete {
        assert_eq!(plain.used, found.used, "at the same place");
        assert_written_alike(bytes, &found);
    }
}

/// Reads a body from an input that is cut this way, or says what was wrong with it.
fn read(bytes: &[u8], cut: Cut) -> Result<Found, &'static str> {
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    let (mut data, mut used) = (Vec::new(), 0);
    for piece in pieces(bytes, cut) {
        let mut rest = piece;
        while !rest.is_empty() && !decoder.is_done() {
            let step = decoder.decode(rest).map_err(|bad| bad.reason)?;
            assert!(step.consumed > 0, "a step makes progress");
            assert_eq!(step.done, decoder.is_done(), "a step tells the end");
            data.extend_from_slice(&rest[step.data]);
            used += step.consumed;
            rest = &rest[step.consumed..];
        }
    }
    assert_eq!(
        decoder.is_done(),
        decoder.is_done_at_close(),
        "chunks tell their end"
    );
    Ok(Found {
        data,
        trailers: decoder.trailers().lines().to_vec(),
        used,
        complete: decoder.is_done(),
    })
}

/// Writes the body on, in other chunks than it came in, and reads it back.
fn assert_written_alike(bytes: &[u8], found: &Found) {
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    let encoder = BodyEncoder::new(Encoding::Chunked);
    let mut wire = Vec::new();
    for piece in pieces(&bytes[..found.used], Cut::Seeded(7)) {
        let mut rest = piece;
        while !rest.is_empty() {
            let step = decoder.decode(rest).expect("it was read before");
            encoder.data(&rest[step.data], &mut wire);
            rest = &rest[step.consumed..];
        }
    }
    encoder.finish(decoder.trailers(), &mut wire);

    let sent = Body::read(&wire, Ends::Chunked, Form::Sent).expect("what is written is canonical");
    assert_eq!(sent.data, found.data, "the data is untouched");
    assert!(
        sent.complete && sent.used == wire.len(),
        "one end, nothing behind"
    );
    for (name, _) in &sent.trailers {
        let text = String::from_utf8_lossy(name).to_ascii_lowercase();
        assert!(
            !FORBIDDEN.contains(&text.as_str()),
            "{text} in a trailer section"
        );
    }
    let again = read(&wire, Cut::Bytes).expect("what is written is well-formed");
    assert_eq!(again.data, found.data, "decoding undoes encoding");
    assert_eq!(again.trailers, found.trailers, "trailer fields are stable");
}

/// Some fields that must never stand behind a body.
const FORBIDDEN: [&str; 10] = [
    "authorization",
    "connection",
    "content-length",
    "content_length",
    "cookie",
    "host",
    "set-cookie",
    "transfer-encoding",
    "x-forwarded-for",
    "x-request-id",
];
