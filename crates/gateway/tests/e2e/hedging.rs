//! Hedging: a second try beside one that is silent.

use std::time::Duration;

use evenkeel_config::{Cluster, Workers};
use evenkeel_core::{Endpoint, RetryPolicy};
use evenkeel_testkit::{
    Act, Answer, Blackhole, Gate, Gateway, RawClient, Refusing, Upstream, eventually,
};

use crate::{GET, ask, noise, post};

const SOON: Duration = Duration::from_millis(50);

/// A first endpoint and one behind it, which is asked after [`SOON`].
fn over(first: Endpoint, second: Endpoint, change: impl FnOnce(&mut Cluster)) -> Gateway {
    Gateway::with([first, second.with_tier(1)], |config| {
        config.runtime.workers = Workers::new(1).expect("one");
        config.clusters[0].retry.hedge_after = Some(SOON);
        change(&mut config.clusters[0]);
    })
}

fn silent() -> Upstream {
    Upstream::answering(|_| Answer::never())
}

fn slow(span: Duration) -> Upstream {
    Upstream::answering(move |_| Answer::ok("slow").after(span))
}

/// The second one speaks first: its answer is relayed, the first one's connection is closed, and nobody
/// is blamed. Each holds its place as long as it is asked.
#[test]
fn the_second_one_speaks_first() {
    let gate = Gate::new();
    let behind = gate.clone();
    let b1 = silent();
    let b2 = Upstream::answering(move |request| Answer::ok(&request.body).behind(&behind));
    let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |_| {});
    let mut client = RawClient::connect(gateway.address());
    for (number, length) in [0, 10, 1000].into_iter().enumerate() {
        let body = noise(length);
        let put = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        client.send([put.as_bytes(), &body].concat());
        if number == 0 {
            eventually("both are asked", || (b1.count(), b2.count()) == (1, 1));
            let in_flight = ["b1", "b2"].map(|id| gateway.endpoint(id).in_flight);
            assert_eq!(in_flight, [1, 1]);
            gate.open();
        }
        let response = client.response_to("PUT");
        assert_eq!(response.status, 200);
        assert!(response.body == body && !response.says_close());
        eventually("the other one is told", || b1.open_connections() == 0);
    }
    gateway.assert_blameless();
    assert_eq!((b1.count(), b2.count()), (3, 3));
    assert_eq!(b2.connections(), 1, "the winner's connection is kept");
    assert_eq!(gateway.cluster().retries(), [3, 0, 0]);
    let requests = ["b1", "b2"].map(|id| gateway.endpoint(id).totals.requests());
    assert_eq!(requests, [0, 3]);
}

/// A connection that hangs counts as silence.
#[test]
fn the_first_one_does_not_even_connect() {
    let (hole, b2) = (Blackhole::new(), Upstream::ok("ok"));
    let gateway = over(hole.endpoint("b1"), b2.endpoint("b2"), |cluster| {
        cluster.timeout.connect = Duration::from_secs(300);
    });
    assert_eq!(ask(gateway.address(), GET).text(), "ok");
    gateway.assert_blameless();
}

/// The first one speaks while the second is asked: the second is dropped.
#[test]
fn the_first_one_speaks_first() {
    let (b1, b2) = (slow(16 * SOON), silent());
    let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |_| {});
    assert_eq!(ask(gateway.address(), GET).text(), "slow");
    gateway.assert_blameless();
    assert_eq!((b1.count(), b2.count()), (1, 1));
    eventually("the other one is told", || b2.open_connections() == 0);
    assert_eq!(gateway.cluster().retries(), [0, 0, 0], "it has not ended");
}

/// Who speaks in time is waited for, however slow the rest is.
#[test]
fn an_answer_that_has_begun_is_waited_for() {
    let b1 = Upstream::answering(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\n")
            .wait(16 * SOON)
            .send("Content-Length: 0\r\n\r\n")
    });
    let b2 = Upstream::ok("no");
    let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |cluster| {
        cluster.retry.hedge_after = Some(10 * SOON);
    });
    assert_eq!(ask(gateway.address(), GET).text(), "");
    assert_eq!((b2.count(), gateway.cluster().retries()), (0, [0; 3]));
    gateway.assert_blameless();
}

