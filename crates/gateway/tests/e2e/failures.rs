//! Endpoints that cannot be reached, do not answer, or answer with rubbish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_config::StrategyChoice;
use evenkeel_core::Admin;
use evenkeel_core::strategy::registry::STRATEGIES;
use evenkeel_testkit::{Act, Answer, Blackhole, Gateway, RawClient, Refusing, Script, Upstream};

use crate::{GET, ask, assert_own, post, together};

/// D07: a retry goes to another endpoint, whatever the strategy and however many ask at once.
#[test]
fn d07_a_dead_endpoint_costs_no_request() {
    let dead = Refusing::new();
    let (b2, b3) = (Upstream::ok("2"), Upstream::ok("3"));
    for strategy in STRATEGIES {
        let endpoints = [dead.endpoint("b1"), b2.endpoint("b2"), b3.endpoint("b3")];
        let gateway = Gateway::with(endpoints, |config| {
            let choice = StrategyChoice::new(strategy.name, &[]);
            config.clusters[0].strategy = choice.expect("it is registered");
            config.clusters[0].retry.attempts = 2;
            // One client is one key: all of its requests may begin at the dead one.
            config.clusters[0].retry.budget.ratio = 1.0;
        });
        let address = gateway.address();
        together(20, |thread| {
            let mut client = RawClient::connect(address);
            for number in 0..10 {
                // Nothing was sent, so any method may go elsewhere.
                let method = if (thread + number) % 2 == 0 {
                    "GET"
                } else {
                    "POST"
                };
                client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
                let response = client.response();
                assert_eq!(response.status, 200, "{}: {response:?}", strategy.name);
            }
        });
        gateway.assert_idle();
        let report = gateway.endpoint("b1");
        // One client is one key, and that may be another endpoint's.
        assert!(
            strategy.traits.keyed || report.totals.failures > 0,
            "{}: it was tried",
            strategy.name
        );
    }
    assert_eq!(
        b2.count() + b3.count(),
        200 * STRATEGIES.len(),
        "each request once"
    );
}

#[test]
fn d07_two_hundred_at_once_beside_a_dead_endpoint() {
    let (dead, live) = (Refusing::new(), Upstream::ok("ok"));
    let gateway = Gateway::over([dead.endpoint("b1"), live.endpoint("b2")]);
    let address = gateway.address();
    together(200, |_| assert_eq!(ask(address, GET).status, 200));
    assert_eq!(live.count(), 200);
    gateway.assert_idle();
}

/// D05: the body goes whole to the endpoint that takes it.
#[test]
fn d05_a_retried_body_is_not_cut() {
    let (dead, live) = (Refusing::new(), Upstream::echo());
    let gateway = Gateway::over([dead.endpoint("b1"), live.endpoint("b2")]);
    for length in [0, 10, 20_000, 64 * 1024, 1 << 20] {
        let body = crate::noise(length);
        for _ in 0..4 {
            let mut client = RawClient::sending(gateway.address(), post(&body));
            assert!(client.response_to("POST").body == body, "{length} bytes");
        }
    }
    for request in live.requests() {
        let length = request.field("content-length").expect("a length");
        assert_eq!(length, request.body.len().to_string());
    }
}

#[test]
fn all_refuse() {
    let (one, two) = (Refusing::new(), Refusing::new());
    let gateway = Gateway::over([one.endpoint("b1"), two.endpoint("b2")]);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..3 {
        client.send(GET);
        let response = client.response();
        assert_own(&response, 502, "connection_refused");
        assert!(!response.says_close(), "the client did nothing wrong");
    }
    // Also with more attempts than endpoints.
    let gateway = Gateway::with([one.endpoint("b1")], |config| {
        config.clusters[0].retry.attempts = 8;
    });
    assert_own(&ask(gateway.address(), GET), 502, "connection_refused");
    assert_eq!(
        gateway.endpoint("b1").totals.failures,
        1,
        "each endpoint once"
    );
    gateway.assert_idle();
}

