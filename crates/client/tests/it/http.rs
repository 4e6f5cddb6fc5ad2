//! Connections to real endpoints.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::core::RetryRules;
use evenkeel_client::http::HttpConnect;
use evenkeel_client::{Cluster, Connect, Http, Settings};
use evenkeel_testkit::{Answer, Upstream};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

use crate::endpoints::in_flight;
use crate::server::Server;

fn get(path: &str) -> http::Request<Full<Bytes>> {
    http::Request::get(path)
        .body(Full::default())
        .expect("a request")
}

#[tokio::test]
async fn connections_are_kept_for_the_next_calls() {
    for two in [false, true] {
        let server = Server::start(Duration::ZERO, two).await;
        let connect = if two {
            HttpConnect::http2()
        } else {
            HttpConnect::http1()
        };
        let cluster =
            Cluster::new(Settings::new("web"), [server.endpoint("a")], connect).expect("unique");
        for _ in 0..20 {
            let answer = cluster
                .balance(Http::new())
                .oneshot(get("/users/7"))
                .await
                .expect("an answer");
            let body = answer
                .into_body()
                .collect()
                .await
                .expect("whole")
                .to_bytes();
            assert_eq!(&body[..], b"GET /users/7");
        }
        assert_eq!(server.count(), 20);
        assert_eq!(
            server.connections.load(Ordering::Relaxed),
            1,
            "http2: {two}"
        );
        assert_eq!(in_flight(&cluster.stats()), 0);
    }
}

/// Also where no balancer has looked at the time for it, and on a thread that has looked at none yet.
#[tokio::test]
async fn a_connection_that_idled_too_long_carries_no_call() {
    let server = Server::start(Duration::ZERO, false).await;
    let connect = HttpConnect::http1().idle_timeout(Duration::from_millis(20));
    let service = connect.connect(&server.endpoint("a"));
    for calls in 1..=3 {
        let answer = service.clone().oneshot(get("/")).await.expect("an answer");
        answer.into_body().collect().await.expect("whole");
        assert_eq!(server.connections.load(Ordering::Relaxed), calls);
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

#[tokio::test]
async fn a_body_holds_its_endpoint_until_it_ends_or_is_dropped() {
    let upstream = Upstream::answering(|_| Answer::ok("a body of some length"));
    let cluster = Cluster::new(
        Settings::new("web"),
        [upstream.endpoint("a")],
        HttpConnect::http1(),
    )
    .expect("unique");
    let call = || cluster.balance(Http::new()).oneshot(get("/"));
    let answer = call().await.expect("an answer");
    assert_eq!(in_flight(&cluster.stats()), 1, "its body has not been read");
    answer.into_body().collect().await.expect("whole");
    assert_eq!(in_flight(&cluster.stats()), 0);
    let answer = call().await.expect("an answer");
    assert_eq!(in_flight(&cluster.stats()), 1);
    drop(answer);
    let stats = cluster.stats();
    assert_eq!(in_flight(&stats), 0);
    let calls = &stats.endpoints[0].calls;
    assert_eq!(
        (calls.successes, calls.failures, calls.cancelled),
        (2, 0, 0),
        "its head was an answer"
    );
}

#[tokio::test]
async fn a_post_that_may_have_been_acted_upon_is_sent_once() {
    let upstream = Upstream::answering(|_| Answer::reset());
    let other = Upstream::ok("fine");
    let settings = Settings::new("web")
        .outlier(None)
        .strategy("round_robin", &[])
        .expect("known");
    let list = [upstream.endpoint("a"), other.endpoint("b")];
    let cluster = Cluster::new(settings, list, HttpConnect::http1()).expect("unique");
    let mut failed = 0;
    for _ in 0..10 {
        let post = http::Request::post("/pay")
            .body(Full::<Bytes>::from("7"))
            .expect("a request");
        failed += u32::from(cluster.balance(Http::new()).oneshot(post).await.is_err());
    }
    assert_eq!((failed, upstream.count(), other.count()), (5, 5, 5));
    for _ in 0..10 {
        let answer = cluster
            .balance(Http::new())
            .oneshot(get("/"))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), 200, "what does no harm goes elsewhere");
    }
}

#[tokio::test]
async fn an_address_that_refuses_costs_no_call_whatever_its_method() {
    let gone = Server::start(Duration::ZERO, false).await;
    let refused = gone.endpoint("a");
    gone.stop().await;
    let upstream = Upstream::ok("fine");
    let list = [refused, upstream.endpoint("b")];
    let cluster = Cluster::new(Settings::new("web"), list, HttpConnect::http1()).expect("unique");
    for _ in 0..20 {
        let post = http::Request::post("/pay")
            .body(Full::<Bytes>::from("7"))
            .expect("a request");
        let answer = cluster
            .balance(Http::new())
            .oneshot(post)
            .await
            .expect("an answer");
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(upstream.count(), 20);
}

/// What comes back unsent was given the name of the endpoint that it did not reach.
#[tokio::test]
async fn a_request_without_a_host_names_the_endpoint_that_it_reaches() {
    for two in [false, true] {
        let gone = Server::start(Duration::ZERO, two).await;
        let refused = gone.endpoint("a");
        gone.stop().await;
        let server = Server::start(Duration::ZERO, two).await;
        let connect = match two {
            true => HttpConnect::http2(),
            false => HttpConnect::http1(),
        };
        let list = [refused, server.endpoint("b")];
        let cluster = Cluster::new(Settings::new("web"), list, connect).expect("unique");
        for method in ["GET", "POST"] {
            for _ in 0..10 {
                let mut request = get("/host");
                *request.method_mut() = method.parse().expect("a method");
                let answer = cluster.balance(Http::new()).oneshot(request).await;
                let body = answer.expect("an answer").into_body().collect().await;
                let host = body.expect("a body").to_bytes();
                assert_eq!(host, server.address.to_string(), "{method}, http2: {two}");
            }
        }
    }
}

#[tokio::test]
async fn statuses_that_are_listed_are_tried_elsewhere_and_others_come_through() {
    let sick = Upstream::answering(|_| Answer::status(503, "sick"));
    let well = Upstream::ok("fine");
    let settings = || Settings::new("web").outlier(None);
    let list = [sick.endpoint("a"), well.endpoint("b")];
    let cluster = Cluster::new(settings(), list.clone(), HttpConnect::http1()).expect("unique");
    for _ in 0..10 {
        let answer = cluster
            .balance(Http::new())
            .oneshot(get("/"))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(well.count(), 10);
    let once = RetryRules {
        attempts: 1,
        ..RetryRules::default()
    };
    let cluster = Cluster::new(
        settings().retry(once),
        [list[0].clone()],
        HttpConnect::http1(),
    )
    .expect("unique");
    let answer = cluster
        .balance(Http::new())
        .oneshot(get("/"))
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 503);
    drop(answer);
    assert_eq!(cluster.stats().endpoints[0].calls.failures, 1);
}

#[tokio::test]
async fn connections_to_an_endpoint_that_is_gone_close() {
    let upstream = Upstream::ok("fine");
    let cluster = Cluster::new(
        Settings::new("web"),
        [upstream.endpoint("a")],
        HttpConnect::http1(),
    )
    .expect("unique");
    let answer = cluster
        .balance(Http::new())
        .oneshot(get("/"))
        .await
        .expect("an answer");
    answer.into_body().collect().await.expect("whole");
    assert_eq!(upstream.open_connections(), 1);
    cluster.set_endpoints([]).expect("unique");
    for _ in 0..2000 {
        if upstream.open_connections() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it stays open");
}
