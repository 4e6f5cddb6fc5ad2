//! Bodies in and out: the chunk rows of the case log, each at every split.

mod support;

use evenkeel_http1::{
    Asked, BodyDecoder, BodyEncoder, CHUNK_EXTENSION_BYTES_MAX, Encoding, Framing, Reject,
    TRAILER_BYTES_MAX, TRAILER_FIELDS_MAX, Trailers,
};
use support::{decoded, request, response};

/// Reads a chunked body at several splits, which must agree.
fn chunked(input: &[u8]) -> Result<(Vec<u8>, usize, bool), &'static str> {
    let whole = decoded(Framing::Chunked, input, usize::MAX);
    for step in [1, 2, 3, 7] {
        assert_eq!(
            decoded(Framing::Chunked, input, step),
            whole,
            "in steps of {step}"
        );
    }
    whole
}

#[test]
fn well_formed_chunks_are_read() {
    for (text, data) in [
        ("0\r\n\r\n", ""),
        ("2\r\nok\r\n0\r\n\r\n", "ok"),
        ("000000000000000A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("a\r\n0123456789\r\n1\r\n!\r\n00\r\n\r\n", "0123456789!"),
        ("2;x=y\r\nok\r\n0;z\r\n\r\n", "ok"),
        ("2;a=\"b;c\";d\r\nok\r\n0\r\n\r\n", "ok"),
        ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
    ] {
        let expected = Ok((data.as_bytes().to_vec(), text.len(), true));
        assert_eq!(chunked(text.as_bytes()), expected, "{text:?}");
        let followed = format!("{text}GET / HTTP/1.1\r\n");
        assert_eq!(chunked(followed.as_bytes()), expected, "{followed:?}");
    }
}

#[test]
fn e03_odd_chunks_are_refused() {
    for text in [
        "0x1\r\na\r\n0\r\n\r\n",
        "+1\r\na\r\n0\r\n\r\n",
        "-1\r\na\r\n0\r\n\r\n",
        " 1\r\na\r\n0\r\n\r\n",
        "1 \r\na\r\n0\r\n\r\n",
        "1\t;x\r\na\r\n0\r\n\r\n",
        "1_0\r\na\r\n0\r\n\r\n",
        "g\r\na\r\n0\r\n\r\n",
        "00000000000000001\r\na\r\n0\r\n\r\n",
        "1\ra\r\n0\r\n\r\n",
        "1\na\n0\n\n",
        "1\r\na\n0\r\n\r\n",
        "1\r\na\r0\r\n\r\n",
        "1\r\nab\r\n0\r\n\r\n",
        "2\r\na\r\n0\r\n\r\n",
        "1;x\ny\r\na\r\n0\r\n\r\n",
        "1;x\0\r\na\r\n0\r\n\r\n",
        "1;x\ry\r\na\r\n0\r\n\r\n",
        "\r\n1\r\na\r\n0\r\n\r\n",
        ";x\r\n\r\n",
        "\r\n",
        "1\r\na\r\n\r\n\r\n",
        "0\r\n\n",
        "0\r\n\rX",
        "0\n\r\n",
        "0\r\nX: y\n\r\n",
        "0\r\nX: y\r\n\n",
        "0\r\nX : y\r\n\r\n",
        "0\r\nX: y\r\n z\r\n\r\n",
        "0\r\nX: y\rz\r\n\r\n",
        "0\r\nX: \0\r\n\r\n",
        "0\r\nGET / HTTP/1.1\r\n\r\n",
    ] {
        assert!(chunked(text.as_bytes()).is_err(), "{text:?}");
    }
}

#[test]
fn e03_a_bad_chunk_is_the_clients_400() {
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    let bad = decoder.decode(b"0x1\r\n").expect_err("not hexadecimal");
    assert_eq!(Reject::from(bad).status, 400);
}

#[test]
fn e03_extension_bytes_are_limited() {
    let max = CHUNK_EXTENSION_BYTES_MAX as usize;
    let line = |len: usize| format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(len));
    assert!(
        chunked(line(max - 1).as_bytes()).is_ok(),
        "a line of just the limit"
    );
    assert!(chunked(line(max).as_bytes()).is_err(), "a byte more");
    assert!(chunked(line(64 * 1024).as_bytes()).is_err(), "64 KiB");

    let drip = "1;xxxxxxxx\r\na\r\n".repeat(4000);
    assert!(
        decoded(Framing::Chunked, drip.as_bytes(), 4096).is_err(),
        "more extension than data"
    );
    let signed = format!(
        "2000;chunk-signature={}\r\n{}\r\n",
        "f".repeat(64),
        "d".repeat(0x2000)
    );
    let upload = format!("{}0;chunk-signature=0\r\n\r\n", signed.repeat(500));
    assert!(
        decoded(Framing::Chunked, upload.as_bytes(), 65536).is_ok(),
        "a signed upload"
    );
}

#[test]
fn e05_a_cut_body_is_not_complete() {
    for text in [
        "",
        "5",
        "5\r\nhel",
        "5\r\nhello",
        "5\r\nhello\r\n",
        "0",
        "0\r\n",
        "0\r\n\r",
        "0\r\nX: y\r\n",
    ] {
        let mut decoder = BodyDecoder::new(Framing::Chunked);
        let mut input = text.as_bytes();
        while !input.is_empty() {
            let piece = decoder.decode(input).expect("nothing wrong so far");
            input = &input[piece.consumed..];
        }
        assert!(
            !decoder.is_done() && !decoder.is_done_at_close(),
            "{text:?}"
        );
    }
    let mut decoder = BodyDecoder::new(Framing::Length(10));
    decoder.decode(b"abc").expect("data");
    assert!(!decoder.is_done_at_close());
    assert_eq!(decoder.remaining(), Some(7));
}