/// Without retries the first refusal is the answer.
#[test]
fn retries_can_be_turned_off() {
    let (dead, live) = (Refusing::new(), Upstream::ok("ok"));
    let gateway = Gateway::with([dead.endpoint("b1"), live.endpoint("b2")], |config| {
        config.clusters[0].retry.on.connect = false;
        config.clusters[0].strategy = StrategyChoice::new("round_robin", &[]).expect("known");
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    let mut statuses: Vec<u16> = (0..4).map(|_| ask(gateway.address(), GET).status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 502, 502]);
}

#[test]
fn connections_have_a_time_limit() {
    let hole = Blackhole::new();
    let gateway = Gateway::with([hole.endpoint("b1")], |config| {
        config.clusters[0].timeout.connect = Duration::from_millis(200);
    });
    let mut client = RawClient::sending(gateway.address(), GET);
    let response = client.response();
    assert_own(&response, 504, "connection_timeout");
    assert!(!response.says_close());
    gateway.assert_idle();
    assert_eq!(gateway.endpoint("b1").totals.failures, 1);
}

/// An address that hangs is left for another one as one that refuses is.
#[test]
fn d07_a_retry_after_a_timeout() {
    let (hole, live) = (Blackhole::new(), Upstream::ok("ok"));
    let gateway = Gateway::with([hole.endpoint("b1"), live.endpoint("b2")], |config| {
        config.clusters[0].timeout.connect = Duration::from_millis(500);
    });
    let address = gateway.address();
    together(10, |_| assert_eq!(ask(address, GET).status, 200));
    assert_eq!(live.count(), 10);
}

#[test]
fn answers_have_a_time_limit() {
    let upstream = Upstream::answering(|_| Answer::never());
    let gateway = Gateway::with([upstream.endpoint("b1")], |config| {
        config.clusters[0].timeout.response = Duration::from_millis(200);
    });
    assert_own(&ask(gateway.address(), GET), 504, "http_response_timeout");
    assert_eq!(upstream.count(), 1, "it was not sent again");
    gateway.assert_idle();
    assert_eq!(gateway.endpoint("b1").totals.failures, 1);
    evenkeel_testkit::eventually("the connection is given up", || {
        upstream.open_connections() == 0
    });
}

/// Bytes that trickle in are no head, and do not put the limit off.
#[test]
fn answers_have_a_time_limit_also_when_they_trickle() {
    let upstream = Upstream::answering(|_| {
        (0..100).fold(Answer::raw("HTTP/1.1 200 OK\r\n"), |answer, number| {
            answer
                .wait(Duration::from_millis(20))
                .send(format!("X-{number}: y\r\n"))
        })
    });
    let gateway = Gateway::with([upstream.endpoint("b1")], |config| {
        config.clusters[0].timeout.response = Duration::from_millis(300);
    });
    assert_own(&ask(gateway.address(), GET), 504, "http_response_timeout");
}

/// A body that stands still is cut; the client sees that it is.
#[test]
fn bodies_have_a_time_limit() {
    let upstream = Upstream::answering(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").then(Act::Listen)
    });
    let gateway = Gateway::with([upstream.endpoint("b1")], |config| {
        config.clusters[0].timeout.idle = Duration::from_millis(200);
    });
    let mut client = RawClient::sending(gateway.address(), GET);
    client.head();
    assert_eq!(client.rest(), b"abc");
    gateway.assert_idle();
    assert_eq!(gateway.endpoint("b1").totals.failures, 1);
}

/// What takes longer than the idle limit in all is fine as long as it goes on.
#[test]
fn slow_bodies_may_take_long() {
    let upstream = Upstream::answering(|_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
        (0..10).fold(Answer::raw(head), |answer, _| {
            answer.wait(Duration::from_millis(250)).send("x")
        })
    });
    let gateway = Gateway::with([upstream.endpoint("b1")], |config| {
        config.clusters[0].timeout.idle = Duration::from_secs(2);
        config.clusters[0].timeout.response = Duration::from_secs(2);
    });
    assert_eq!(ask(gateway.address(), GET).text(), "x".repeat(10));
}

/// D01, D02: what an endpoint may have acted upon is not sent again; what does no harm is, if not a
/// byte of an answer came.
#[test]
fn d01_what_may_have_been_processed_is_not_sent_again() {
    let rubbish = "http_protocol_error";
    let cut = "connection_terminated";
    let part = "HTTP/1.1 200 OK\r\nContent-";
    let ends = [
        (Answer::close(), cut, 2),
        (Answer::reset(), cut, 2),
        (Answer::raw("rubbish\r\n\r\n"), rubbish, 1),
        (Answer::raw("HTTP/1.1 2x0 OK\r\n\r\n"), rubbish, 1),
        (Answer::raw(part).then(Act::Close), cut, 1),
        (Answer::raw(part).then(Act::Reset), cut, 1),
    ];
    for (answer, error, most) in ends {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "FOO"] {
            let (first, second) = (answer.clone(), answer.clone());
            let b1 = Upstream::answering(move |_| first.clone());
            let b2 = Upstream::answering(move |_| second.clone());
            let gateway = Gateway::over([b1.endpoint("b1"), b2.endpoint("b2")]);
            let request =
                format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
            let mut client = RawClient::sending(gateway.address(), request);
            assert_own(&client.response(), 502, error);
            let copies = match method {
                "POST" | "PATCH" | "FOO" => 1,
                _ => most,
            };
            let came = b1.count() + b2.count();
            assert_eq!(came, copies, "{method} with {answer:?}");
            gateway.assert_idle();
        }
    }
}

