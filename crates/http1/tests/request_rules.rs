//! Which requests are refused and which are not: the request rows of the case log, one test each.

mod support;

use evenkeel_http1::{
    CONNECTION_BYTES_MAX, Framing, HEADERS_MAX, Limits, Method, RequestHead, Slots, Version,
};
use support::{refusal, request};

/// A request with these field lines besides its Host.
fn with_fields(lines: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n").into_bytes()
}

fn status(text: &[u8]) -> Option<u16> {
    refusal(text).map(|(status, _)| status)
}

#[test]
fn e01_two_kinds_of_length_are_refused() {
    for lines in [
        "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
        "Transfer-Encoding: gzip\r\nContent-Length: 0\r\n",
        "content-length: 6\r\nx: y\r\ntransfer-encoding: CHUNKED\r\n",
    ] {
        assert_eq!(status(&with_fields(lines)), Some(400), "{lines:?}");
    }
}

#[test]
fn e02_odd_transfer_encodings_are_refused() {
    for value in [
        "\x0bchunked",
        "xchunked",
        "chunked, identity",
        "identity",
        "",
        "chunked, chunked",
        "\"chunked\"",
        "chunked;q=1",
        "chunke",
        ",chunked",
        "chunked,",
        "gzip, x",
        "cow",
        "chu nked",
        "chunked\x0c",
        "\u{a0}chunked",
    ] {
        let found = status(&with_fields(&format!("Transfer-Encoding: {value}\r\n")));
        assert_eq!(found, Some(400), "{value:?}");
    }
    for value in [
        "gzip, chunked",
        "gzip",
        "chunked, gzip",
        "deflate,chunked",
        "x-gzip",
    ] {
        let found = status(&with_fields(&format!("Transfer-Encoding: {value}\r\n")));
        assert_eq!(found, Some(501), "{value:?}");
    }
}

#[test]
fn e02_two_transfer_encodings_are_refused() {
    let twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n";
    assert_eq!(status(&with_fields(twice)), Some(400));
}

#[test]
fn e02_chunked_is_taken_in_any_case_with_white_space_around() {
    for value in [
        " chunked",
        "\tchunked\t",
        " Chunked ",
        "CHUNKED",
        "  chunked \t ",
    ] {
        let text = with_fields(&format!("Transfer-Encoding:{value}\r\n"));
        assert_eq!(
            request(&text, |head| head.framing),
            Framing::Chunked,
            "{value:?}"
        );
    }
}

#[test]
fn e04_illegal_bytes_are_refused() {
    for lines in [
        "Transfer-Encoding : chunked\r\n",
        "X : y\r\n",
        "X\t: y\r\n",
        "X: a\0b\r\n",
        "X: a\rb\r\n",
        "X: a\r\r\n",
        "X: a\x01\r\n",
        "X: a\x7f\r\n",
        "X: y\r\n folded\r\n",
        "X: y\r\n\tfolded\r\n",
        "X:\r\n y\r\n",
        ": y\r\n",
        "X\r\n",
        "\u{e9}: y\r\n",
        "X(: y\r\n",
        "X\0: y\r\n",
        "X Y: z\r\n",
        " X: y\r\n",
    ] {
        assert_eq!(status(&with_fields(lines)), Some(400), "{lines:?}");
    }
}

#[test]
fn e04_bare_line_feeds_are_refused_wherever_they_stand() {
    for text in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\r\nX: y\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX:\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y \n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\t\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.0\n\n",
        "GET / HTTP/1.0\r\n\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert_eq!(status(text.as_bytes()), Some(400), "{text:?}");
    }
}

#[test]
fn e04_request_lines_have_one_form() {
    for text in [
        " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\r\n\r\n",
        "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /#f HTTP/1.1\r\nHost: a\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTQ/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/11\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1x\r\nHost: a\r\n\r\n",
        "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert_eq!(status(text.as_bytes()), Some(400), "{text:?}");
    }
}

#[test]
fn other_versions_are_505() {
    for version in ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0", "HTTP/9.9"] {
        let text = format!("GET / {version}\r\nHost: a\r\n\r\n");
        assert_eq!(status(text.as_bytes()), Some(505), "{version}");
    }
}

