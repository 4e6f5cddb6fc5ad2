//! What must hold for every input: splits change nothing, nothing panics, what is written is read
//! back.

mod support;

use evenkeel_http1::{
    Asked, BodyDecoder, BodyEncoder, Encoding, Field, Framing, Limits, RequestHead, ResponseHead,
    Slots, Trailers, fuzz_chunked_body, fuzz_request_head, fuzz_response_head,
};
use proptest::prelude::*;
use support::{VIA, decoded};

/// Pieces of requests, good and bad, that arbitrary bytes would hardly ever hit.
fn request_part() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just("GET / HTTP/1.1\r\n"),
        Just("POST /a?b HTTP/1.0\r\n"),
        Just("GET http://a/x HTTP/1.1\r\n"),
        Just("Host: a\r\n"),
        Just("Host:\ta \r\n"),
        Just("Content-Length: 03\r\n"),
        Just("Transfer-Encoding: chunked\r\n"),
        Just("Connection: close, x-a\r\n"),
        Just("Connection: upgrade\r\nUpgrade: websocket\r\n"),
        Just("X-A:1\r\n"),
        Just("X-Forwarded-For: ::1\r\n"),
        Just("x-request-id: q\r\n"),
        Just("Expect: 100-continue\r\n"),
        Just("Content_Length: 3\r\n"),
        Just("\r\n"),
        Just("\n"),
        Just("\r"),
        Just(" "),
        Just(":"),
        Just("\0"),
    ]
    .prop_map(|text| text.as_bytes().to_vec())
}

/// Mostly well-formed requests.
fn request_text() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        8 => Just(b"GET /p HTTP/1.1\r\nHost: a\r\n".to_vec()),
        1 => Just(Vec::new()),
    ];
    (
        start,
        prop::collection::vec(request_part(), 0..8),
        any::<bool>(),
    )
        .prop_map(|(start, parts, ends)| {
            let end: &[u8] = if ends { b"\r\n" } else { b"" };
            [start, parts.concat(), end.to_vec()].concat()
        })
}

/// Mostly well-formed responses.
fn response_text() -> impl Strategy<Value = Vec<u8>> {
    let status = prop_oneof![
        Just("200 OK"),
        Just("204 No Content"),
        Just("304 Not Modified"),
        Just("103 Early Hints"),
        Just("101 Switching Protocols"),
        Just("200"),
    ];
    let line = prop_oneof![
        4 => request_part(),
        2 => Just(b"Content-Length: 5, 05\r\n".to_vec()),
        1 => Just(b"Transfer-Encoding: x\r\n".to_vec()),
        1 => Just(b"endpoint-load-metrics: x\r\n".to_vec()),
    ];
    (0..2_u8, status, prop::collection::vec(line, 0..8)).prop_map(|(minor, status, lines)| {
        let start = format!("HTTP/1.{minor} {status}\r\n");
        [start.as_bytes(), &lines.concat(), b"\r\n"].concat()
    })
}

/// Legal fields that have no rule of their own, with their white space.
fn plain_field() -> impl Strategy<Value = (String, String, String, String)> {
    (
        "x-p[a-zA-Z0-9!#$%&'*+.^_`|~-]{0,12}",
        "[ \t]{0,2}",
        "([!-~]([ -~]{0,10}[!-~])?)?",
        "[ \t]{0,2}",
    )
}

/// What a prefix of a request comes to: whether it is refused, incomplete, or this long.
fn verdict(bytes: &[u8]) -> Result<Option<usize>, ()> {
    let mut slots = Slots::new();
    RequestHead::parse(bytes, &Limits::default(), &mut slots)
        .map(|head| head.map(|head| head.len))
        .map_err(|_| ())
}