/// D02: what dies on a reused connection before a byte of its answer is sent once more if that does
/// no harm. A POST may have been processed.
#[test]
fn d02_a_reused_connection_that_dies() {
    for (method, status, copies) in [
        ("GET", 200, 2),
        ("PUT", 200, 2),
        ("POST", 502, 1),
        ("FOO", 502, 1),
    ] {
        // Each connection answers once, and closes when it has read a second request.
        let upstream = Upstream::answering(|request| match request.place {
            0 => Answer::ok("ok"),
            _ => Answer::close(),
        });
        let gateway = Gateway::with([upstream.endpoint("b1")], |config| {
            config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
        });
        let mut client = RawClient::sending(gateway.address(), GET);
        assert_eq!(client.response().status, 200);
        client.send(format!(
            "{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
        ));
        assert_eq!(client.response().status, status, "{method}");
        let of_this: Vec<_> = upstream.requests();
        assert_eq!(of_this.len(), 1 + copies, "{method}");
        for request in &of_this[1..] {
            assert_eq!(request.body, b"body", "never without its body");
        }
        gateway.assert_idle();
    }
}

/// D05: a body that did not fit in is not repeated.
#[test]
fn d05_a_large_body_on_a_connection_that_dies() {
    let script = Script::new(|_| Answer::ok("ok"));
    let upstream = Upstream::start(script.at_head(|request| {
        // It stops reading somewhere in the body.
        (request.place > 0).then(|| Answer::new().then(Act::Reset))
    }));
    let gateway = Gateway::with([upstream.endpoint("b1")], |config| {
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    let mut client = RawClient::sending(gateway.address(), GET);
    assert_eq!(client.response().status, 200);
    let length = 1 << 20;
    let head = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    client.try_send([head.as_bytes(), &crate::noise(length)].concat());
    assert_own(&client.response(), 502, "connection_terminated");
    assert_eq!(upstream.connections(), 1);
    gateway.assert_idle();
}

/// A status of the endpoint's own is relayed, and is a failure of its only from 500 on.
#[test]
fn statuses_of_endpoints_are_theirs() {
    let upstream = Upstream::answering(|request| {
        Answer::status(
            request.target()[1..].parse().expect("a status"),
            "own words",
        )
    });
    let gateway = Gateway::over([upstream.endpoint("b1")]);
    for status in [200, 301, 404, 429, 499] {
        let response = ask(
            gateway.address(),
            format!("GET /{status} HTTP/1.1\r\nHost: a\r\n\r\n"),
        );
        assert_eq!(
            (response.status, response.text()),
            (status, "own words".into())
        );
        assert_eq!(response.field("proxy-status"), None);
    }
    gateway.assert_blameless();
    for status in [500, 503, 599] {
        let response = ask(
            gateway.address(),
            format!("GET /{status} HTTP/1.1\r\nHost: a\r\n\r\n"),
        );
        assert_eq!(
            (response.status, response.text()),
            (status, "own words".into())
        );
    }
    gateway.assert_idle();
    assert_eq!(gateway.endpoint("b1").totals.failures, 3);
}

/// Host names that do not resolve are an error of their own, and others are used instead.
#[test]
fn names_that_do_not_resolve() {
    let live = Upstream::ok("ok");
    let unknown = evenkeel_core::Endpoint::new("b1", "nowhere.invalid:80");
    let gateway = Gateway::over([unknown, live.endpoint("b2")]);
    for _ in 0..10 {
        assert_eq!(ask(gateway.address(), GET).status, 200);
    }
    gateway.update("b2", None, Some(Admin::Disabled));
    assert_own(&ask(gateway.address(), GET), 502, "dns_error");
}

/// Case C15: the only endpoint fails ten times in a row and then works: the next request after that is
/// answered, and none in between was kept from it.
#[test]
fn c15_the_only_endpoint_is_asked_however_often_it_failed() {
    let served = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&served);
    let upstream = Upstream::answering(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        ..10 => Answer::status(500, "no"),
        _ => Answer::ok("yes"),
    });
    let gateway = Gateway::single(&upstream);
    for _ in 0..10 {
        let response = ask(gateway.address(), GET);
        assert_eq!(
            (response.status, response.text()),
            (500, "no".to_owned()),
            "{response:?}"
        );
    }
    // Time for whoever would take it out.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(ask(gateway.address(), GET).text(), "yes");
    assert_eq!(upstream.count(), 11);
}
