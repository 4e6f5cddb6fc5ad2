//! How far retries go: the budget (D08, D15), time, room, clients that leave (D11), early answers
//! (D06), and drain.

use std::thread;
use std::time::Duration;

use evenkeel_config::{Cluster, StrategyChoice, Workers};
use evenkeel_core::{Nanos, RetryPolicy};
use evenkeel_testkit::{
    Act, Answer, Blackhole, Gate, Gateway, RawClient, Refusing, Script, Upstream, eventually,
};

use crate::{GET, ask, assert_own, noise, together};

const MANY: RetryPolicy = RetryPolicy {
    ratio: 1.0,
    per_second: 1000,
    window: Nanos::from_secs(10),
};

fn failing(status: u16) -> Upstream {
    Upstream::answering(move |_| Answer::status(status, "own words"))
}

/// Sends so many requests of each kind on so many connections, and gives how many were answered so.
fn send(gateway: &Gateway, threads: usize, each: usize, status: u16) {
    let address = gateway.address();
    together(threads, |_| {
        let mut client = RawClient::connect(address);
        for _ in 0..each {
            client.send(GET);
            assert_eq!(client.response().status, status);
        }
    });
    gateway.assert_idle();
}

/// D08: when all fail, retries do not multiply the load: the budget holds over all workers, and what it
/// refused is counted.
#[test]
fn d08_retries_do_not_multiply_the_load() {
    let all = [failing(503), failing(503), failing(503), failing(503)];
    let endpoints = ["a", "b", "c", "d"];
    let endpoints = endpoints.iter().zip(&all).map(|(id, b)| b.endpoint(id));
    let gateway = Gateway::with(endpoints, |config| {
        config.clusters[0].retry.attempts = 4;
        config.clusters[0].retry.budget = RetryPolicy {
            per_second: 2,
            ..RetryPolicy::default()
        };
    });
    send(&gateway, 10, 50, 503);
    let came: usize = all.iter().map(Upstream::count).sum();
    let [success, failure, over] = gateway.cluster().retries();
    // All of it lies in one window, if the machine is not a hundred times too slow.
    assert!(came <= 500 * 12 / 10 + 20, "{came}");
    assert_eq!((success, failure as usize), (0, came - 500));
    assert!(failure >= 100, "the budget is there to be used: {failure}");
    assert!(over >= 300, "the others were refused: {over}");
    let endpoints = gateway.cluster().endpoints();
    let sum = |of: fn(&evenkeel_gateway::Totals) -> u64| -> u64 {
        endpoints.iter().map(|report| of(&report.totals)).sum()
    };
    assert_eq!(sum(evenkeel_gateway::Totals::requests), 500, "each once");
    assert_eq!(sum(|totals| totals.failures), came as u64, "each try once");
    assert_eq!(
        gateway.cluster().own_totals().requests(),
        0,
        "answers came from endpoints"
    );
}

/// D15: endpoints that refuse are not hammered: tries are bounded by the budget, and each is counted.
#[test]
fn d15_endpoints_that_refuse_are_not_hammered() {
    let all: Vec<Refusing> = (0..4).map(|_| Refusing::new()).collect();
    let endpoints = ["a", "b", "c", "d"];
    let endpoints = endpoints.iter().zip(&all).map(|(id, b)| b.endpoint(id));
    let gateway = Gateway::with(endpoints, |config| {
        config.clusters[0].retry.attempts = 4;
        config.clusters[0].retry.budget.per_second = 2;
    });
    send(&gateway, 10, 50, 502);
    let tries: u64 = gateway
        .cluster()
        .endpoints()
        .iter()
        .map(|report| report.totals.failures)
        .sum();
    assert!((600..=620).contains(&tries), "{tries}");
    assert_eq!(gateway.cluster().own_totals().requests(), 500);
}

/// A budget of nothing is no retries, whatever is allowed beside.
#[test]
fn d08_a_budget_of_nothing() {
    let (b1, b2) = (failing(503), Upstream::ok("ok"));
    let endpoints = [b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)];
    let gateway = Gateway::with(endpoints, |config| {
        config.clusters[0].retry.budget = RetryPolicy {
            ratio: 0.0,
            per_second: 0,
            ..RetryPolicy::default()
        };
    });
    assert_eq!(ask(gateway.address(), GET).text(), "own words");
    assert_eq!((b2.count(), gateway.cluster().retries()), (0, [0, 0, 1]));
}

