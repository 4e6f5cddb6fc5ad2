//! Which responses are bad, how the others are framed, and what the client gets: the response rows
//! of the case log.

mod support;

use evenkeel_http1::{
    Asked, BodyOut, Edit, Encoding, Framing, Limits, Reply, ResponseHead, Slots, Version,
};
use support::{badness, relayed, response};

const GET: Asked = Asked {
    head: false,
    upgrade: false,
};
const HEAD: Asked = Asked {
    head: true,
    upgrade: false,
};
const UPGRADE: Asked = Asked {
    head: false,
    upgrade: true,
};

const TO_11: Reply<'static> = Reply {
    client_version: Version::Http11,
    keep_alive: true,
    request_id: "id-1",
    edit: Edit {
        remove: &[],
        set: &[],
        add: &[],
    },
};
const TO_10: Reply<'static> = Reply {
    client_version: Version::Http10,
    keep_alive: false,
    ..TO_11
};

/// How a response with this status and these fields is framed, and whether its connection lives on.
fn framed(status: &str, lines: &str, asked: Asked) -> (Framing, bool) {
    let text = format!("HTTP/1.1 {status}\r\n{lines}\r\n");
    response(text.as_bytes(), asked, |head| {
        (head.framing, head.keep_alive)
    })
}

#[test]
fn bodies_are_framed_by_rfc_9112() {
    let chunked = "Transfer-Encoding: chunked\r\n";
    for (lines, expected) in [
        ("", (Framing::UntilClose, false)),
        ("Content-Length: 5\r\n", (Framing::Length(5), true)),
        ("Content-Length: 0\r\n", (Framing::Length(0), true)),
        (
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            (Framing::Length(5), true),
        ),
        ("Content-Length: 5, 05\r\n", (Framing::Length(5), true)),
        (chunked, (Framing::Chunked, true)),
        ("Transfer-Encoding:\tCHUNKED \r\n", (Framing::Chunked, true)),
        (
            "Transfer-Encoding: identity\r\n",
            (Framing::UntilClose, false),
        ),
        (
            "Transfer-Encoding: xchunked\r\n",
            (Framing::UntilClose, false),
        ),
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            (Framing::Chunked, false),
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: +5\r\n",
            (Framing::Chunked, false),
        ),
        (
            "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
            (Framing::UntilClose, false),
        ),
        (
            "Content-Length: 5\r\nConnection: close\r\n",
            (Framing::Length(5), false),
        ),
    ] {
        assert_eq!(framed("200 OK", lines, GET), expected, "{lines:?}");
    }
}

#[test]
fn e11_some_responses_have_no_body_whatever_they_say() {
    for (status, lines, asked, reusable) in [
        ("200 OK", "Content-Length: 1000\r\n", HEAD, true),
        ("200 OK", "Transfer-Encoding: chunked\r\n", HEAD, true),
        ("200 OK", "", HEAD, true),
        ("304 Not Modified", "Content-Length: 5\r\n", GET, true),
        ("304 Not Modified", "", GET, true),
        ("204 No Content", "", GET, true),
        ("204 No Content", "Content-Length: 0\r\n", GET, true),
        ("204 No Content", "Content-Length: 5\r\n", GET, false),
        ("204 No Content", "Content-Length: x\r\n", GET, false),
        (
            "204 No Content",
            "Transfer-Encoding: chunked\r\n",
            GET,
            false,
        ),
        ("100 Continue", "Content-Length: 5\r\n", GET, false),
        ("103 Early Hints", "", GET, true),
    ] {
        assert_eq!(
            framed(status, lines, asked),
            (Framing::None, reusable),
            "{status} {lines:?}"
        );
    }
}

#[test]
fn bad_responses_are_told() {
    for text in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/1.1 2000 Long\r\n\r\n",
        "HTTP/1.1 abc No\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\nX: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n\n",
        "HTTP/1.1 200 O\0K\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: y\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "EXTRA",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ] {
        assert!(badness(text.as_bytes()).is_some(), "{text:?}");
    }
}

