//! Limits of what clients may send: each has its status, and costs the upstream nothing.

use std::time::Duration;

use evenkeel_config::Config;
use evenkeel_gateway::TurnedAway;
use evenkeel_testkit::{Answer, Gateway, RawClient, Script, Upstream, eventually};

use crate::{GET, ask, assert_own, post};

fn with(upstream: &Upstream, change: impl FnOnce(&mut evenkeel_config::Limits)) -> Gateway {
    Gateway::with([upstream.endpoint("a")], |config: &mut Config| {
        change(&mut config.listeners[0].limits);
    })
}

#[test]
fn e19_heads_may_be_as_large_as_the_limit() {
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| limits.header_bytes = 32 * 1024);
    for (kib, status) in [(8, 200), (31, 200), (33, 431), (256, 431)] {
        let value = "x".repeat(kib * 1024 - 100);
        let mut client = RawClient::connect(gateway.address());
        // It may be cut off while it sends.
        client.try_send(format!("GET / HTTP/1.1\r\nHost: a\r\nX: {value}\r\n\r\n"));
        let response = client.response();
        assert_eq!(response.status, status, "{kib} KiB");
        assert_eq!(response.says_close(), status != 200);
        if status != 200 {
            assert_own(&response, status, "http_request_error");
        }
    }
    assert_eq!(upstream.count(), 2);
}

#[test]
fn e19_heads_may_have_as_many_fields_as_the_limit() {
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| limits.headers = 100);
    for (count, status) in [(99, 200), (100, 431), (5000, 431)] {
        let fields = "A: b\r\n".repeat(count);
        let response = ask(
            gateway.address(),
            format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"),
        );
        assert_eq!(response.status, status, "{count} fields beside Host");
    }
    assert_eq!(upstream.count(), 2 - 1);
}

/// Heads of answers have their limits too: beyond them it is 502.
#[test]
fn e19_heads_of_answers_have_a_limit() {
    let upstream = Upstream::answering(|request| {
        let (count, size) = request.target()[1..].split_once('x').expect("two numbers");
        let count: usize = count.parse().expect("a number");
        let value = "v".repeat(size.parse().expect("a number"));
        let fields = format!("A: {value}\r\n").repeat(count);
        Answer::raw(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n"
        ))
    });
    let gateway = Gateway::single(&upstream);
    for (count, size, status) in [
        (1, 60_000, 200),
        (1, 70_000, 502),
        (100, 10, 200),
        (500, 10, 502),
    ] {
        let request = format!("GET /{count}x{size} HTTP/1.1\r\nHost: a\r\n\r\n");
        let response = ask(gateway.address(), request);
        assert_eq!(response.status, status, "{count} of {size}");
        if status == 502 {
            assert_own(&response, 502, "http_response_header_section_size");
        }
    }
}

#[test]
fn e23_bodies_have_one_limit_for_both_framings() {
    const MIB: usize = 1 << 20;
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| limits.body = Some(MIB as u64));
    let body = vec![b'x'; 2 * MIB];
    assert_eq!(ask(gateway.address(), post(&body[..MIB])).status, 200);

    let before = upstream.bytes_received();
    let mut known = RawClient::connect(gateway.address());
    known.try_send(post(&body));
    let response = known.response_to("POST");
    assert_own(&response, 413, "http_request_error");
    assert!(response.says_close());
    known.expect_end();
    assert_eq!(
        upstream.bytes_received(),
        before,
        "known before anything is sent"
    );

    let mut chunked = RawClient::connect(gateway.address());
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
        2 * MIB
    );
    chunked.try_send([head.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat());
    assert_own(&chunked.response_to("POST"), 413, "http_request_error");
    chunked.expect_end();
    assert_eq!(upstream.count(), 1, "no request beyond the limit is whole");
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// A body that expects to be invited is refused without an invitation.
#[test]
fn e23_an_expected_body_beyond_the_limit_is_not_invited() {
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| limits.body = Some(10));
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n";
    let mut client = RawClient::sending(gateway.address(), head);
    assert_eq!(client.any_response_to("POST").status, 413);
    assert_eq!(upstream.bytes_received(), 0);
}

