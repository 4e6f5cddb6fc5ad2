//! The rules of frames: what breaks them ends a stream or the connection and reaches nobody else.

use std::net::TcpListener;
use std::time::Duration;

use evenkeel_core::Endpoint;
use evenkeel_gateway::TurnedAway;
use evenkeel_testkit::{Act, Answer, Gateway, Upstream, eventually};
use http::{Method, Request};

use crate::http2::{ask, block_on, connect, get};
use crate::http2_frames::{
    ACK, CALM, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, FLOW_CONTROL_ERROR, Frame,
    Frames, GET, GOAWAY, HEADERS, OK, PADDED, PING, POST, PRIORITY, PROTOCOL_ERROR, RST_STREAM,
    SETTINGS, STREAM_CLOSED, WINDOW_UPDATE, frame, head,
};

/// Sends these frames on a new connection and gives the first word that a stream or the connection ends.
fn told(gateway: &Gateway, frames: &[Vec<u8>]) -> Frame {
    let mut client = Frames::connect(gateway.address());
    client.try_send(&frames.concat());
    loop {
        let frame = client.next().expect("a word before the end");
        if [RST_STREAM, GOAWAY].contains(&frame.kind) {
            return frame;
        }
    }
}

/// Sends a frame over and over until the connection is ended for it.
fn flood(gateway: &Gateway, frame: &[u8]) {
    const AT_ONCE: usize = 500;
    // More than that is not read when the last word is said.
    const MOST: usize = 50;
    let mut client = Frames::connect(gateway.address());
    client.send(HEADERS, END_HEADERS, 1, &head(&POST));
    let reading = client.0.try_clone().expect("a copy");
    let hears = std::thread::spawn(move || Frames(reading).goaway());
    let many = frame.repeat(AT_ONCE);
    for _ in 0..MOST {
        if hears.is_finished() || !client.try_send(&many) {
            break;
        }
    }
    assert_eq!(hears.join().expect("it ends"), Some(CALM));
}

/// F05: frames that ask for nothing and cost something.
#[test]
fn f05_frames_that_ask_for_nothing_end_the_connection() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let floods = [
        frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]),
        frame(PING, 0, 0, b"12345678"),
        frame(PING, ACK, 0, b"12345678"),
        frame(PRIORITY, 0, 9, &[0, 0, 0, 0, 16]),
        frame(RST_STREAM, 0, 1, &CANCEL.to_be_bytes()),
        frame(GOAWAY, 0, 0, &[0; 8]),
        frame(DATA, 0, 1, &[]),
        frame(DATA, PADDED, 1, &[0]),
        frame(DATA, PADDED, 1, &[2, 0, 0]),
        frame(16, 0, 0, b"\0\0\0\x01u=1"),
    ];
    for frame in &floods {
        flood(&gateway, frame);
    }
    let ended = gateway.control().listeners()[0].turned_away(TurnedAway::Http2);
    assert_eq!(ended, floods.len() as u64);
    eventually("nobody is asked any more", || {
        upstream.open_connections() == 0
    });
    gateway.assert_idle();
    // Others are served.
    let mut client = Frames::connect(gateway.address());
    client.ask(1, &GET);
    assert_eq!(client.next_of(1).expect("an answer").payload[0], OK);
}

/// As many of them as clients send that mean well.
#[test]
fn f05_some_frames_that_ask_for_nothing_are_borne() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let mut client = Frames::connect(gateway.address());
    client.send(HEADERS, END_HEADERS, 1, &head(&POST));
    for round in 0..100_u8 {
        let frames = [
            frame(PING, 0, 0, &[round; 8]),
            frame(PRIORITY, 0, 9, &[0, 0, 0, 0, 16]),
            frame(DATA, 0, 1, &[]),
            frame(DATA, PADDED, 1, &[2, round, 0, 0]),
        ];
        assert!(client.try_send(&frames.concat()));
    }
    client.send(DATA, END_STREAM, 1, b"");
    let mut pongs = 0;
    let mut body = Vec::new();
    loop {
        let frame = client.next().expect("it stands");
        match frame.kind {
            PING => pongs += 1,
            DATA => body.extend_from_slice(&frame.payload),
            _ => assert_ne!(frame.kind, GOAWAY, "{frame:?}"),
        }
        if frame.kind == DATA && frame.flags & END_STREAM != 0 {
            break;
        }
    }
    assert_eq!(body, Vec::from_iter(0..100));
    while pongs < 100 {
        pongs += u8::from(client.next().expect("it stands").kind == PING);
    }
}

#[test]
fn padding_that_is_longer_than_its_frame_ends_the_connection() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let open = frame(HEADERS, END_HEADERS, 1, &head(&POST));
    let padded = [&[200], &head(&GET)[..]].concat();
    for frames in [
        vec![open.clone(), frame(DATA, PADDED, 1, &[4, 1, 2, 3])],
        vec![open, frame(DATA, PADDED, 1, &[])],
        vec![frame(HEADERS, END_HEADERS | PADDED, 1, &padded)],
    ] {
        let word = told(&gateway, &frames);
        assert_eq!(
            (word.kind, word.code()),
            (GOAWAY, PROTOCOL_ERROR),
            "{frames:?}"
        );
    }
    assert_eq!(upstream.count(), 0, "no request is whole");
    gateway.assert_idle();
}