/// An answer is given up only for an endpoint that has room. Where there is none the client gets it as
/// it came, and nothing is paid.
#[test]
fn an_answer_is_not_given_up_for_nobody() {
    let gate = Gate::new();
    let behind = gate.clone();
    let b1 = failing(503);
    let b2 = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let b2_endpoint = b2.endpoint("b2").with_tier(1).with_capacity(1);
    let gateway = Gateway::with([b1.endpoint("b1"), b2_endpoint], |config| {
        config.clusters[0].outlier = None;
        config.clusters[0].retry.budget = RetryPolicy {
            ratio: 0.0,
            per_second: 1,
            window: Nanos::from_secs(2),
        };
    });
    let mut held = RawClient::sending(gateway.address(), GET);
    eventually("the other one is full", || b2.count() == 1);
    for _ in 0..10 {
        let response = ask(gateway.address(), GET);
        assert_eq!(
            (response.status, response.text()),
            (503, "own words".into())
        );
        assert_eq!(response.field("proxy-status"), None);
    }
    assert_eq!(
        gateway.cluster().retries(),
        [0, 0, 0],
        "none was made or refused"
    );
    gate.open();
    assert_eq!(held.response().text(), "ok");
    gateway.assert_idle();
}

/// The same where no connection was made: the client is told of that, and that nobody had room.
#[test]
fn a_failure_with_all_others_full() {
    let gate = Gate::new();
    let behind = gate.clone();
    let dead = Refusing::new();
    let b2 = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let b2_endpoint = b2.endpoint("b2").with_tier(1).with_capacity(1);
    let gateway = Gateway::over([dead.endpoint("b1"), b2_endpoint]);
    let mut held = RawClient::sending(gateway.address(), GET);
    eventually("the other one is full", || b2.count() == 1);
    let response = ask(gateway.address(), GET);
    assert_own(&response, 502, "connection_refused");
    let reason = response.field("proxy-status").expect("a reason");
    assert!(reason.contains("at its capacity"), "{reason}");
    gate.open();
    assert_eq!(held.response().text(), "ok");
}

/// The time up to the head of an answer is that of all tries together.
#[test]
fn tries_share_their_time() {
    let all = [(); 4].map(|()| Upstream::answering(|_| Answer::never()));
    let endpoints = ["a", "b", "c", "d"];
    let endpoints = endpoints.iter().zip(&all).map(|(id, b)| b.endpoint(id));
    let gateway = Gateway::with(endpoints, |config| {
        let Cluster { retry, timeout, .. } = &mut config.clusters[0];
        (retry.attempts, retry.on.timeout, retry.budget) = (4, true, MANY);
        retry.per_try_timeout = Some(Duration::from_millis(1500));
        timeout.response = Duration::from_millis(2500);
    });
    assert_own(&ask(gateway.address(), GET), 504, "http_response_timeout");
    let came: usize = all.iter().map(Upstream::count).sum();
    assert_eq!(came, 2, "the second one had the rest of the time");
    assert_eq!(gateway.cluster().retries(), [0, 1, 0]);
}

/// What was moved for an earlier try, and how long that took, says nothing about the next one: it has
/// its own time to stand still.
#[test]
fn a_try_begins_anew() {
    let late = Upstream::answering(|_| Answer::never());
    let slow = Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(300)));
    let endpoints = [late.endpoint("b1"), slow.endpoint("b2").with_tier(1)];
    let gateway = Gateway::with(endpoints, |config| {
        let Cluster { retry, timeout, .. } = &mut config.clusters[0];
        retry.on.timeout = true;
        retry.per_try_timeout = Some(Duration::from_millis(2500));
        timeout.idle = Duration::from_millis(100);
    });
    assert_eq!(ask(gateway.address(), GET).text(), "ok");
}

/// D11 and D12: clients that leave while their request is tried again leave nothing behind and blame
/// nobody but the endpoint that failed before.
#[test]
fn d11_clients_that_leave_during_a_retry() {
    let hanging = Upstream::answering(|_| Answer::never());
    let (hole, b1) = (Blackhole::new(), failing(503));
    for (id, second) in [
        ("hanging", hanging.endpoint("b2")),
        ("hole", hole.endpoint("b2")),
    ] {
        let endpoints = [b1.endpoint("b1"), second.with_tier(1)];
        let gateway = Gateway::with(endpoints, |config| {
            config.clusters[0].outlier = None;
            config.clusters[0].retry.budget = MANY;
            config.clusters[0].timeout.connect = Duration::from_secs(300);
        });
        let clients: Vec<_> = (0..50)
            .map(|_| RawClient::sending(gateway.address(), GET))
            .collect();
        eventually("all are at the second one", || {
            gateway.endpoint("b2").in_flight == 50
        });
        clients.into_iter().for_each(RawClient::reset);
        gateway.assert_idle();
        assert_eq!(gateway.endpoint("b1").totals.failures, 50, "{id}");
        assert_eq!(gateway.endpoint("b2").totals.failures, 0, "{id}");
        assert_eq!(
            gateway.cluster().retries(),
            [0, 0, 0],
            "{id}: none has ended"
        );
        let listener = &gateway.control().listeners()[0];
        eventually("no connection is left", || listener.connections() == 0);
    }
    eventually("the endpoint is told", || hanging.open_connections() == 0);
}

