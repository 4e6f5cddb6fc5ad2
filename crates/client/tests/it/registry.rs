//! Endpoints from registries: real ones, as far as they are installed.

use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::discovery::Follow;
use evenkeel_client::http::HttpConnect;
use evenkeel_client::sources::{Source, etcd};
use evenkeel_client::{Cluster, Http, Settings};
use evenkeel_testkit::{Etcd, Upstream};
use http_body_util::Full;
use tower::ServiceExt;

const PREFIX: &str = "/services/users/";

fn put(etcd: &Etcd, id: &str, upstream: &Upstream) {
    let value = format!("{{\"address\":\"{}\"}}", upstream.address());
    etcd.put(&format!("{PREFIX}{id}"), &value);
}

/// Keys come and go while calls are made; the whole list is read only every ten minutes, so what is seen came by the watch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_a_real_etcd_are_followed_while_calls_are_made() {
    let Some(registry) = Etcd::start() else {
        return;
    };
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    put(&registry, "a", &upstreams[0]);
    let keys = etcd(&[registry.url()], "/services/users").expect("a URL");
    let source = Source::new(&keys.into()).expect("in this build");
    let cluster = Cluster::new(Settings::new("users"), [], HttpConnect::http1()).expect("unique");
    let how = Follow {
        refresh: Duration::from_secs(600),
        max_drop: 1.0,
        ..Follow::default()
    };
    tokio::spawn(cluster.follow_source(source, how));
    // Each call is answered from the first list on.
    called_until(&cluster, "the first comes", false, || {
        upstreams[0].count() > 0
    })
    .await;
    put(&registry, "b", &upstreams[1]);
    called_until(&cluster, "another comes", true, || upstreams[1].count() > 0).await;
    registry.delete(&format!("{PREFIX}a"));
    let listed = || {
        let endpoints = cluster.stats().endpoints;
        let ids = endpoints.iter().map(|it| it.endpoint.id().to_owned());
        ids.collect::<Vec<_>>()
    };
    called_until(&cluster, "one goes", true, || listed() == ["b"]).await;
    let before = upstreams[0].count();
    for _ in 0..10 {
        assert_eq!(call(&cluster).await, Some(200));
    }
    assert_eq!(upstreams[0].count(), before, "it is not asked any more");
}

type Calls = Cluster<HttpConnect<Full<Bytes>>>;

async fn call(cluster: &Calls) -> Option<u16> {
    let request = http::Request::get("/").body(Full::default());
    let answer = cluster.balance(Http::new()).oneshot(request.ok()?).await;
    Some(answer.ok()?.status().as_u16())
}

async fn called_until(cluster: &Calls, what: &str, all_good: bool, holds: impl Fn() -> bool) {
    for _ in 0..4000 {
        let status = call(cluster).await;
        assert!(!all_good || status == Some(200), "{what}: {status:?}");
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never holds: {what}");
}
