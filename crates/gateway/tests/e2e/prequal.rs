//! `prequal` fed by what endpoints say: because they are asked, or in the heads of their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_config::StrategyChoice;
use evenkeel_core::Endpoint;
use evenkeel_core::strategy::Value;
use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream, eventually};

use crate::GET;

/// An upstream with its own counts: requests, and questions at `/load`.
struct Node {
    upstream: Upstream,
    asked: Arc<AtomicUsize>,
}

impl Node {
    /// One that answers questions so, and requests at once.
    fn saying(load: Answer) -> Self {
        let asked = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&asked);
        let upstream = Upstream::answering(move |request| {
            if request.head.line.starts_with("GET /load?v=1 HTTP/1.1") {
                count.fetch_add(1, Ordering::Relaxed);
                return load.clone();
            }
            Answer::ok("ok")
        });
        Self { upstream, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn requests(&self) -> usize {
        self.upstream.count() - self.asked()
    }
}

fn gateway(endpoints: impl IntoIterator<Item = Endpoint>, probing: bool) -> Gateway {
    let mut params = vec![];
    if probing {
        let path = Value::Text("/load?v=1".to_owned());
        params = vec![("probe_path".to_owned(), path)];
    }
    Gateway::with(endpoints, |config| {
        config.clusters[0].strategy = StrategyChoice::new("prequal", &params).expect("known");
    })
}

/// The busiest is hot and gets nothing; of the others the faster one is chosen. Nobody counts questions
/// as requests, and those who are asked are not blamed.
#[test]
fn requests_go_where_endpoints_say_they_are_quick() {
    let busy = Node::saying(Answer::ok(r#"{"in_flight": 50, "latency_ms": 1}"#));
    let slow = Node::saying(Answer::ok(r#"{"in_flight": 2, "latency_ms": 80}"#));
    let quick = Node::saying(Answer::chunks([
        &br#"{"in_flight": 2, "#[..],
        &br#""latency_ms": 3.5}"#[..],
    ]));
    let nodes = [&busy, &slow, &quick];
    let endpoints = ["a", "b", "c"]
        .iter()
        .zip(nodes)
        .map(|(id, node)| node.upstream.endpoint(id));
    let gateway = gateway(endpoints.collect::<Vec<_>>(), true);
    // Some are asked before anybody sends a request.
    eventually("all are known", || {
        nodes.iter().all(|node| node.asked() > 1)
    });
    let mut client = RawClient::connect(gateway.address());
    let mut before = nodes.map(Node::requests);
    eventually("the quick one takes nearly all", || {
        for _ in 0..100 {
            client.send(GET);
            assert_eq!(client.response().status, 200);
        }
        let now = nodes.map(Node::requests);
        let [busy, slow, quick] = [0, 1, 2].map(|at| now[at] - before[at]);
        before = now;
        // Give or take questions that are being counted.
        assert!(
            (95..=105).contains(&(busy + slow + quick)),
            "{busy} {slow} {quick}"
        );
        quick >= 90 && busy <= 2
    });
    for id in ["a", "b", "c"] {
        let totals = gateway.endpoint(id).totals;
        assert_eq!((totals.bad_reports, totals.failures), (0, 0), "{id}");
    }
    // A question is counted by who is asked a moment after it has come.
    eventually("questions are no requests", || {
        let endpoints = gateway.cluster().endpoints();
        let counted: u64 = endpoints.iter().map(|at| at.totals.requests()).sum();
        counted as usize == nodes.iter().map(|node| node.requests()).sum::<usize>()
    });
    gateway.assert_idle();
}

/// Questions that nobody answers, or that are answered with nonsense, hold no request up.
#[test]
fn questions_are_off_the_path_of_requests() {
    let silent = Node::saying(Answer::new().after(Duration::from_secs(5)));
    let wild = Node::saying(Answer::ok("<html>"));
    let gateway = gateway(
        [silent.upstream.endpoint("a"), wild.upstream.endpoint("b")],
        true,
    );
    let mut client = RawClient::connect(gateway.address());
    eventually("both were asked and said nothing", || {
        client.send(GET);
        assert_eq!(client.response().status, 200);
        ["a", "b"]
            .iter()
            .all(|id| gateway.endpoint(id).totals.bad_reports > 1)
    });
    // Nothing is known, so it is as `least_request`, and told as a fallback.
    let [picked, fallback, none, _] = gateway.cluster().decisions();
    assert_eq!((picked, none), (0, 0), "{fallback}");
    for id in ["a", "b"] {
        assert_eq!(gateway.endpoint(id).totals.failures, 0, "{id}");
    }
}

/// Three for each request by default, an endpoint never twice at once, and none without a path.
#[test]
fn as_many_are_asked_as_was_said() {
    let node = || Node::saying(Answer::ok(r#"{"in_flight": 1}"#));
    let nodes = [node(), node(), node(), node(), node(), node()];
    let ids = ["a", "b", "c", "d", "e", "f"];
    let endpoints: Vec<Endpoint> = ids
        .iter()
        .zip(&nodes)
        .map(|(id, node)| node.upstream.endpoint(id))
        .collect();
    let asking = gateway(endpoints.clone(), true);
    let mut client = RawClient::connect(asking.address());
    for _ in 0..200 {
        client.send(GET);
        assert_eq!(client.response().status, 200);
    }
    let asked = || nodes.iter().map(Node::asked).sum::<usize>();
    eventually("some were asked", || asked() > 50);
    assert!(nodes.iter().all(|node| node.asked() > 0));
    drop((client, asking));
    let before = asked();
    let quiet = gateway(endpoints, false);
    let mut client = RawClient::connect(quiet.address());
    for _ in 0..50 {
        client.send(GET);
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(asked(), before);
}

/// Without questions: what answers say in their heads.
#[test]
fn reports_in_answers_fill_the_pool() {
    let saying = |in_flight: u32| {
        Upstream::answering(move |_| {
            Answer::raw(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nendpoint-load-metrics: TEXT \
                 named_metrics.in_flight={in_flight},named_metrics.latency_ms=5\r\n\r\n"
            ))
        })
    };
    let (busy, free, other) = (saying(90), saying(1), saying(1));
    let endpoints = [busy.endpoint("a"), free.endpoint("b"), other.endpoint("c")];
    let gateway = gateway(endpoints, false);
    let mut client = RawClient::connect(gateway.address());
    let mut before = 0;
    eventually("the busy one is left alone", || {
        for _ in 0..100 {
            client.send(GET);
            assert_eq!(client.response().status, 200);
        }
        let now = busy.count();
        let got = now - before;
        before = now;
        // It is tried now and then, since what it said grows old.
        got <= 15
    });
    assert!(gateway.endpoint("a").totals.reports > 0);
}