/// D11: at any time, beside others that do not notice.
#[test]
fn d11_others_do_not_notice_retries_that_are_cancelled() {
    let b1 = Upstream::answering(|_| Answer::status(503, "").after(Duration::from_millis(3)));
    let b2 = Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(3)));
    let endpoints = [b1.endpoint("b1"), b2.endpoint("b2")];
    let gateway = Gateway::with(endpoints, |config| config.clusters[0].retry.budget = MANY);
    let address = gateway.address();
    together(8, |thread| {
        let mut client = RawClient::connect(address);
        for turn in 0..60 {
            if thread % 2 == 0 {
                client.send(GET);
                assert_eq!(client.response().text(), "ok");
            } else {
                let leaving = RawClient::sending(address, GET);
                thread::sleep(Duration::from_micros((turn * 197 % 10_000) as u64));
                leaving.reset();
            }
        }
    });
    gateway.assert_idle();
    assert_eq!(gateway.endpoint("b2").totals.failures, 0);
    eventually("connections are few", || {
        b1.open_connections() + b2.open_connections() <= 20
    });
}

/// D06: early answers to a client that still sends, which would be tried again if they could be: a
/// hundred times, by an endpoint that goes on reading and one that does not.
#[test]
fn d06_early_answers_to_what_could_be_tried_again() {
    // A reset that overtakes the answer would be a fair excuse.
    let pause = Duration::from_millis(100);
    for (and_then, times, pause) in [
        (Act::Listen, 100, Duration::ZERO),
        (Act::Close, 5, pause),
        (Act::Reset, 5, pause),
    ] {
        let early = || {
            let and_then = and_then.clone();
            let script = Script::new(|_| Answer::ok("never"));
            Upstream::start(script.at_head(move |_| {
                let head = "HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 4\r\n\r\n";
                let answer = Answer::raw([head, "busy"].concat()).wait(pause);
                Some(answer.then(and_then.clone()))
            }))
        };
        let (b1, b2) = (early(), early());
        let gateway = Gateway::over([b1.endpoint("b1"), b2.endpoint("b2")]);
        let head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = [b"10000\r\n", &noise(1 << 16)[..], b"\r\n"].concat();
        let bytes = [head.as_bytes(), &chunk.repeat(16), b"0\r\n\r\n"].concat();
        for _ in 0..times {
            let mut client = RawClient::connect(gateway.address());
            let mut sender = client.second_hand();
            let bytes = bytes.clone();
            let sending = thread::spawn(move || sender.try_send(bytes));
            let response = client.response_to("PUT");
            assert_eq!((response.status, response.text()), (503, "busy".into()));
            sending.join().expect("it ends");
        }
        gateway.assert_idle();
    }
}

/// A request that is tried again while the gateway leaves is finished.
#[test]
fn a_retry_during_a_drain() {
    let gate = Gate::new();
    let behind = gate.clone();
    let b1 = Upstream::answering(move |_| Answer::status(503, "no").behind(&behind));
    let b2 = Upstream::ok("ok");
    let mut gateway = Gateway::over([b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)]);
    let mut client = RawClient::sending(gateway.address(), GET);
    eventually("it is at the first one", || b1.count() == 1);
    let draining = gateway.drain();
    thread::sleep(Duration::from_millis(50));
    gate.open();
    let response = client.response();
    assert_eq!((response.status, response.text()), (200, "ok".into()));
    assert!(response.says_close());
    drop(client);
    assert!(draining.join().expect("it ends"), "all finished");
}

/// An endpoint that was removed while a request was at the first one is not tried.
#[test]
fn a_retry_goes_by_the_newest_list() {
    let gate = Gate::new();
    let behind = gate.clone();
    let b1 = Upstream::answering(move |_| Answer::close().behind(&behind));
    let (b2, b3) = (Upstream::ok("2"), Upstream::ok("3"));
    let gateway = Gateway::with(
        [
            b1.endpoint("b1"),
            b2.endpoint("b2").with_tier(1),
            b3.endpoint("b3").with_tier(2),
        ],
        |config| config.runtime.workers = Workers::new(1).expect("one"),
    );
    let mut client = RawClient::sending(gateway.address(), GET);
    eventually("it is at the first one", || b1.count() == 1);
    gateway
        .wait(gateway.control().remove(gateway.cluster(), "b2"))
        .expect("it is there");
    gate.open();
    assert_eq!(client.response().text(), "3");
    assert_eq!(b2.connections(), 0);
}

/// Turns are not lost to retries that the budget refused: both of two still get half of the requests.
#[test]
fn refused_retries_leave_the_order_alone() {
    let (b1, b2) = (failing(503), failing(503));
    let gateway = Gateway::with([b1.endpoint("b1"), b2.endpoint("b2")], |config| {
        config.runtime.workers = Workers::new(1).expect("one");
        let cluster = &mut config.clusters[0];
        cluster.strategy = StrategyChoice::new("round_robin", &[]).expect("known");
        (cluster.retry.budget.ratio, cluster.retry.budget.per_second) = (0.0, 0);
    });
    send(&gateway, 1, 100, 503);
    assert_eq!((b1.count(), b2.count()), (50, 50));
}