// PROPTEST_CASES sets the number of cases.
proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_request_head(&bytes);
        fuzz_response_head(&bytes);
        fuzz_chunked_body(&bytes);
    }

    #[test]
    fn near_requests_never_break_a_promise(bytes in request_text()) {
        fuzz_request_head(&bytes);
    }

    #[test]
    fn near_responses_never_break_a_promise(bytes in response_text()) {
        fuzz_response_head(&bytes);
        fuzz_response_head(&[bytes, vec![b'x']].concat());
    }

    #[test]
    fn near_chunks_never_break_a_promise(
        parts in prop::collection::vec(
            prop_oneof![
                Just("1\r\na\r\n"), Just("3;x\r\nabc\r\n"), Just("0\r\n"), Just("\r\n\
                     "), Just("\n"), Just("X: y\r\n"),
                Just("ffff"), Just(";"), Just("\r"),
            ],
            0..10,
        ),
    ) {
        fuzz_chunked_body(parts.concat().as_bytes());
    }

    /// Every prefix is incomplete until the whole head is there, or was refused early for good.
    #[test]
    fn a_split_head_is_read_alike(bytes in request_text()) {
        let whole = verdict(&bytes);
        for end in 0..bytes.len() {
            match (verdict(&bytes[..end]), whole) {
                (Ok(None), _) => {}
                (Ok(Some(len)), Ok(Some(whole))) => prop_assert_eq!(len, whole),
                (Err(()), Err(())) => break,
                (part, whole) => prop_assert!(false, "{end}: {part:?} became {whole:?}"),
            }
        }
    }

    #[test]
    fn forwarded_fields_are_the_received_ones(
        fields in prop::collection::vec(plain_field(), 0..20),
        nominated in any::<Option<prop::sample::Index>>(),
    ) {
        let mut text = String::from("GET /p HTTP/1.1\r\nHost: a\r\n");
        for (name, before, value, after) in &fields {
            text.push_str(&format!("{name}:{before}{value}{after}\r\n"));
        }
        let gone = nominated
            .filter(|_| !fields.is_empty())
            .map(|at| &fields[at.index(fields.len())].0);
        if let Some(name) = gone {
            text.push_str(&format!("Connection: {name}\r\n"));
        }
        text.push_str("\r\n");

        let sent = support::forwarded(&text, &VIA);
        let mut slots = Slots::new();
        let head = RequestHead::parse(sent.as_bytes(), &Limits::default(), &mut slots);
        let head = head.expect("well-formed").expect("complete");
        let found: Vec<_> = head.passing_fields().collect();
        let expected: Vec<_> = fields
            .iter()
            .filter(|(name, ..)| gone.is_none_or(|gone| !gone.eq_ignore_ascii_case(name)))
            .map(|(name, _, value, _)| Field { name, value: value.as_bytes() })
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(head.len, sent.len());
    }

    #[test]
    fn what_is_encoded_is_decoded(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..8),
        step in 1..50_usize,
    ) {
        let encoder = BodyEncoder::new(Encoding::Chunked);
        let mut trailers = Trailers::new();
        trailers.push("x-sum", b"1");
        let mut out = Vec::new();
        for part in &parts {
            encoder.data(part, &mut out);
        }
        encoder.finish(&trailers, &mut out);
        let (data, used, done) = decoded(Framing::Chunked, &out, step).expect("well-formed");
        prop_assert_eq!(data, parts.concat());
        prop_assert_eq!((used, done), (out.len(), true));

        let mut decoder = BodyDecoder::new(Framing::Chunked);
        let mut rest = out.as_slice();
        while !decoder.is_done() {
            let piece = decoder.decode(rest).expect("well-formed");
            rest = &rest[piece.consumed..];
        }
        prop_assert_eq!(decoder.trailers(), &trailers);
    }

    #[test]
    fn lengths_are_split_alike(
        data in prop::collection::vec(any::<u8>(), 0..100),
        length in 0..100_u64,
        step in 1..20_usize,
    ) {
        let whole = decoded(Framing::Length(length), &data, data.len().max(1));
        prop_assert_eq!(decoded(Framing::Length(length), &data, step), whole);
    }

    #[test]
    fn a_split_response_is_read_alike(bytes in response_text(), head in any::<bool>()) {
        let asked = Asked { head, upgrade: true };
        let read = |bytes: &[u8]| {
            let mut slots = Slots::new();
            ResponseHead::parse(bytes, &Limits::default(), &mut slots, asked)
                .map(|head| head.map(|head| (head.len, head.framing)))
                .map_err(|_| ())
        };
        let whole = read(&bytes);
        for end in 0..bytes.len() {
            match read(&bytes[..end]) {
                Ok(None) => {}
                part => {
                    prop_assert_eq!(part, whole);
                    break;
                }
            }
        }
    }
}