#[test]
fn g03_a_slow_head_gets_408() {
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| {
        limits.header_timeout = Duration::from_millis(300)
    });
    let mut client = RawClient::sending(gateway.address(), "GET / HTTP/1.1\r\nHost: a\r\n");
    let response = client.response();
    assert_own(&response, 408, "http_request_error");
    assert!(response.says_close());
    client.expect_end();

    // Also as the second request of a connection, and when it drips.
    let mut client = RawClient::sending(gateway.address(), GET);
    assert_eq!(client.response().status, 200);
    let dripping = client.second_hand();
    let drips = std::thread::spawn(move || {
        let mut dripping = dripping;
        while dripping.try_send("G") {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert_eq!(client.response().status, 408);
    client.expect_end();
    drop(client);
    drips.join().expect("it ends");
    assert_eq!(upstream.count(), 1);
}

#[test]
fn g03_a_silent_connection_is_closed_without_a_word() {
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| {
        limits.header_timeout = Duration::from_millis(200);
        limits.idle_timeout = Duration::from_millis(300);
    });
    let mut silent = RawClient::connect(gateway.address());
    let mut idle = RawClient::sending(gateway.address(), GET);
    assert_eq!(idle.response().status, 200);
    silent.expect_end();
    idle.expect_end();
    eventually("nobody is connected", || {
        gateway.control().listeners()[0].connections() == 0
    });
}

/// 500 clients that send nothing, a byte now and then, a head without its end, or none of the body
/// that they promised, keep nobody else from being served, and go by their deadlines.
#[test]
fn g03_slow_clients_hold_up_nobody() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].limits.header_timeout = Duration::from_millis(700);
        config.clusters[0].timeout.idle = Duration::from_millis(700);
    });
    let address = gateway.address();
    let promise = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    let mut slow: Vec<RawClient> = (0..500)
        .map(|number| match number % 4 {
            0 => RawClient::connect(address),
            1 => RawClient::sending(address, "GET / HTTP/1.1\r\nHost: a\r\n"),
            2 => RawClient::sending(address, promise),
            _ => RawClient::sending(address, "G"),
        })
        .collect();
    let drips: Vec<RawClient> = slow
        .iter()
        .skip(3)
        .step_by(4)
        .map(RawClient::second_hand)
        .collect();
    let dripping = std::thread::spawn(move || {
        let mut drips = drips;
        while !drips.is_empty() {
            drips.retain_mut(|client| client.try_send("x"));
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    for _ in 0..50 {
        assert_eq!(ask(address, GET).text(), "ok");
    }
    for (number, client) in slow.iter_mut().enumerate() {
        let end = String::from_utf8_lossy(&client.rest()).into_owned();
        assert_eq!(
            end.starts_with("HTTP/1.1 408 "),
            number % 4 > 0,
            "{number}: {end}"
        );
    }
    drop(slow);
    dripping.join().expect("all of them end");
    let listener = &gateway.control().listeners()[0];
    eventually("all have gone", || listener.connections() == 0);
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// Shed, and told when to come again.
#[test]
fn a_full_cluster_says_when_to_come_again() {
    let upstream = Upstream::answering(|_| Answer::never());
    let gateway = Gateway::over([upstream.endpoint("a").with_capacity(1)]);
    let _first = RawClient::sending(gateway.address(), GET);
    eventually("it is full", || upstream.count() == 1);
    let response = ask(gateway.address(), GET);
    assert_own(&response, 503, "connection_limit_reached");
    assert_eq!(response.field("retry-after"), Some("1"));
}

/// A body that stands still is the client's delay: 408, and no blame.
#[test]
fn g03_a_body_that_stands_still_gets_408() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.idle = Duration::from_millis(300);
    });
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc";
    let mut client = RawClient::sending(gateway.address(), head);
    assert_eq!(client.response_to("POST").status, 408);
    client.expect_end();
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// One that drips never stands still: it has a rate to keep, if the listener asks for one.
#[test]
fn g03_a_body_that_drips_gets_408() {
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| {
        limits.header_timeout = Duration::from_millis(500);
        limits.body_rate = Some(1000);
    });
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nabc";
    let mut client = RawClient::sending(gateway.address(), head);
    let mut sender = client.second_hand();
    let drips = std::thread::spawn(move || {
        while sender.try_send("x") {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let response = client.response_to("POST");
    assert_own(&response, 408, "http_request_error");
    client.expect_end();
    drop(client);
    drips.join().expect("it ends");
    assert_eq!(upstream.count(), 0, "it did not come whole");
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// An endpoint that takes its time is no fault of the client.
#[test]
fn g03_a_body_that_its_endpoint_holds_up_has_time() {
    let script = Script::new(|request| Answer::ok(request.body.len().to_string()));
    let upstream = Upstream::start(script.at_head(|_| {
        let slow = Answer::interim("").wait(Duration::from_millis(1500));
        Some(slow)
    }));
    let gateway = with(&upstream, |limits| {
        limits.header_timeout = Duration::from_millis(300);
        limits.body_rate = Some(1 << 20);
    });
    let body = crate::noise(24 << 20);
    let mut client = RawClient::sending(gateway.address(), post(&body));
    assert_eq!(client.response_to("POST").text(), body.len().to_string());
}

/// The same once the answer has begun: its endpoint may wait for the rest, so it is not blamed.
#[test]
fn g03_an_answered_body_that_stands_still_is_cut() {
    let script = Script::new(|_| Answer::new());
    let upstream = Upstream::start(script.at_head(|_| {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";
        Some(Answer::interim(answer))
    }));
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.idle = Duration::from_millis(300);
    });
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc";
    let mut client = RawClient::sending(gateway.address(), head);
    client.head();
    assert_eq!(client.rest(), b"2\r\nok\r\n");
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// G02: as many connections as the limit allows; the others are turned away, and all is fine again
/// when some have gone.
#[test]
fn g02_connections_have_a_limit() {
    let upstream = Upstream::ok("ok");
    let gateway = with(&upstream, |limits| limits.connections = 50);
    let mut clients: Vec<RawClient> = (0..50)
        .map(|_| RawClient::connect(gateway.address()))
        .collect();
    for client in &mut clients {
        client.send(GET);
        assert_eq!(client.response().status, 200);
    }
    for _ in 0..100 {
        let mut late = RawClient::connect(gateway.address());
        let answer = String::from_utf8_lossy(&late.rest()).into_owned();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("error=connection_limit_reached"));
        assert!(answer.contains("\r\nRetry-After: 1\r\n"), "{answer}");
    }
    assert_eq!(upstream.count(), 50);
    let rejected = |why| gateway.control().listeners()[0].turned_away(why);
    assert_eq!(rejected(TurnedAway::Limit), 100);
    assert_eq!(rejected(TurnedAway::Descriptors), 0);
    clients.truncate(20);
    let listener = &gateway.control().listeners()[0];
    eventually("they have gone", || listener.connections() == 20);
    for _ in 0..30 {
        let mut client = RawClient::sending(gateway.address(), GET);
        assert_eq!(client.response().status, 200);
        clients.push(client);
    }
}