#[test]
fn what_is_not_doubled() {
    let (late, b2) = (slow(3 * SOON), Upstream::ok("no"));
    let large = noise(200_000);
    let put = format!(
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
        large.len()
    );
    let requests = [
        (&late, post("body")),
        (&late, b"FOO / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec()),
        (&late, [put.as_bytes(), &large].concat()),
    ];
    for (b1, request) in requests {
        let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |_| {});
        assert_eq!(ask(gateway.address(), request).status, 200);
        gateway.assert_blameless();
    }
    for change in [
        |cluster: &mut Cluster| cluster.retry.attempts = 1,
        |cluster: &mut Cluster| cluster.retry.hedge_after = None,
        |cluster: &mut Cluster| {
            cluster.retry.budget = RetryPolicy {
                ratio: 0.0,
                per_second: 0,
                ..RetryPolicy::default()
            };
        },
    ] {
        let gateway = over(late.endpoint("b1"), b2.endpoint("b2"), change);
        assert_eq!(ask(gateway.address(), GET).text(), "slow");
        let [success, failure, over_budget] = gateway.cluster().retries();
        assert!(success + failure == 0 && over_budget <= 1);
    }
    assert_eq!(b2.count(), 0);
}

/// The first one fails while the second is asked: the second goes on alone.
#[test]
fn the_first_one_fails_meanwhile() {
    for act in [Act::Close, Act::Reset] {
        let b1 = Upstream::answering(move |_| Answer::new().then(act.clone()).after(2 * SOON));
        let b2 = slow(6 * SOON);
        let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |_| {});
        assert_eq!(ask(gateway.address(), GET).text(), "slow");
        gateway.assert_idle();
        let failures = ["b1", "b2"].map(|id| gateway.endpoint(id).totals.failures);
        assert_eq!(failures, [1, 0]);
        assert_eq!(gateway.cluster().retries(), [1, 0, 0]);
        assert_eq!(b2.count(), 1, "it is not sent once more");
    }
}

/// The second one fails: the first goes on, and there is no third.
#[test]
fn the_second_one_fails() {
    let (dead, closing) = (Refusing::new(), Upstream::answering(|_| Answer::close()));
    for second in [dead.endpoint("b2"), closing.endpoint("b2")] {
        let b1 = slow(16 * SOON);
        let gateway = over(b1.endpoint("b1"), second, |_| {});
        assert_eq!(ask(gateway.address(), GET).text(), "slow");
        gateway.assert_idle();
        let failures = ["b1", "b2"].map(|id| gateway.endpoint(id).totals.failures);
        assert_eq!(failures, [0, 1]);
        assert_eq!(gateway.cluster().retries(), [0, 1, 0]);
    }
}

/// Both fail, one after the other: the client is told, and each is blamed once.
#[test]
fn both_fail() {
    let b1 = Upstream::answering(|_| Answer::close().after(2 * SOON));
    let b2 = Upstream::answering(|_| Answer::close().after(3 * SOON));
    let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |_| {});
    assert_eq!(ask(gateway.address(), GET).status, 502);
    gateway.assert_idle();
    let failures = ["b1", "b2"].map(|id| gateway.endpoint(id).totals.failures);
    assert_eq!(failures, [1, 1]);
    assert_eq!(gateway.cluster().retries(), [0, 1, 0]);
}

/// Neither answers: the time for all tries ends both.
#[test]
fn neither_answers() {
    let (b1, b2) = (silent(), silent());
    let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |cluster| {
        cluster.timeout.response = Duration::from_millis(300);
    });
    assert_eq!(ask(gateway.address(), GET).status, 504);
    gateway.assert_idle();
    eventually("both are told", || {
        b1.open_connections() + b2.open_connections() == 0
    });
}

/// D11: a client that leaves while both are asked blames neither, and frees both.
#[test]
fn d11_a_client_that_leaves_meanwhile() {
    let (b1, b2) = (silent(), silent());
    let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |_| {});
    let clients: Vec<_> = (0..30)
        .map(|_| RawClient::sending(gateway.address(), GET))
        .collect();
    eventually("both have all", || (b1.count(), b2.count()) == (30, 30));
    clients.into_iter().for_each(RawClient::reset);
    gateway.assert_blameless();
    eventually("both are told", || {
        b1.open_connections() + b2.open_connections() == 0
    });
}

/// A kept-alive connection that dies under a second try is replaced.
#[test]
fn a_second_try_over_a_connection_that_dies() {
    let b1 = Upstream::answering(|request| match request.target() {
        "/warm" => Answer::close(),
        _ => Answer::never(),
    });
    let b2 = Upstream::answering(|request| match request.place {
        0 => Answer::ok("ok"),
        _ => Answer::close(),
    });
    let gateway = over(b1.endpoint("b1"), b2.endpoint("b2"), |_| {});
    let warm = "GET /warm HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(ask(gateway.address(), warm).text(), "ok");
    assert_eq!(ask(gateway.address(), GET).text(), "ok");
    assert_eq!((b2.connections(), b2.count()), (2, 3));
}
