//! D03: endpoints that close idle connections just as the next request is written.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_testkit::{Act, Answer, Gateway, RawClient, Upstream};

use crate::together;

/// Answers, and closes 0 to 5 ms later whatever comes meanwhile: each connection serves once.
fn once_only() -> Upstream {
    let turn = AtomicUsize::new(0);
    Upstream::answering(move |request| {
        let micros = turn.fetch_add(1, Ordering::Relaxed) * 677 % 5000;
        let answer = Answer::ok(request.target());
        answer
            .wait(Duration::from_micros(micros as u64))
            .then(Act::Close)
    })
}

/// Answers, and closes when nothing comes for 0.1 to 3 ms, as endpoints do.
fn impatient() -> Upstream {
    let turn = AtomicUsize::new(0);
    Upstream::answering(move |request| {
        let micros = 100 + turn.fetch_add(1, Ordering::Relaxed) * 677 % 2900;
        Answer::ok(request.target()).then(Act::Idle(Duration::from_micros(micros as u64)))
    })
}

/// Pauses that make the race likely: 0 to 3 ms.
fn pause(number: usize) {
    std::thread::sleep(Duration::from_micros((number * 433 % 3000) as u64));
}

#[test]
fn d03_gets_survive_endpoints_that_serve_once() {
    gets_survive(&once_only());
}

#[test]
fn d03_gets_survive_impatient_endpoints() {
    gets_survive(&impatient());
}

#[track_caller]
fn gets_survive(upstream: &Upstream) {
    let gateway = Gateway::single(upstream);
    let address = gateway.address();
    together(4, |thread| {
        let mut client = RawClient::connect(address);
        for number in 0..500 {
            pause(number);
            client.send(format!(
                "GET /{thread}/{number} HTTP/1.1\r\nHost: a\r\n\r\n"
            ));
            let response = client.response();
            assert_eq!(response.status, 200, "{response:?}");
            assert_eq!(response.text(), format!("/{thread}/{number}"));
            assert!(!response.says_close());
        }
    });
    gateway.assert_idle();
}

/// A POST is never sent twice, and an error is rare: only what was written before the end could be
/// seen is lost.
#[test]
fn d03_posts_are_never_doubled() {
    let upstream = impatient();
    let gateway = Gateway::single(&upstream);
    let address = gateway.address();
    let lost = AtomicUsize::new(0);
    together(4, |thread| {
        let mut client = RawClient::connect(address);
        for number in 0..250 {
            pause(number);
            let head = format!("POST /{thread}/{number} HTTP/1.1\r\nHost: a\r\n");
            client.send(format!("{head}Content-Length: 4\r\n\r\nbody"));
            let response = client.response_to("POST");
            if response.status == 502 {
                lost.fetch_add(1, Ordering::Relaxed);
            } else {
                assert_eq!(response.text(), format!("/{thread}/{number}"));
            }
        }
    });
    let mut targets: Vec<_> = upstream
        .requests()
        .iter()
        .map(|r| r.target().to_owned())
        .collect();
    let came = targets.len();
    targets.sort_unstable();
    targets.dedup();
    assert_eq!(targets.len(), came, "no target twice");
    let lost = lost.into_inner();
    assert!(came + lost >= 1000, "each came or was lost: {came}, {lost}");
    // nginx 1.22.1 lost 43 of 1,000 to such an endpoint when it was measured.
    assert!(lost <= 40, "{lost} of 1000 lost");
    gateway.assert_idle();
}

/// An end that came while a connection was idle is seen before it is used, also for a POST.
#[test]
fn d03_connections_that_ended_are_not_used() {
    let upstream = Upstream::answering(|_| Answer::ok("ok").then(Act::Close));
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..20 {
        client.send(crate::post("body"));
        assert_eq!(client.response_to("POST").status, 200);
        evenkeel_testkit::eventually("it has closed", || upstream.open_connections() == 0);
        // The end has been sent; it takes a moment to be noticed.
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(upstream.count(), 20);
}