/// Frames on streams that are not open.
#[test]
fn streams_that_are_not_open_take_nothing() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let idle = [
        frame(DATA, 0, 1, b"x"),
        frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]),
        frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]),
        frame(HEADERS, END_HEADERS | END_STREAM, 2, &head(&GET)),
        frame(DATA, 0, 0, b"x"),
        frame(CONTINUATION, END_HEADERS, 1, b"x"),
        frame(SETTINGS, 0, 1, &[]),
    ];
    for bytes in idle {
        let word = told(&gateway, &[bytes]);
        assert_eq!((word.kind, word.code()), (GOAWAY, PROTOCOL_ERROR));
    }
    assert_eq!(upstream.bytes_received(), 0);

    // One that its client has ended takes no more of a body.
    let whole = frame(HEADERS, END_HEADERS | END_STREAM, 1, &head(&GET));
    let word = told(&gateway, &[whole, frame(DATA, 0, 1, b"x")]);
    assert!(
        [STREAM_CLOSED, PROTOCOL_ERROR].contains(&word.code()),
        "{word:?}"
    );
    gateway.assert_idle();
}

/// Nothing stands between the frames of one head, not even a ping.
#[test]
fn a_head_is_not_interrupted() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let begun = frame(HEADERS, END_STREAM, 1, &head(&GET));
    for other in [
        frame(PING, 0, 0, b"12345678"),
        frame(CONTINUATION, END_HEADERS, 3, &[]),
        frame(HEADERS, END_HEADERS | END_STREAM, 3, &head(&GET)),
    ] {
        let word = told(&gateway, &[begun.clone(), other]);
        assert_eq!((word.kind, word.code()), (GOAWAY, PROTOCOL_ERROR));
    }
    assert_eq!(upstream.bytes_received(), 0);
}

#[test]
fn windows_neither_overflow_nor_open_by_nothing() {
    const MOST: [u8; 4] = [0x7f, 0xff, 0xff, 0xff];
    let upstream = Upstream::answering(|_| Answer::new().then(Act::Listen));
    let gateway = Gateway::single(&upstream);
    let open = frame(HEADERS, END_HEADERS | END_STREAM, 1, &head(&GET));
    for (stream, by, kind, code) in [
        (0, MOST, GOAWAY, FLOW_CONTROL_ERROR),
        (1, MOST, RST_STREAM, FLOW_CONTROL_ERROR),
        (0, [0; 4], GOAWAY, PROTOCOL_ERROR),
        (1, [0; 4], RST_STREAM, PROTOCOL_ERROR),
    ] {
        let update = frame(WINDOW_UPDATE, 0, stream, &by);
        let word = told(&gateway, &[open.clone(), update]);
        assert_eq!(word.code(), code, "{stream} {by:?}");
        assert!(word.kind == kind || word.kind == GOAWAY, "{word:?}");
    }
    gateway.assert_idle();
}

/// A client that sends more than it was allowed to.
#[test]
fn what_goes_beyond_our_window_ends_the_stream() {
    // Its system takes what fits in a socket, and nobody reads it.
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = deaf.local_addr().expect("bound").to_string();
    let gateway = Gateway::with([Endpoint::new("a", address)], |config| {
        config.clusters[0].timeout.idle = Duration::from_secs(60);
    });
    let mut frames = vec![frame(HEADERS, END_HEADERS, 1, &head(&POST))];
    frames.extend(std::iter::repeat_n(
        frame(DATA, 0, 1, &[b'x'; 16_384]),
        4_000,
    ));
    let word = told(&gateway, &frames);
    assert_eq!(word.code(), FLOW_CONTROL_ERROR, "{word:?}");
}

/// Fields behind a body: pseudo-fields have no place among them, wherever they come from.
#[test]
fn f06_pseudo_fields_behind_a_body_make_a_request_malformed() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    // An entry of the table that the second request refers to, behind the 61 that are always there.
    let mut first = head(&POST[..2]);
    first.extend_from_slice(b"\x41\x09a.example\x84");
    let bad = [
        head(&[(":path", "/admin")]),
        head(&[(":path", "/admin"), ("x-sum", "1")]),
        head(&[("x-sum", "1"), (":method", "GET")]),
        head(&[(":status", "200")]),
        b"\x82".to_vec(),
        b"\xbe".to_vec(),
        b"\x20\x20\x82".to_vec(),
        b"\x04\x06/admin".to_vec(),
        // Huffman's code for `:path`.
        b"\0\x84\xb9\x58\xd3\x3f\x01x".to_vec(),
    ];
    for block in bad {
        let frames = [
            frame(HEADERS, END_HEADERS, 1, &first),
            frame(DATA, 0, 1, b"body"),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &block),
        ];
        let word = told(&gateway, &frames);
        assert_eq!(
            (word.kind, word.code()),
            (RST_STREAM, PROTOCOL_ERROR),
            "{block:?}"
        );
    }
    eventually("nobody is asked any more", || {
        upstream.open_connections() == 0
    });
    assert_eq!(upstream.count(), 0, "no request is whole");
    gateway.assert_idle();
}

