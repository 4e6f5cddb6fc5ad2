//! Requests without difficulties.

use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream, eventually};

use crate::{GET, ask, post};

#[test]
fn a_get_arrives_and_its_answer_returns() {
    let upstream = Upstream::ok("hello");
    let gateway = Gateway::single(&upstream);
    let response = ask(gateway.address(), "GET /x?y=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((response.status, response.text()), (200, "hello".into()));
    let request = upstream.only_request();
    assert_eq!(request.head.line, "GET /x?y=1 HTTP/1.1");
    assert_eq!(request.field("host"), Some("a"));
    gateway.assert_idle();
    gateway.assert_blameless();
}

#[test]
fn a_post_arrives_with_its_body_and_length() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let response = ask(gateway.address(), post("some words"));
    assert_eq!(response.text(), "some words");
    let request = upstream.only_request();
    assert_eq!((request.method(), request.target()), ("POST", "/p"));
    assert_eq!(request.head.all("content-length"), ["10"]);
    assert_eq!(request.body, b"some words");
}

#[test]
fn a_post_without_a_body_keeps_its_length_of_zero() {
    let upstream = Upstream::ok("");
    let gateway = Gateway::single(&upstream);
    assert_eq!(ask(gateway.address(), post("")).status, 200);
    assert_eq!(upstream.only_request().head.all("content-length"), ["0"]);
}

/// Both sides keep their connection, also over answers of any status.
#[test]
fn connections_are_kept_on_both_sides() {
    let upstream = Upstream::answering(|request| {
        Answer::status(200 + request.place as u16 * 100, request.target())
    });
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    let mut client = RawClient::connect(gateway.address());
    for (place, status) in [200, 300, 400, 500].into_iter().enumerate() {
        client.send(format!("GET /{place} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let response = client.response();
        assert_eq!(
            (response.status, response.text()),
            (status, format!("/{place}"))
        );
        assert!(!response.says_close());
    }
    assert_eq!((upstream.count(), upstream.connections()), (4, 1));
}

#[test]
fn a_client_that_asks_for_the_end_gets_it() {
    let upstream = Upstream::ok("x");
    let gateway = Gateway::single(&upstream);
    let close = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for _ in 0..3 {
        let mut client = RawClient::sending(gateway.address(), close);
        let response = client.response();
        assert!(response.says_close() && response.text() == "x");
        client.expect_end();
    }
    // Its wish concerns its own connection only.
    assert!(upstream.connections() <= 2, "one for each worker at most");
}

#[test]
fn a_connection_that_the_upstream_closes_is_not_used_again() {
    let upstream = Upstream::answering(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..3 {
        client.send(GET);
        let response = client.response();
        assert_eq!(response.text(), "ok");
        assert!(!response.says_close(), "it concerns the gateway only");
    }
    assert_eq!(upstream.connections(), 3);
}

/// A pool that may keep nothing keeps nothing.
#[test]
fn a_pool_idle_time_of_zero_keeps_no_connection() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.pool_idle = std::time::Duration::ZERO;
    });
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..3 {
        client.send(GET);
        assert!(!client.response().says_close(), "it concerns the pool only");
    }
    assert_eq!(upstream.connections(), 3);
    eventually("none is left", || upstream.open_connections() == 0);
}

/// Connections are used within their idle time, and closed soon behind it.
#[test]
fn idle_connections_have_a_time_limit() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.pool_idle = std::time::Duration::from_millis(300);
    });
    let mut client = RawClient::connect(gateway.address());
    for count in 1..=2 {
        client.send(GET);
        client.response();
        assert_eq!(upstream.connections(), count);
        eventually("none is left", || upstream.open_connections() == 0);
    }
    eventually("none is counted", || {
        gateway.endpoint("a").totals.idle_connections == 0
    });
}

/// A request that comes byte by byte is one request.
#[test]
fn requests_may_come_in_any_pieces() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    client.drip(post("drop by drop"));
    assert_eq!(client.response().text(), "drop by drop");
    client.drip("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.drip("5\r\nchunk\r\n1\r\n!\r\n0\r\n\r\n");
    assert_eq!(client.response().text(), "chunk!");
    assert_eq!(upstream.count(), 2);
}

/// So may responses: each piece in a packet of its own.
#[test]
fn responses_may_come_in_any_pieces() {
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let upstream = Upstream::answering(|_| {
        bytes.iter().fold(Answer::new(), |answer, byte| {
            answer
                .send([*byte])
                .wait(std::time::Duration::from_micros(200))
        })
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..3 {
        client.send(GET);
        assert_eq!(client.response().text(), "abc");
    }
}

/// Every answer of a listener without a cluster is 404.
#[test]
fn a_listener_without_a_cluster_knows_no_route() {
    let gateway = Gateway::with([], |config| config.listeners[0].cluster = None);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..2 {
        client.send(GET);
        let response = client.response();
        assert_eq!(response.status, 404);
        let reason = response.field("proxy-status").expect("a reason");
        assert!(reason.starts_with("evenkeel; error=destination_not_found"));
    }
    // What cannot be read is nobody's request either.
    let mut client = RawClient::connect(gateway.address());
    client.send("NONSENSE\r\n\r\n");
    assert_eq!(client.response().status, 400);
    assert_eq!(gateway.control().unrouted(), [0, 0, 0, 3, 0, 0]);
}