#[test]
fn lengths_take_no_byte_too_many() {
    assert_eq!(
        decoded(Framing::Length(2), b"okEXTRA", 100),
        Ok((b"ok".to_vec(), 2, true))
    );
    assert_eq!(
        decoded(Framing::Length(0), b"EXTRA", 100),
        Ok((Vec::new(), 0, true))
    );
    assert_eq!(
        decoded(Framing::None, b"EXTRA", 100),
        Ok((Vec::new(), 0, true))
    );
    let huge = decoded(Framing::Length(u64::MAX), b"abc", 1);
    assert_eq!(huge, Ok((b"abc".to_vec(), 3, false)));
    let huge_chunk = decoded(Framing::Chunked, b"ffffffffffffffff\r\nabc", 1);
    assert_eq!(huge_chunk, Ok((b"abc".to_vec(), 21, false)));
}

#[test]
fn a_close_ends_what_has_no_other_end() {
    assert_eq!(
        decoded(Framing::UntilClose, b"abc", 2),
        Ok((b"abc".to_vec(), 3, false))
    );
    assert!(BodyDecoder::new(Framing::UntilClose).is_done_at_close());
}

/// The trailers of a chunked body.
fn trailers(section: &str) -> Result<Trailers, &'static str> {
    let text = format!("0\r\n{section}\r\n");
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    let piece = decoder.decode(text.as_bytes()).map_err(|bad| bad.reason)?;
    assert!(piece.done && piece.consumed == text.len());
    Ok(decoder.trailers().clone())
}

#[test]
fn trailers_pass_but_for_those_that_would_change_the_message() {
    let kept = trailers(
        "Grpc-Status:  5 \r\nContent-Length: 5\r\nX-A: 1\r\ntransfer-encoding: chunked\r\n\
         Host: b\r\n\
         Trailer: x\r\nSet-Cookie: a\r\nAuthorization: x\r\nX-Forwarded-For: ::\r\n\
         Connection: X-A\r\n\
         x-request-id: r\r\nContent-Type: a/b\r\nX-E:\r\n",
    )
    .expect("well-formed");
    assert_eq!(kept.lines(), b"Grpc-Status: 5\r\nX-A: 1\r\nX-E: \r\n");
    let fields: Vec<_> = kept
        .fields()
        .map(|field| (field.name, field.value))
        .collect();
    assert_eq!(
        fields,
        [("Grpc-Status", &b"5"[..]), ("X-A", b"1"), ("X-E", b"")]
    );
    assert!(trailers("").expect("none").is_empty());
}

#[test]
fn trailers_have_limits() {
    let many = |count: usize| "X: y\r\n".repeat(count);
    assert!(trailers(&many(TRAILER_FIELDS_MAX)).is_ok());
    assert!(trailers(&many(TRAILER_FIELDS_MAX + 1)).is_err());
    let long = format!("X: {}\r\n", "y".repeat(TRAILER_BYTES_MAX));
    assert!(trailers(&long).is_err());
}

#[test]
fn trailers_are_checked_when_pushed() {
    let mut trailers = Trailers::new();
    assert!(trailers.push("grpc-status", b"0"));
    for (name, value) in [
        ("", &b"x"[..]),
        ("a b", b"x"),
        ("a", b"x\r\ny: z"),
        ("a", b"\0"),
        ("host", b"x"),
        ("date", b"x"),
    ] {
        assert!(!trailers.push(name, value), "{name:?}");
    }
    assert_eq!(trailers.lines(), b"grpc-status: 0\r\n");
}

#[test]
fn bodies_are_written_in_their_form() {
    let mut trailers = Trailers::new();
    trailers.push("x", b"y");
    for (encoding, expected) in [
        (Encoding::None, &b""[..]),
        (Encoding::Identity, b"hello world, hello"),
        (
            Encoding::Chunked,
            b"d\r\nhello world, \r\n5\r\nhello\r\n0\r\nx: y\r\n\r\n",
        ),
    ] {
        let encoder = BodyEncoder::new(encoding);
        let mut out = Vec::new();
        for data in ["hello world, ", "", "hello"] {
            encoder.data(data.as_bytes(), &mut out);
        }
        encoder.finish(&trailers, &mut out);
        assert_eq!(out, expected, "{encoding:?}");
        assert_eq!(encoder.is_identity(), encoding == Encoding::Identity);
    }
}

#[test]
fn chunk_sizes_are_hexadecimal() {
    let encoder = BodyEncoder::new(Encoding::Chunked);
    for (len, line) in [
        (1, "1\r\n"),
        (16, "10\r\n"),
        (0x4_0000, "40000\r\n"),
        (usize::MAX, "ffffffffffffffff\r\n"),
    ] {
        let mut out = Vec::new();
        encoder.chunk_start(len, &mut out);
        assert_eq!(out, line.as_bytes());
    }
}

/// RFC 9110 section 7.6.1 means trailer fields as well.
#[test]
fn e06_trailer_fields_that_connection_names_are_gone() {
    let body = b"0\r\nX-Foo: 1\r\nX-Bar: 2\r\n\r\n";
    let check = |mut decoder: BodyDecoder| {
        let piece = decoder.decode(body).expect("well-formed");
        assert!(piece.done);
        assert_eq!(decoder.trailers().lines(), b"X-Bar: 2\r\n");
    };
    let fields = "Connection: close\r\nConnection: x-FOO\r\nTransfer-Encoding: chunked\r\n\r\n";
    let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}");
    request(text.as_bytes(), |head| check(head.body_decoder()));
    let text = format!("HTTP/1.1 200 OK\r\n{fields}");
    response(text.as_bytes(), Asked::default(), |head| {
        check(head.body_decoder())
    });
}