#[test]
fn an_empty_line_before_the_request_is_borne_with() {
    let text = b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
    assert_eq!(request(text, |head| head.len), text.len() - 4);
}

#[test]
fn odd_content_lengths_are_refused() {
    for value in [
        "+2",
        "2_",
        "0x2",
        "-1",
        "2 2",
        "",
        "2,2",
        "2, 2",
        "2.0",
        "1e3",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999",
        "\u{662}",
        "2;",
        "\"2\"",
    ] {
        let found = status(&with_fields(&format!("Content-Length: {value}\r\n")));
        assert_eq!(found, Some(400), "{value:?}");
    }
    for lines in [
        "Content-Length: 2\r\ncontent-length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
    ] {
        assert_eq!(status(&with_fields(lines)), Some(400), "{lines:?}");
    }
}

#[test]
fn content_lengths_are_read() {
    for (value, length) in [
        ("0", 0),
        ("6", 6),
        ("9223372036854775807", i64::MAX as u64),
        ("007", 7),
    ] {
        let text = with_fields(&format!("Content-Length: {value}\r\n"));
        assert_eq!(
            request(&text, |head| head.framing),
            Framing::Length(length),
            "{value}"
        );
    }
    assert_eq!(
        request(&with_fields(""), |head| head.framing),
        Framing::None
    );
}

