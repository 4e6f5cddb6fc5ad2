//! E13: requests that come in one piece are answered in order, and none is lost.

use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Script, Upstream};

use crate::post;

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn names_target() -> Upstream {
    Upstream::answering(|request| Answer::ok(request.target()))
}

#[test]
fn e13_two_gets_in_one_write() {
    let upstream = names_target();
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), get("/1") + &get("/2"));
    assert_eq!(client.response().text(), "/1");
    assert_eq!(client.response().text(), "/2");
    assert_eq!(upstream.count(), 2);
}

#[test]
fn e13_a_get_and_half_a_get() {
    let upstream = names_target();
    let gateway = Gateway::single(&upstream);
    let second = get("/2");
    let (half, rest) = second.split_at(12);
    let mut client = RawClient::sending(gateway.address(), get("/1") + half);
    assert_eq!(client.response().text(), "/1");
    client.send(rest);
    assert_eq!(client.response().text(), "/2");
}

#[test]
fn e13_a_post_with_its_body_and_a_get() {
    let upstream = Upstream::answering(|request| Answer::ok(&request.raw));
    let gateway = Gateway::single(&upstream);
    let bytes = [&post("body")[..], get("/2").as_bytes()].concat();
    let mut client = RawClient::sending(gateway.address(), bytes);
    assert!(client.response().text().ends_with("\r\n\r\nbody"));
    assert!(client.response().text().starts_with("GET /2 "));
    assert_eq!(upstream.count(), 2);
}

#[test]
fn e13_a_chunked_post_and_a_get() {
    let upstream = Upstream::answering(|request| Answer::ok(&request.raw));
    let gateway = Gateway::single(&upstream);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bytes = format!("{head}4\r\nbody\r\n0\r\n\r\n{}", get("/2"));
    let mut client = RawClient::sending(gateway.address(), bytes);
    assert!(client.response().text().ends_with("4\r\nbody\r\n0\r\n\r\n"));
    assert!(client.response().text().starts_with("GET /2 "));
}

#[test]
fn e13_a_hundred_gets() {
    let upstream = names_target();
    let gateway = Gateway::single(&upstream);
    let all: String = (0..100).map(|number| get(&format!("/{number}"))).collect();
    let mut client = RawClient::sending(gateway.address(), all);
    for number in 0..100 {
        assert_eq!(client.response().text(), format!("/{number}"));
    }
    let targets: Vec<_> = upstream
        .requests()
        .iter()
        .map(|r| r.target().to_owned())
        .collect();
    let expected: Vec<_> = (0..100).map(|number| format!("/{number}")).collect();
    assert_eq!(targets, expected);
}

/// What comes while an answer is awaited is kept, however it is split.
#[test]
fn e13_requests_that_come_while_one_is_answered() {
    let gate = Gate::new();
    let opens = gate.clone();
    let script = Script::new(move |request| Answer::ok(request.target()).behind(&gate));
    let upstream = Upstream::start(script);
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), get("/0"));
    evenkeel_testkit::eventually("the first one is there", || upstream.count() == 1);
    for number in 1..20 {
        client.drip(get(&format!("/{number}")));
    }
    opens.open();
    for number in 0..20 {
        assert_eq!(client.response().text(), format!("/{number}"));
    }
}

/// A request behind one that ends the connection is not served: its client knows by the close.
#[test]
fn e13_nothing_is_served_behind_the_last_request() {
    let upstream = names_target();
    let gateway = Gateway::single(&upstream);
    let last = "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_owned();
    let mut client = RawClient::sending(gateway.address(), last + &get("/2"));
    assert_eq!(client.response().text(), "/1");
    client.expect_end();
    assert_eq!(upstream.count(), 1);
}
