//! E07: no bytes bypass the rules by way of an upgrade. This gateway offers none yet.

use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream};

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

/// Bytes behind an upgrade that is refused are the next request, and nothing else.
#[test]
fn e07_bytes_behind_a_refused_upgrade_are_a_request() {
    for status in [403, 406, 200, 500] {
        let upstream = Upstream::answering(move |request| match request.target() {
            "/ws" => Answer::status(status, "no"),
            other => Answer::ok(other),
        });
        let gateway = Gateway::single(&upstream);
        let admin = "GET /admin HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n";
        let mut client = RawClient::sending(gateway.address(), format!("{UPGRADE}{admin}"));
        assert_eq!(client.response().status, status);
        assert_eq!(client.response().text(), "/admin");
        let requests = upstream.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].field("upgrade"), None);
        assert_eq!(requests[0].field("connection"), None);
        // It went through the rules like any other.
        assert_eq!(requests[1].head.all("x-forwarded-for"), ["127.0.0.1"]);
        assert!(requests[1].field("x-request-id").is_some());
    }
}

/// A 101 that nobody asked for is a broken answer, and opens no tunnel.
#[test]
fn e07_a_101_that_was_not_asked_for_is_refused() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nraw";
    let upstream = Upstream::answering(move |_| Answer::raw(switch));
    let gateway = Gateway::single(&upstream);
    for request in [UPGRADE, crate::GET] {
        let mut client = RawClient::sending(gateway.address(), request);
        let response = client.response();
        assert_eq!(response.status, 502);
        assert!(!response.text().contains("raw"));
    }
    gateway.assert_idle();
}

/// CONNECT would be a tunnel as well.
#[test]
fn e07_connect_is_refused() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let request = "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\nraw bytes";
    let mut client = RawClient::sending(gateway.address(), request);
    let response = client.response();
    assert_eq!(response.status, 501, "{response:?}");
    client.expect_end();
    assert_eq!(upstream.bytes_received(), 0);
}