#[test]
fn e17_hosts() {
    for (text, expected) in [
        ("GET / HTTP/1.1\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", Some(400)),
        ("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: http://a\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: a:80\r\n\r\n", None),
        ("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", None),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", None),
        ("GET / HTTP/1.0\r\n\r\n", None),
        ("GET http://b/p HTTP/1.1\r\nHost: a\r\n\r\n", Some(400)),
        ("GET http://b/p HTTP/1.1\r\nHost:\r\n\r\n", Some(400)),
        ("GET http://b/p HTTP/1.1\r\n\r\n", Some(400)),
        ("GET http://u@b/p HTTP/1.1\r\nHost: b\r\n\r\n", Some(400)),
        ("GET http://b/p HTTP/1.1\r\nHost: B:80\r\n\r\n", None),
        ("GET http://b/p HTTP/1.0\r\n\r\n", None),
    ] {
        assert_eq!(status(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn targets_by_method() {
    for (text, expected) in [
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", None),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", Some(400)),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", Some(501)),
        ("CONNECT a:443 HTTP/1.1\r\n\r\n", Some(501)),
        ("GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n", Some(400)),
        ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Some(400)),
        ("GET ?q HTTP/1.1\r\nHost: a\r\n\r\n", Some(400)),
        ("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", None),
        (
            "TRACE / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n",
            Some(400),
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Some(505)),
    ] {
        assert_eq!(status(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn e18_transfer_encoding_in_http_1_0_is_refused() {
    let text = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(status(text), Some(400));
}

#[test]
fn e18_keep_alive_by_version_and_connection() {
    for (version, lines, expected) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: x, Close\r\n", false),
        (
            "1.1",
            "Connection: keep-alive\r\nConnection: close\r\n",
            false,
        ),
        ("1.1", "Connection: closed\r\n", true),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
        ("1.0", "Proxy-Connection: keep-alive\r\n", false),
    ] {
        let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{lines}\r\n");
        assert_eq!(
            request(text.as_bytes(), |head| head.keep_alive),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn e09_expectations() {
    let body = "Content-Length: 2\r\n";
    for (version, lines, expected) in [
        ("1.1", "Expect: 100-continue\r\n", true),
        ("1.1", "expect: 100-CONTINUE\r\n", true),
        ("1.1", "Expect: more\r\n", false),
        ("1.0", "Expect: 100-continue\r\n", false),
    ] {
        let text = format!("POST / HTTP/{version}\r\nHost: a\r\n{body}{lines}\r\n");
        assert_eq!(
            request(text.as_bytes(), |head| head.expect_continue),
            expected,
            "{text:?}"
        );
    }
    let bodiless = b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n";
    assert!(
        !request(bodiless, |head| head.expect_continue),
        "nothing to wait for"
    );
}

#[test]
fn e07_upgrades() {
    let ws = Some("websocket");
    for (version, lines, expected) in [
        ("1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n", ws),
        (
            "1.1",
            "Connection: keep-alive, upgrade\r\nUpgrade: websocket\r\n",
            ws,
        ),
        ("1.1", "Upgrade: websocket\r\n", None),
        ("1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n", None),
        ("1.1", "Connection: Upgrade\r\n", None),
        ("1.1", "Connection: Upgrade\r\nUpgrade: h2c\r\n", None),
        ("1.1", "Connection: Upgrade\r\nUpgrade: H2C\r\n", None),
        ("1.1", "Connection: Upgrade\r\nUpgrade: HTTP/2.0\r\n", None),
        (
            "1.1",
            "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n",
            None,
        ),
        (
            "1.1",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: x\r\n",
            None,
        ),
    ] {
        let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{lines}\r\n");
        request(text.as_bytes(), |head| {
            assert_eq!(head.upgrade, expected.map(str::as_bytes), "{text:?}");
        });
    }
}

#[test]
fn e19_heads_have_limits() {
    let limits = Limits {
        header_bytes: 64,
        headers: 2,
    };
    let parse = |text: &str| {
        let mut slots = Slots::new();
        RequestHead::parse(text.as_bytes(), &limits, &mut slots)
            .map(|head| head.map(|head| head.len))
            .map_err(|reject| reject.status)
    };
    let exact = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(32));
    assert_eq!(exact.len(), 64);
    assert_eq!(parse(&exact), Ok(Some(64)), "a head of just the limit");
    assert_eq!(
        parse(&format!("{exact}{exact}")),
        Ok(Some(64)),
        "what follows does not count"
    );
    let over = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(33));
    assert_eq!(parse(&over), Err(431), "one byte more");
    assert_eq!(parse(&over[..64]), Err(431), "seen before it is complete");
    assert_eq!(parse(&over[..63]), Ok(None), "not yet known");
    assert_eq!(
        parse("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\n\r\n"),
        Ok(Some(30))
    );
    assert_eq!(
        parse("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\nC: 3\r\n"),
        Err(431),
        "a field too many"
    );
}

#[test]
fn a_dripping_head_is_read_only_when_it_may_end() {
    let limits = Limits {
        header_bytes: 40,
        headers: 9,
    };
    let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for end in 1..=text.len() {
        let may_end = limits.may_be_complete(&text[..end], end - 1);
        assert_eq!(may_end, end == text.len(), "{end}");
        assert!(
            limits.may_be_complete(text, end - 1),
            "whatever was seen before"
        );
    }
    assert!(
        limits.may_be_complete(b"GET / HTTP/1.1\n\n", 15),
        "to be refused at once"
    );
    assert!(
        limits.may_be_complete(&[b'x'; 40], 39),
        "to be refused for its size"
    );
    assert!(!limits.may_be_complete(b"", 7));
}

#[test]
fn a_body_without_meaning_is_marked() {
    for (method, lines, expected) in [
        ("GET", "Content-Length: 3\r\n", true),
        ("HEAD", "Transfer-Encoding: chunked\r\n", true),
        ("DELETE", "Content-Length: 3\r\n", true),
        ("GET", "Content-Length: 0\r\n", false),
        ("GET", "", false),
        ("POST", "Content-Length: 3\r\n", false),
    ] {
        let text = format!("{method} / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
        assert_eq!(
            request(text.as_bytes(), |head| head.body_unexpected),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn e19_no_limit_goes_beyond_the_slots() {
    let limits = Limits {
        header_bytes: 1 << 20,
        headers: usize::MAX,
    };
    let text = |fields: usize| format!("GET / HTTP/1.0\r\n{}\r\n", "x: y\r\n".repeat(fields));
    let mut slots = Slots::new();
    let most = text(HEADERS_MAX);
    let head = RequestHead::parse(most.as_bytes(), &limits, &mut slots).expect("well-formed");
    assert_eq!(head.map(|head| head.fields().len()), Some(HEADERS_MAX));
    let mut slots = Slots::new();
    let more = text(10_000);
    let refused = RequestHead::parse(more.as_bytes(), &limits, &mut slots).expect_err("too many");
    assert_eq!(refused.status, 431);
}

#[test]
fn connection_fields_have_limits() {
    let options = |count: usize| format!("Connection: {}\r\n", vec!["a"; count].join(","));
    assert_eq!(status(&with_fields(&options(32))), None);
    assert_eq!(status(&with_fields(&options(33))), Some(400));
    let long = |len: usize| format!("Connection: {}\r\n", "a".repeat(len));
    assert_eq!(status(&with_fields(&long(CONNECTION_BYTES_MAX))), None);
    assert_eq!(
        status(&with_fields(&long(CONNECTION_BYTES_MAX + 1))),
        Some(400)
    );
    assert_eq!(
        status(&with_fields(&long(600).repeat(2))),
        Some(400),
        "all of them count"
    );
}

#[test]
fn e13_a_head_ends_where_the_next_request_begins() {
    let two = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    let first = request(two, |head| {
        assert_eq!(head.path(), "/1");
        head.len
    });
    request(&two[first..], |head| {
        assert_eq!((head.path(), head.len), ("/2", first))
    });
}

#[test]
fn request_ids_are_taken_when_valid_and_one() {
    for (lines, expected) in [
        ("", None),
        ("x-request-id: abc-1\r\n", Some("abc-1")),
        ("X-Request-ID: abc\r\nx-request-id: abc\r\n", Some("abc")),
        ("x-request-id: abc\r\nx-request-id: abd\r\n", None),
        (
            "x-request-id: abc\r\nx-request-id: abd\r\nx-request-id: abc\r\n",
            None,
        ),
        ("x-request-id:\r\n", None),
        ("x-request-id: a b\r\n", None),
        ("x-request-id: \u{e9}\r\n", None),
    ] {
        request(&with_fields(lines), |head| {
            assert_eq!(head.request_id(), expected, "{lines:?}")
        });
    }
    for (len, expected) in [(128, true), (129, false)] {
        let text = with_fields(&format!("x-request-id: {}\r\n", "x".repeat(len)));
        assert_eq!(
            request(&text, |head| head.request_id().is_some()),
            expected,
            "{len}"
        );
    }
}

#[test]
fn a_head_tells_what_it_is() {
    let text =
        b"PATCH http://Ex.org:8080/a/%2F?b?c HTTP/1.1\r\nHost: ex.ORG:8080\r\nCookie: k=v\r\n\r\n";
    request(text, |head| {
        assert_eq!(
            (head.method, head.method_bytes()),
            (Method::Patch, &b"PATCH"[..])
        );
        assert_eq!(head.target(), b"http://Ex.org:8080/a/%2F?b?c");
        assert_eq!((head.path(), head.query()), ("/a/%2F", Some("b?c")));
        assert_eq!(
            (head.authority(), head.host()),
            (Some("Ex.org:8080"), Some("Ex.org"))
        );
        assert_eq!(head.version, Version::Http11);
        assert_eq!(head.field("cookie"), Some(&b"k=v"[..]));
        assert_eq!(
            head.fields().map(|field| field.name).collect::<Vec<_>>(),
            ["Host", "Cookie"]
        );
        assert_eq!(
            head.passing_fields()
                .map(|field| field.name)
                .collect::<Vec<_>>(),
            ["Cookie"]
        );
    });
}

#[test]
fn methods_know_what_may_be_repeated() {
    for (token, safe, idempotent) in [
        ("GET", true, true),
        ("HEAD", true, true),
        ("OPTIONS", true, true),
        ("TRACE", true, true),
        ("PUT", false, true),
        ("DELETE", false, true),
        ("POST", false, false),
        ("PATCH", false, false),
        ("get", false, false),
        ("PROPFIND", false, false),
    ] {
        let method = Method::from_bytes(token.as_bytes());
        assert_eq!(
            (method.is_safe(), method.is_idempotent()),
            (safe, idempotent),
            "{token}"
        );
    }
}
