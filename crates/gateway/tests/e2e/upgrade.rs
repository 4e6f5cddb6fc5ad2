//! E07: bytes are no longer HTTP only behind a 101 that the client asked for.

use std::time::Duration;

use evenkeel_gateway::OperatorChanges;
use evenkeel_testkit::{
    Act, Answer, Gateway, Head, RawClient, Received, Upstream, config, eventually,
};

use crate::noise;

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// An endpoint that switches, says `first`, and sends back what it hears.
fn echo(first: &'static str) -> Upstream {
    Upstream::answering(move |_| Answer::raw(format!("{SWITCH}{first}")).echo())
}

/// How long its head is.
fn head_length(request: &Received) -> usize {
    let (_, length) = Head::split(&request.raw).expect("a head");
    length
}

/// A client that has switched.
#[track_caller]
fn switched(gateway: &Gateway) -> RawClient {
    let mut client = RawClient::sending(gateway.address(), UPGRADE);
    assert!(client.head().line.starts_with("HTTP/1.1 101 "));
    client
}

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
        assert_eq!(requests[0].field("upgrade"), Some("websocket"));
        assert_eq!(requests[0].field("connection"), Some("Upgrade"));
        assert_eq!(requests[0].raw.len(), head_length(&requests[0]));
        // It went through the rules like any other.
        assert_eq!(requests[1].head.all("x-forwarded-for"), ["127.0.0.1"]);
        assert!(requests[1].field("x-request-id").is_some());
    }
}

/// A 101 that nobody asked for, to something else, or to websocket without its proof, is a broken
/// answer, and opens no tunnel.
#[test]
fn e07_a_101_that_does_not_match_is_refused() {
    let h2c = UPGRADE.replace("websocket", "h2c");
    let old = UPGRADE.replace("HTTP/1.1", "HTTP/1.0");
    let body = UPGRADE.replace("\r\n\r\n", "\r\nContent-Length: 3\r\n\r\nraw");
    let other = SWITCH.replace("websocket", "chat");
    let unproven = SWITCH.replace("Sec-WebSocket-Accept", "X");
    let cases = [
        (crate::GET, SWITCH),
        (&h2c, SWITCH),
        (&old, SWITCH),
        (&body, SWITCH),
        (UPGRADE, &other),
        (UPGRADE, &unproven),
    ];
    for (request, switch) in cases {
        let switch = format!("{switch}raw");
        let upstream = Upstream::answering(move |_| Answer::raw(&switch));
        let gateway = Gateway::single(&upstream);
        let mut client = RawClient::sending(gateway.address(), request);
        let response = client.response();
        assert_eq!(response.status, 502, "{request}");
        assert!(!response.text().contains("raw"));
        gateway.assert_idle();
    }
}

/// Another protocol needs no proof, and its name is compared in any case.
#[test]
fn other_protocols_are_switched_to() {
    let switch = "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: TLS/1.0\r\n\r\n";
    let upstream = Upstream::answering(move |_| Answer::raw(switch).echo());
    let gateway = Gateway::single(&upstream);
    let request =
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, upgrade\r\nUpgrade: tls/1.0\r\n\r\n";
    let mut client = RawClient::sending(gateway.address(), request);
    let head = client.head();
    assert_eq!(head.field("upgrade"), Some("TLS/1.0"));
    client.send("hello");
    assert_eq!(client.take(5), b"hello");
}

/// What is sent behind the request and behind the 101, in the same segment, arrives.
#[test]
fn e07_bytes_behind_a_101_arrive_in_both_directions() {
    let upstream = echo("from the endpoint");
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), format!("{UPGRADE}early"));
    let head = client.head();
    assert_eq!(head.field("connection"), Some("Upgrade"));
    assert_eq!(head.field("content-length"), None);
    assert_eq!(client.take(17), b"from the endpoint");
    assert_eq!(client.take(5), b"early");
    let request = upstream.only_request();
    assert_eq!(
        request.raw.len(),
        head_length(&request),
        "not before the 101"
    );
    assert_eq!(gateway.endpoint("a").in_flight, 1);
    // Counted already, by its status.
    eventually("it is counted", || {
        gateway.endpoint("a").totals.codes[0] == 1
    });
}

/// The same however the bytes are cut.
#[test]
fn e07_a_switch_may_be_cut_anywhere() {
    let answer = format!("{SWITCH}\u{1}\u{2}");
    let request = format!("{UPGRADE}ab");
    let upstream = Upstream::answering({
        let answer = answer.clone();
        move |request| {
            let at: usize = request
                .field("x-cut")
                .and_then(|at| at.parse().ok())
                .unwrap_or(0);
            let (first, second) = answer.split_at(at);
            Answer::raw(first)
                .wait(Duration::from_millis(1))
                .send(second)
                .echo()
        }
    });
    let gateway = Gateway::single(&upstream);
    for at in 1..answer.len() {
        let request = request.replacen("\r\n", &format!("\r\nX-Cut: {at}\r\n"), 1);
        let mut client = RawClient::connect(gateway.address());
        let (first, second) = request.split_at(at.min(request.len() - 1));
        client.send(first);
        client.send(second);
        assert!(client.head().line.starts_with("HTTP/1.1 101 "), "{at}");
        assert_eq!(client.take(4), b"\x01\x02ab", "{at}");
    }
    let mut client = RawClient::connect(gateway.address());
    client.drip(&request);
    client.head();
    client.drip("cd");
    assert_eq!(client.take(6), b"\x01\x02abcd");
}

