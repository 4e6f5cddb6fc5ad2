//! Differential: hyper reads what we pass on as we meant it, or we do not pass it on.

#[path = "support/corpus.rs"]
mod inputs;
#[path = "support/reference.rs"]
mod reference;

use evenkeel_http1::split_input;
use reference::{assert_answer_agrees, assert_requests_agree, read_requests, read_response};
use std::fs;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let read = |path| fs::read(path).expect("readable");
    inputs::corpus(target).into_iter().map(read).collect()
}

/// The judge itself: an agreement of nothing with nothing would pass every test here.
#[test]
fn hyper_tells_messages_apart() {
    let two = b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nokGET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    let seen = read_requests(two);
    let found: Vec<_> = seen
        .iter()
        .map(|seen| (&seen.target[..], &seen.data[..]))
        .collect();
    assert_eq!(found, [("/1", &b"ok"[..]), ("/2", b"")]);
    assert!(read_requests(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n").is_empty());
    let part = read_response(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", false);
    assert!(part.is_some_and(|seen| seen.data == b"ok" && !seen.complete));
}

#[test]
fn hyper_reads_forwarded_requests_as_we_meant_them() {
    for bytes in corpus("request_head") {
        for way in 0..4 {
            assert_requests_agree(&bytes, way);
        }
    }
    for bytes in corpus("exchange") {
        let (way, _, requests, _) = split_input(&bytes).unwrap_or_default();
        assert_requests_agree(requests, way);
    }
}

#[test]
fn hyper_reads_forwarded_chunks_as_we_meant_them() {
    for bytes in corpus("chunked_body") {
        let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_requests_agree(&[head, &bytes[..]].concat(), 0);
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_answer_agrees(&[head, &bytes[..]].concat(), false, 4);
    }
}

#[test]
fn hyper_reads_relayed_answers_as_we_meant_them() {
    for bytes in corpus("response_head") {
        for way in [0, 4] {
            assert_answer_agrees(&bytes, false, way);
            assert_answer_agrees(&bytes, true, way);
        }
    }
    for bytes in corpus("exchange") {
        let (way, _, _, answer) = split_input(&bytes).unwrap_or_default();
        assert_answer_agrees(answer, false, way);
    }
}

/// Fields that could frame, route or hide, in any order and number.
#[test]
fn hyper_agrees_on_every_pair_of_framing_lines() {
    const LINES: [&str; 20] = [
        "Content-Length: 5",
        "Content-Length: 05",
        "content-length:\t5 ",
        "Content-Length: 0",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: 9223372036854775808",
        "Content_Length: 3",
        "Transfer-Encoding: chunked",
        "TRANSFER-ENCODING:\tChunked\t",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: identity",
        "Transfer_Encoding: chunked",
        "Connection: close, content-length",
        "Connection: transfer-encoding",
        "Connection: upgrade",
        "Upgrade: websocket",
        "Expect: 100-continue",
        "Host: b",
    ];
    let body = "5\r\nhello\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n";
    for first in LINES {
        for second in LINES {
            for version in ["1.1", "1.0"] {
                for method in ["GET", "POST", "HEAD"] {
                    let text = format!(
                        "{method} /p HTTP/{version}\r\nHost: a\r\n{first}\r\n{second}\r\n\r\n{body}"
                    );
                    assert_requests_agree(text.as_bytes(), 0);
                    assert_requests_agree(text.as_bytes(), 3);
                }
            }
            let text = format!("HTTP/1.1 200 OK\r\n{first}\r\n{second}\r\n\r\n{body}");
            assert_answer_agrees(text.as_bytes(), false, 4);
        }
    }
}