/// Fields behind a body pass, however their frames are cut, padded and split.
#[test]
fn fields_behind_a_body_pass_in_any_frames() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let block = head(&[("x-sum", "7"), ("x-more", "8")]);
    let padded = [&[3][..], &[0, 0, 0, 0, 16], &block, &[0; 3]].concat();
    let sized = [b"\x3f\xe1\x1f", &block[..]].concat();
    let (front, back) = block.split_at(5);
    let whole = END_HEADERS | END_STREAM;
    let in_two = |first: &[u8], second: &[u8]| {
        let first = frame(HEADERS, END_STREAM, 1, first);
        [first, frame(CONTINUATION, END_HEADERS, 1, second)].concat()
    };
    let forms = [
        frame(HEADERS, whole, 1, &block),
        frame(HEADERS, whole | PADDED | 32, 1, &padded),
        frame(HEADERS, whole, 1, &sized),
        in_two(front, back),
        in_two(&[], &block),
    ];
    for (place, form) in forms.iter().enumerate() {
        for drips in [false, true] {
            let mut client = Frames::connect(gateway.address());
            let start = [
                frame(HEADERS, END_HEADERS, 1, &head(&POST)),
                frame(DATA, 0, 1, b"body"),
            ];
            let mut next = GET;
            next[3].1 = "/next";
            let next = frame(HEADERS, whole, 3, &head(&next));
            let bytes = [&start.concat()[..], form, &next].concat();
            for piece in bytes.chunks(if drips { 1 } else { bytes.len() }) {
                assert!(client.try_send(piece));
            }
            let answer = client.next_of(1).expect("an answer");
            assert_eq!((answer.kind, answer.payload[0]), (HEADERS, OK), "{place}");
            let others = upstream.requests();
            let posted = others.iter().rfind(|it| it.head.line.starts_with("POST"));
            let posted = posted.expect("it came");
            assert_eq!(posted.body, b"body");
            assert_eq!(posted.trailers, ["x-sum: 7", "x-more: 8"], "{place}");
            eventually("the next one comes", || {
                let all = upstream.requests();
                all.iter()
                    .filter(|it| it.head.line.contains("/next"))
                    .count()
                    == 2 * place + usize::from(drips) + 1
            });
        }
    }
}

/// A stream that is to become something that has no form in HTTP/1.1, and a plain tunnel.
#[test]
fn other_protocols_than_websocket_are_not_there() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let client = connect(gateway.address()).await;
        ask(&client, get("/first"), Vec::new())
            .await
            .expect("settings come");
        let request = Request::builder()
            .method(Method::CONNECT)
            .uri("http://a.example/udp")
            .extension(h2::ext::Protocol::from_static("connect-udp"));
        let plain = Request::builder()
            .method(Method::CONNECT)
            .uri("a.example:443");
        for request in [request, plain] {
            let request = request.body(()).expect("a request");
            let answer = ask(&client, request, Vec::new()).await.expect("an answer");
            assert_refused(&answer, 501);
        }
        ask(&client, get("/last"), Vec::new())
            .await
            .expect("it stands");
    });
    let lines: Vec<_> = upstream
        .requests()
        .iter()
        .map(|it| it.head.line.clone())
        .collect();
    assert_eq!(lines, ["GET /first HTTP/1.1", "GET /last HTTP/1.1"]);
}

/// A head that is too large is refused as any other request that is.
#[test]
fn a_head_beyond_the_limit_is_told_so_on_its_stream() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let client = connect(gateway.address()).await;
        for kib in [70, 90, 200] {
            let mut request = get("/large");
            for _ in 0..kib {
                let value = "x".repeat(1024).parse().expect("a value");
                request.headers_mut().append("x-large", value);
            }
            let answer = ask(&client, request, Vec::new()).await.expect("an answer");
            assert_refused(&answer, 431);
        }
        ask(&client, get("/"), Vec::new()).await.expect("it stands");
    });
    assert_eq!(upstream.only_request().head.line, "GET / HTTP/1.1");
    gateway.assert_idle();
}

/// One of the gateway's own answers, with all that belongs to it.
fn assert_refused(answer: &crate::http2::Whole, status: u16) {
    assert_eq!(answer.status, status);
    let text = |name: &str| answer.fields[name].to_str().expect("text");
    let reason = text("proxy-status");
    assert!(
        reason.starts_with("evenkeel; error=http_request_error; details="),
        "{reason}"
    );
    let id = text("x-request-id");
    let body = format!(
        "{{\"error\":\"http_request_error\",\"cluster\":\"web\",\"request_id\":\"{id}\"}}\n"
    );
    assert_eq!(String::from_utf8_lossy(&answer.body), body);
}
