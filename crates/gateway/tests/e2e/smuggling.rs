//! E01 to E04: what two parsers could read differently is refused, and not a byte of it leaves.

use evenkeel_testkit::{Gateway, RawClient, Upstream};

use crate::assert_own;

/// A second request that must never be served by itself.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

/// Sends each of these, and demands an answer with one of `statuses`, a close, and not a byte at
/// the upstream. A head and its bad body come in one write, so nothing may have left before.
#[track_caller]
fn refused(statuses: &[u16], requests: &[String]) {
    let upstream = Upstream::ok("served");
    let gateway = Gateway::single(&upstream);
    for request in requests {
        let mut client = RawClient::connect(gateway.address());
        client.try_send(request);
        let response = client.response_to("POST");
        let shown = request.escape_debug();
        assert!(
            statuses.contains(&response.status),
            "{} for {shown}",
            response.status
        );
        assert!(response.says_close(), "{shown}");
        assert_own(&response, response.status, "http_request_error");
        client.expect_end();
    }
    assert_eq!(upstream.bytes_received(), 0);
    gateway.assert_idle();
    gateway.assert_blameless();
}

fn posts(lines: &[&str], body: &str) -> Vec<String> {
    lines
        .iter()
        .map(|line| format!("POST / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n{body}"))
        .collect()
}

#[test]
fn e01_two_framings_are_refused() {
    let bodies = [
        "0\r\n\r\n",
        "",
        "6\r\nGPOST \r\n0\r\n\r\n",
        "1\r\nZ\r\nQ\r\n\r\n",
    ];
    for body in bodies {
        let length = format!("Content-Length: {}", body.len());
        let lines = [
            format!("{length}\r\nTransfer-Encoding: chunked"),
            format!("Transfer-Encoding: chunked\r\n{length}"),
            format!("Transfer-Encoding: xchunked\r\n{length}"),
            format!("Transfer-Encoding: identity\r\n{length}"),
            "Transfer-Encoding: chunked\r\nContent-Length: 0".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        refused(&[400], &posts(&lines, &format!("{body}{HIDDEN}")));
    }
}

#[test]
fn e01_lengths_that_are_not_one_number_are_refused() {
    let values = [
        "+2",
        "2_",
        "0x2",
        "-1",
        "2 2",
        "",
        "2,2",
        "2, 3",
        "99999999999999999999",
        "2\u{b2}",
    ];
    let mut lines: Vec<String> = values
        .iter()
        .map(|value| format!("Content-Length: {value}"))
        .collect();
    lines.push("Content-Length: 2\r\nContent-Length: 3".into());
    lines.push("Content-Length: 2\r\nContent-Length: 2".into());
    lines.push("Content-Length : 2".into());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    refused(&[400], &posts(&lines, &format!("ok{HIDDEN}")));
}

#[test]
fn e02_odd_transfer_encodings_are_refused() {
    let lines = [
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity",
        "Transfer-Encoding:",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding\t: chunked",
    ];
    refused(&[400, 501], &posts(&lines, &format!("0\r\n\r\n{HIDDEN}")));
}

/// A look-alike of a framing field does not get past the gateway as something else.
#[test]
fn e02_look_alikes_do_not_leave() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let request =
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nContent_Length: 5\r\n\r\n";
    assert_eq!(crate::ask(gateway.address(), request).status, 200);
    let request = upstream.only_request();
    assert_eq!(request.field("transfer_encoding"), None);
    assert_eq!(request.field("content_length"), None);
}

#[test]
fn e03_broken_chunks_are_refused() {
    let long = format!("1;{}\r\nx\r\n0\r\n\r\n", "x".repeat(64 * 1024));
    let bodies = [
        "0x1\r\nx\r\n0\r\n\r\n",
        "+1\r\nx\r\n0\r\n\r\n",
        "-1\r\nx\r\n0\r\n\r\n",
        "00000000000000001\r\nx\r\n0\r\n\r\n",
        "1\rx\r\n0\r\n\r\n",
        "1\nx\n0\n\n",
        "1;a\nb\r\nx\r\n0\r\n\r\n",
        "1;a\rb\r\nx\r\n0\r\n\r\n",
        "1\r\nxy\r\n0\r\n\r\n",
        "1\r\nx0\r\n\r\n",
        "\r\n1\r\nx\r\n0\r\n\r\n",
        ";a=b\r\n",
        "G\r\n",
        &long,
    ];
    let requests: Vec<String> = bodies
        .iter()
        .map(|body| {
            let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
            format!("{head}{body}{HIDDEN}")
        })
        .collect();
    // The long one does not come with its head in one read, so a part of it may have left.
    let (long, short) = requests.split_last().expect("some");
    refused(&[400], short);
    let upstream = Upstream::ok("served");
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    client.try_send(long);
    assert_eq!(client.response_to("POST").status, 400);
    assert_eq!(upstream.count(), 0);
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// A bad chunk far behind the head: the node sees a cut upload, the client 400, nobody else blame.
#[test]
fn e03_a_late_bad_chunk_is_the_clients_fault() {
    let upstream = Upstream::ok("served");
    let gateway = Gateway::single(&upstream);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let mut client = RawClient::sending(gateway.address(), head);
    evenkeel_testkit::eventually("it is on its way", || upstream.bytes_received() > 0);
    client.send("zz\r\n");
    let response = client.response_to("POST");
    assert_eq!(response.status, 400);
    client.expect_end();
    evenkeel_testkit::eventually("the upload is cut", || upstream.open_connections() == 0);
    assert_eq!(upstream.count(), 0);
    gateway.assert_idle();
    gateway.assert_blameless();
}

#[test]
fn e04_illegal_bytes_in_heads_are_refused() {
    let heads = [
        "GET / HTTP/1.1\r\nHost: a\r\nX Y: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX\u{e9}: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
        "G\u{e9}T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n",
        "\0GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}",
    ];
    let heads = heads.map(|head| format!("{head}{HIDDEN}"));
    refused(&[400], &heads);
}

#[test]
fn other_versions_are_refused() {
    let heads = [
        "GET / HTTP/2.0",
        "GET / HTTP/0.9",
        "GET / HTTP/1.2",
        "GET / HTTP/11",
        "GET /",
        "PRI * HTTP/2.0",
    ];
    refused(
        &[400, 505],
        &heads.map(|line| format!("{line}\r\nHost: a\r\n\r\n")),
    );
}