/// An end of one side is passed on, and the other one may finish.
#[test]
fn a_tunnel_ends_one_side_at_a_time() {
    let upstream = Upstream::answering(|_| Answer::raw(SWITCH).then(Act::Listen));
    let late = Upstream::answering(|_| Answer::raw(SWITCH).send("bye").then(Act::Close));
    for upstream in [&upstream, &late] {
        let gateway = Gateway::single(upstream);
        let mut client = switched(&gateway);
        client.half_close();
        let rest = client.rest();
        assert!(rest.is_empty() || rest == b"bye");
        gateway.assert_idle();
        eventually("both are closed", || upstream.open_connections() == 0);
    }
    let upstream = echo("");
    let gateway = Gateway::single(&upstream);
    let mut client = switched(&gateway);
    let sent = noise(3 << 20);
    let mut hand = client.second_hand();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            hand.send(&sent);
            hand.half_close();
        });
        assert!(client.rest() == sent, "all of it came back");
    });
    gateway.assert_blameless();
}

/// A connection that breaks is a break for the other side too, not an end.
#[test]
fn a_tunnel_that_breaks_is_reset_on_the_other_side() {
    let upstream = Upstream::answering(|_| {
        Answer::raw(SWITCH)
            .wait(Duration::from_millis(20))
            .then(Act::Reset)
    });
    let gateway = Gateway::single(&upstream);
    switched(&gateway).rest_before_reset();
    gateway.assert_idle();

    // D12: clients that break off in a tunnel or on the way to it.
    let upstream = echo("");
    let gateway = Gateway::single(&upstream);
    for number in 0..50 {
        let client = if number % 2 == 0 {
            switched(&gateway)
        } else {
            RawClient::sending(gateway.address(), UPGRADE)
        };
        client.reset();
    }
    gateway.assert_blameless();
    eventually("its endpoint is told", || upstream.open_connections() == 0);
    let totals = gateway.endpoint("a").totals;
    assert_eq!((totals.active_connections, totals.idle_connections), (0, 0));
}

/// A tunnel in which nothing moves ends after the cluster's `timeout.idle`; one that lives stays.
#[test]
fn an_idle_tunnel_ends() {
    let upstream = echo("");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.idle = Duration::from_secs(3);
        config.clusters[0].timeout.response = Duration::from_secs(1);
    });
    let mut client = switched(&gateway);
    // Longer than either in all, and with a pause that a busy machine may make longer.
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(600));
        client.send("x");
        assert_eq!(client.take(1), b"x");
    }
    client.expect_end();
    gateway.assert_idle();
}

/// A19: tunnels are load for as long as they last, also for endpoints that come later.
#[test]
fn a19_tunnels_are_requests_in_flight() {
    let upstreams = [echo("a"), echo("b"), echo("c")];
    let endpoint = |place: usize| upstreams[place].endpoint(["a", "b", "c"][place]);
    let gateway = Gateway::with([endpoint(0), endpoint(1)], |config| {
        config.clusters[0].slow_start = None;
    });
    let mut clients: Vec<_> = (0..4).map(|_| switched(&gateway)).collect();
    assert_eq!(gateway.endpoint("a").in_flight, 2);
    assert_eq!(gateway.endpoint("b").in_flight, 2);
    gateway.add(endpoint(2));
    for _ in 0..2 {
        let mut client = switched(&gateway);
        assert_eq!(client.take(1), b"c");
        clients.push(client);
    }
    drop(clients);
    gateway.assert_blameless();
}

/// G11: tunnels outlast reloads, also one that takes their endpoint or their listener away.
#[test]
fn g11_tunnels_outlast_reloads() {
    let (upstream, other) = (echo(""), Upstream::ok("other"));
    let gateway = Gateway::single(&upstream);
    let mut client = switched(&gateway);
    let mut next = config([other.endpoint("b")]);
    next.listeners[0].name = "new".into();
    let changed = gateway.control().reload(&next, OperatorChanges::Keep);
    gateway.wait(changed).expect("it is right");
    client.send("still here");
    assert_eq!(client.take(10), b"still here");
    client.half_close();
    client.expect_end();
    eventually("its endpoint is told", || upstream.open_connections() == 0);
}

/// G10: a tunnel does not hold up the end for longer than `drain_timeout`, and until then it goes on.
#[test]
fn g10_tunnels_last_until_the_drain_timeout() {
    let upstream = echo("");
    let mut gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.runtime.drain_timeout = Duration::from_secs(5);
    });
    let (mut first, mut second) = (switched(&gateway), switched(&gateway));
    let drained = gateway.drain();
    eventually("it drains", || !gateway.control().is_ready());
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(100));
        first.send("x");
        assert_eq!(first.take(1), b"x");
    }
    second.half_close();
    second.expect_end();
    assert!(!drained.join().expect("it drains"), "one was cut");
    first.rest();
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