#[test]
fn status_lines_are_read_and_written() {
    for (line, written) in [
        ("HTTP/1.1 200 OK", "HTTP/1.1 200 OK"),
        ("HTTP/1.0 200 OK", "HTTP/1.1 200 OK"),
        ("HTTP/1.1 200", "HTTP/1.1 200 "),
        ("HTTP/1.1 200 ", "HTTP/1.1 200 "),
        ("HTTP/1.1 404 Not  Found", "HTTP/1.1 404 Not  Found"),
        ("HTTP/1.1 999 x", "HTTP/1.1 999 x"),
        ("HTTP/1.1 200 \u{e9}", "HTTP/1.1 200 "),
    ] {
        let text = format!("{line}\r\nContent-Length: 0\r\n\r\n");
        let (sent, _) = relayed(&text, GET, &TO_11);
        assert_eq!(sent.split("\r\n").next(), Some(written), "{line:?}");
    }
}

#[test]
fn e18_keep_alive_of_the_endpoint() {
    for (version, lines, expected) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.0", "", false),
        ("1.0", "Connection: keep-alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ] {
        let text = format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{lines}\r\n");
        assert_eq!(
            response(text.as_bytes(), GET, |head| head.keep_alive),
            expected,
            "{text:?}"
        );
    }
}

/// What a client gets for a response with these fields.
fn sent_for(lines: &str, asked: Asked, to: &Reply<'_>) -> (String, Encoding, bool) {
    let (head, body) = relayed(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n"), asked, to);
    let fields = head
        .strip_prefix("HTTP/1.1 200 OK\r\n")
        .expect("a status line");
    (
        fields.replace("x-request-id: id-1\r\n\r\n", ""),
        body.encoding,
        body.close,
    )
}

#[test]
fn the_client_gets_a_length_or_chunks_or_a_close() {
    let (length, chunked) = ("Content-Length: 2\r\n", "Transfer-Encoding: chunked\r\n");
    let close = "Connection: close\r\n";
    let asks = Reply {
        keep_alive: true,
        ..TO_10
    };
    let closing = Reply {
        keep_alive: false,
        ..TO_11
    };
    let twice = "Content-Length: 2\r\nContent-Length: 02\r\n";
    let both = "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n";
    let kept = "Content-Length: 2\r\nConnection: keep-alive\r\n";
    let ends = "Content-Length: 2\r\nConnection: close\r\n";
    for (lines, to, fields, encoding, closes) in [
        (length, TO_11, length, Encoding::Identity, false),
        (chunked, TO_11, chunked, Encoding::Chunked, false),
        ("", TO_11, chunked, Encoding::Chunked, false),
        (both, TO_11, chunked, Encoding::Chunked, false),
        (twice, TO_11, length, Encoding::Identity, false),
        (chunked, TO_10, close, Encoding::Identity, true),
        ("", TO_10, close, Encoding::Identity, true),
        ("", asks, close, Encoding::Identity, true),
        (chunked, asks, close, Encoding::Identity, true),
        (length, asks, kept, Encoding::Identity, false),
        (length, closing, ends, Encoding::Identity, true),
    ] {
        let found = sent_for(lines, GET, &to);
        assert_eq!(found, (fields.to_owned(), encoding, closes), "{lines:?}");
    }
}

#[test]
fn e11_lengths_stay_on_head_and_304_and_go_from_204() {
    let length = "Content-Length: 1000\r\n";
    let expected = (length.to_owned(), Encoding::None, false);
    assert_eq!(sent_for(length, HEAD, &TO_11), expected);
    assert_eq!(
        sent_for("", HEAD, &TO_11),
        (String::new(), Encoding::None, false)
    );
    for (status, kept) in [
        ("304 Not Modified", "Content-Length: 5\r\n"),
        ("204 No Content", ""),
    ] {
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n");
        let (sent, body) = relayed(&text, GET, &TO_11);
        assert_eq!(
            sent,
            format!("HTTP/1.1 {status}\r\n{kept}x-request-id: id-1\r\n\r\n")
        );
        assert_eq!(
            body,
            BodyOut {
                encoding: Encoding::None,
                close: false
            }
        );
    }
}

#[test]
fn e06_hop_by_hop_and_nominated_fields_are_gone() {
    let (fields, _, _) = sent_for(
        "Server: x\r\nConnection: close, X-Foo, Content-Length\r\nX-Foo: 1\r\n\
         Keep-Alive: timeout=5\r\n\
         Proxy-Connection: x\r\nTrailer: X\r\nUpgrade: h2c\r\nTE: x\r\nContent-Length: 2\r\n\
         Set-Cookie: a\r\n\
         X-Request-ID: theirs\r\nSet-Cookie: b\r\nendpoint-load-metrics: TEXT cpu=1\r\n\
         Endpoint-Load-Metrics-Bin: AA\r\nProxy-Authenticate: Basic\r\n",
        GET,
        &TO_11,
    );
    assert_eq!(
        fields,
        "Server: x\r\nContent-Length: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\
         Proxy-Authenticate: Basic\r\n"
    );
}

#[test]
fn edits_of_a_response() {
    let to = Reply {
        edit: Edit {
            remove: &["server", "content-length"],
            set: &[("x-a", "2")],
            add: &[("Set-Cookie", "ek=1")],
        },
        ..TO_11
    };
    let (sent, _) = relayed(
        "HTTP/1.1 200 OK\r\nServer: x\r\nX-A: 1\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
        GET,
        &to,
    );
    assert_eq!(
        sent,
        "HTTP/1.1 200 OK\r\nSet-Cookie: b\r\nContent-Length: 0\r\nx-request-id: id-1\r\nx-a: 2\r\n\
         Set-Cookie: ek=1\r\n\r\n"
    );
}

#[test]
fn e10_interim_heads_are_not_the_answer() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let text = format!("{hint}{hint}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let mut rest = text.as_bytes();
    for interim in [true, true, false] {
        rest = response(rest, GET, |head| {
            assert_eq!(head.is_interim(), interim);
            &rest[head.len..]
        });
    }
    assert!(rest.is_empty());
    let none = BodyOut {
        encoding: Encoding::None,
        close: false,
    };
    assert_eq!(
        relayed(hint, GET, &TO_11),
        (hint.to_owned(), none),
        "passed on as it is"
    );
    assert_eq!(
        relayed(hint, GET, &TO_10),
        (String::new(), none),
        "unknown to http/1.0"
    );
}

#[test]
fn e07_a_101_must_match_the_request() {
    let switch = |lines: &str| {
        format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n{lines}\r\n")
    };
    let good = switch("Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n");
    response(good.as_bytes(), UPGRADE, |head| {
        assert!(!head.is_interim(), "it ends http on the connection");
        assert_eq!(head.upgrade, Some(&b"websocket"[..]));
    });
    assert_eq!(
        relayed(&good, UPGRADE, &TO_11).0,
        "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nx-request-id: id-1\r\n\r\n"
    );
    let other = switch("Upgrade: tail/1\r\n");
    response(other.as_bytes(), UPGRADE, |head| {
        assert_eq!(head.upgrade, Some(&b"tail/1"[..]))
    });
    for lines in [
        "",
        "Upgrade: websocket\r\n",
        "Upgrade: a, b\r\n",
        "Upgrade: a\r\nUpgrade: b\r\n",
    ] {
        let mut slots = Slots::new();
        let text = switch(lines);
        let result =
            ResponseHead::parse(text.as_bytes(), &Limits::default(), &mut slots, UPGRADE).err();
        assert!(result.is_some(), "{lines:?}");
    }
    assert!(badness(good.as_bytes()).is_some(), "nobody asked for it");
}

#[test]
fn e19_heads_have_limits() {
    let limits = Limits {
        header_bytes: 40,
        headers: 1,
    };
    let parse = |text: &str| {
        let mut slots = Slots::new();
        ResponseHead::parse(text.as_bytes(), &limits, &mut slots, GET)
            .map(|head| head.map(|head| head.len))
            .map_err(|bad| bad.reason)
    };
    assert_eq!(parse("HTTP/1.1 200 OK\r\nX: y\r\n\r\n"), Ok(Some(25)));
    assert_eq!(parse("HTTP/1.1 200 OK\r\nX: y\r\nY"), Ok(None));
    assert_eq!(
        parse("HTTP/1.1 200 OK\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyy"),
        Err("response head is larger than the limit")
    );
    assert_eq!(
        parse("HTTP/1.1 200 OK\r\nX: y\r\nZ: y\r\n\r\n"),
        Err("more fields than the limit")
    );
}

#[test]
fn e06_all_but_the_length_can_be_named_away() {
    let text = "HTTP/1.1 200 OK\r\nConnection: forwarded, host, x-a, content-length\r\n\
                Forwarded: x\r\nHost: x\r\nX-A: 1\r\nX-B: 2\r\nContent-Length: 0\r\n\r\n";
    let (sent, _) = relayed(text, GET, &TO_11);
    assert_eq!(
        sent,
        "HTTP/1.1 200 OK\r\nX-B: 2\r\nContent-Length: 0\r\nx-request-id: id-1\r\n\r\n"
    );
}
