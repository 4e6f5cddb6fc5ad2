//! HTTP/1.0 clients, answers without bodies, ends that come early or on one side only.

use std::time::Duration;

use evenkeel_testkit::{Act, Answer, Gate, Gateway, RawClient, Upstream, eventually};

use crate::{GET, ask};

const OLD: &str = "GET / HTTP/1.0\r\n\r\n";

fn two_chunks() -> Upstream {
    Upstream::answering(|_| Answer::chunks([&b"one "[..], b"two"]))
}

#[test]
fn e18_http_1_0_gets_no_chunks() {
    let upstream = two_chunks();
    let gateway = Gateway::single(&upstream);
    for lines in ["", "Connection: keep-alive\r\n"] {
        let request = format!("GET / HTTP/1.0\r\n{lines}\r\n");
        let mut client = RawClient::sending(gateway.address(), request);
        let response = client.response();
        assert_eq!(response.field("transfer-encoding"), None);
        assert!(response.says_close());
        assert_eq!(response.text(), "one two");
    }
    assert_eq!(upstream.requests()[0].head.line, "GET / HTTP/1.1");
}

/// Many chunks of many sizes lose their syntax wherever a buffer ends.
#[test]
fn e18_large_chunked_bodies_are_unwrapped() {
    let body = crate::noise(3 << 20);
    let sent = body.clone();
    let upstream = Upstream::answering(move |_| Answer::chunks(sent.chunks(12_345)));
    let gateway = Gateway::single(&upstream);
    let response = ask(gateway.address(), OLD);
    assert!(response.body == body, "byte for byte");
}

#[test]
fn e18_http_1_0_keeps_a_connection_if_it_asks() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..2 {
        client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        let response = client.response();
        assert_eq!(response.field("connection"), Some("keep-alive"));
    }
    client.send(OLD);
    assert_eq!(client.response().text(), "ok");
    client.expect_end();
}

#[test]
fn e18_http_1_0_has_no_transfer_encoding() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let request = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(ask(gateway.address(), request).status, 400);
    assert_eq!(upstream.bytes_received(), 0);
}

/// E11: no body whatever the length fields say, and the next request gets its own answer.
#[test]
fn e11_answers_without_bodies() {
    let upstream = Upstream::answering(|request| match request.target() {
        "/head" => Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        "/304" => Answer::raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        "/204" => Answer::raw("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"),
        other => Answer::ok(other),
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    let cases = [
        ("HEAD", "/head", 200, Some("1000")),
        ("GET", "/304", 304, Some("5")),
        ("GET", "/204", 204, None),
    ];
    for (method, target, status, length) in cases {
        client.send(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let response = client.response_to(method);
        assert_eq!(response.status, status);
        assert_eq!(response.field("content-length"), length, "{target}");
        client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.response().text(), "/next", "behind {target}");
    }
}

/// E11: the gateway's own answers follow the rule as well.
#[test]
fn e11_own_answers_to_head_have_no_body() {
    let gateway = Gateway::over([]);
    let mut client = RawClient::sending(gateway.address(), GET);
    let length = client.response().text().len().to_string();
    for _ in 0..2 {
        client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        let response = client.response_to("HEAD");
        assert_eq!(response.status, 503);
        assert_eq!(response.field("content-length"), Some(&*length));
    }
}

/// E05: an answer that is cut looks cut, and counts against its endpoint.
#[test]
fn e05_truncated_answers_look_truncated() {
    let cuts = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    ];
    for (number, cut) in cuts.into_iter().enumerate() {
        for end in [Act::Close, Act::Reset] {
            let gate = Gate::new();
            let behind = gate.clone();
            let upstream = Upstream::answering(move |_| {
                Answer::raw(cut).await_gate(&behind).then(end.clone())
            });
            let gateway = Gateway::single(&upstream);
            let mut client = RawClient::sending(gateway.address(), GET);
            let head = client.head();
            assert_eq!(head.field("connection"), None, "it did not know yet");
            eventually("the data is relayed before the end", || {
                client.hears_within(Duration::ZERO)
            });
            gate.open();
            let rest = String::from_utf8_lossy(&client.rest()).into_owned();
            let expected = if number == 0 { "abc" } else { "3\r\nabc\r\n" };
            assert_eq!(rest, expected, "no last chunk, and a close");
            gateway.assert_idle();
            assert_eq!(gateway.endpoint("a").totals.failures, 1);
        }
    }
}

/// E05: without chunks and without a length, a client of HTTP/1.0 knows only by a reset.
#[test]
fn e05_truncated_answers_look_truncated_to_http_1_0() {
    let cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream =
        Upstream::answering(move |_| Answer::raw(cut).await_gate(&behind).then(Act::Close));
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), OLD);
    client.head();
    assert_eq!(client.take(3), b"abc");
    gate.open();
    assert!(client.rest_before_reset().is_empty());
    gateway.assert_idle();
}

/// E14: a client may end its side and wait.
#[test]
fn e14_half_a_close_is_no_abort() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |request| Answer::ok(&request.body).behind(&behind));
    let gateway = Gateway::single(&upstream);
    let mut get = RawClient::sending(gateway.address(), GET);
    get.half_close();
    let mut post = RawClient::sending(gateway.address(), crate::post("body"));
    post.half_close();
    eventually("both arrive", || upstream.count() == 2);
    // They are not given up for a while.
    assert!(!get.hears_within(Duration::from_millis(300)));
    gate.open();
    assert_eq!(get.response().status, 200);
    get.expect_end();
    assert_eq!(post.response_to("POST").text(), "body");
    post.expect_end();
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// An upload that ends early is the client's fault.
#[test]
fn e14_an_upload_cut_by_its_client_blames_nobody() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc";
    let mut client = RawClient::sending(gateway.address(), head);
    eventually("it arrives", || upstream.bytes_received() > 0);
    client.half_close();
    client.expect_end();
    eventually("the upstream sees the end", || {
        upstream.open_connections() == 0
    });
    assert_eq!(upstream.count(), 0, "it never came whole");
    gateway.assert_idle();
    gateway.assert_blameless();
}
