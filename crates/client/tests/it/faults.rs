//! Code of callers that panics, and settings and addresses that make no sense.

use std::convert::Infallible;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenkeel_client::core::health::{Happening, Health, OutlierPolicy};
use evenkeel_client::core::{Endpoint, Nanos, Outcome};
use evenkeel_client::observe::Trouble;
use evenkeel_client::reqwest::{Reqwest, ReqwestConnect, ReqwestError};
use evenkeel_client::{Cluster, Observe, Plain, Settings};
use tower::{ServiceExt, service_fn};

use crate::endpoints::{Endpoints, in_flight, listed};

/// An address that no URL can have leads nowhere, not to the host that a request was written for.
#[tokio::test]
async fn an_address_that_reqwest_cannot_reach_is_a_failed_connect() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a port");
    elsewhere.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}/", elsewhere.local_addr().expect("bound"));
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(5))
        .build()
        .expect("a client");
    for address in [
        "unix:/run/web.sock",
        "a/b:80",
        "a b:80",
        "a:b:80",
        ":80",
        "a:99999",
    ] {
        let connect = ReqwestConnect::new(client.clone());
        let settings = Settings::new("web").outlier(None);
        let cluster = Cluster::new(settings, [Endpoint::new("a", address)], connect);
        let cluster = cluster.expect("unique");
        let request = client.get(&url).build().expect("a request");
        let error = cluster.balance(Reqwest).oneshot(request).await;
        let error = error.expect_err("nobody is there").into_endpoint();
        let error = error.expect("the endpoint's").downcast::<ReqwestError>();
        let error = error.expect("reqwest's");
        assert!(error.is_connect(), "{address}: {error}");
        assert!(error.to_string().contains(address), "{address}: {error}");
        let failures = cluster.stats().endpoints[0].calls.failures;
        assert!(failures >= 1, "{address} was not blamed");
    }
    let called = elsewhere.accept().expect_err("nobody comes");
    assert_eq!(called.kind(), std::io::ErrorKind::WouldBlock);
}

/// What panics while it makes a service leaves the cluster as it was, and its services where they are.
#[tokio::test]
async fn a_connect_that_panics_changes_nothing() {
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    let connect = move |endpoint: &Endpoint| {
        assert!(!endpoint.id().starts_with("bad"), "no service for this one");
        count.fetch_add(1, Ordering::Relaxed);
        let id = endpoint.id().to_owned();
        service_fn(move |_: u32| std::future::ready(Ok::<_, Infallible>(id.clone())))
    };
    let settings = Settings::new("web").strategy("round_robin", &[]);
    let cluster = Cluster::new(settings.expect("known"), listed(&["a", "b"]), connect);
    let cluster = cluster.expect("unique");
    let ids = || {
        let stats = cluster.stats();
        let ids = stats.endpoints.iter().map(|it| it.endpoint.id().to_owned());
        ids.collect::<Vec<_>>()
    };
    let bad = || Endpoint::new("bad", "10.0.0.9:80");
    catch_unwind(AssertUnwindSafe(|| cluster.upsert(bad()))).expect_err("it panics");
    let list = listed(&["b", "bad", "c"]);
    catch_unwind(AssertUnwindSafe(|| cluster.set_endpoints(list))).expect_err("it panics");
    assert_eq!(ids(), ["a", "b"]);
    assert_eq!(cluster.stats().generation, 1);

    assert!(cluster.upsert(Endpoint::new("c", "10.0.0.3:80")));
    assert!(!cluster.upsert(Endpoint::new("c", "10.0.0.3:80").with_weight(2)));
    assert_eq!(ids(), ["a", "b", "c"]);
    let mut called = Vec::new();
    for call in 0..60 {
        called.push(cluster.balance(Plain).oneshot(call).await.expect("one"));
    }
    called.sort_unstable();
    called.dedup();
    assert_eq!(called, ["a", "b", "c"]);
    assert_eq!(
        made.load(Ordering::Relaxed),
        3,
        "those that stayed are kept"
    );
}

/// Panics at the first ejection that it hears of.
#[derive(Debug, Default)]
struct Touchy {
    has_panicked: AtomicBool,
    trouble: Mutex<Vec<String>>,
    ejected: Mutex<Vec<String>>,
}

impl Observe for Touchy {
    fn happened(&self, _: &str, happening: &Happening) {
        let Happening::Endpoint(transition) = happening else {
            return;
        };
        if transition.to == Health::Ejected {
            let first = !self.has_panicked.swap(true, Ordering::Relaxed);
            assert!(!first, "an ejection upsets me");
            let mut ejected = self.ejected.lock().expect("whole");
            ejected.push(transition.id.to_string());
        }
    }

    fn trouble(&self, cluster: &str, trouble: &Trouble<'_>) {
        let line = format!("{cluster}: {trouble}");
        self.trouble.lock().expect("whole").push(line);
    }
}

fn until(holds: impl Fn() -> bool) {
    for _ in 0..4000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never holds");
}

/// An observer that panics is told of, and endpoints are ejected after it as before.
#[test]
fn an_observer_that_panics_does_not_end_the_upkeep() {
    let touchy = Arc::new(Touchy::default());
    let settings = Settings::new("web")
        .strategy("round_robin", &[])
        .expect("known")
        .outlier(Some(OutlierPolicy {
            consecutive_failures: 2,
            max_ejected: 1.0,
            interval: Nanos::from_secs(3600),
            ..OutlierPolicy::default()
        }))
        .observe(touchy.clone());
    let cluster = Cluster::new(settings, listed(&["a", "b", "c", "d"]), |_: &Endpoint| ());
    let cluster = cluster.expect("unique");
    let fail = |id: &str| {
        for _ in 0..200 {
            let mut tries = cluster.tries();
            let at = tries.next().expect("somebody");
            let outcome = match at.endpoint().id() == id {
                true => Outcome::Failure,
                false => Outcome::Success,
            };
            at.finish(outcome);
        }
    };
    fail("a");
    until(|| !touchy.trouble.lock().expect("whole").is_empty());
    let line = "web: what looks after the cluster ran into a panic: an ejection upsets me";
    assert_eq!(touchy.trouble.lock().expect("whole")[0], line);
    fail("b");
    until(|| *touchy.ejected.lock().expect("whole") == ["b"]);
}

/// A service that calls another cluster whenever it is cloned or dropped.
struct Meddler(Cluster<Endpoints>);

impl Meddler {
    fn meddle(&self) {
        let at = self.0.tries().next().expect("somebody");
        at.finish(Outcome::Success);
    }
}

impl Clone for Meddler {
    fn clone(&self) -> Self {
        self.meddle();
        Self(self.0.clone())
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.meddle();
    }
}

/// Wherever a service is cloned or dropped, what it does there may be a call: to a cluster that the thread does not
/// know yet, to one that has changed, when another one has ended, and when the thread itself ends.
#[test]
fn services_may_call_clusters_when_they_are_cloned_and_dropped() {
    let other = Cluster::new(Settings::new("other"), listed(&["x"]), Endpoints::default());
    let other = other.expect("unique");
    let reached = other.clone();
    let calls = std::thread::spawn(move || {
        let changed = reached.clone();
        let connect = move |_: &Endpoint| Meddler(reached.clone());
        let cluster = Cluster::new(Settings::new("web"), listed(&["a", "b"]), connect.clone());
        let cluster = cluster.expect("unique");
        let call = |cluster: &Cluster<_>| drop(cluster.tries().next().expect("somebody"));
        call(&cluster);
        for id in ["c", "d"] {
            cluster.upsert(Endpoint::new(id, "10.0.0.1:80"));
            changed.upsert(Endpoint::new(id, "10.0.0.1:80"));
            call(&cluster);
        }
        cluster.remove("a").expect("it is there");
        call(&cluster);
        let ended = cluster;
        let cluster = Cluster::new(Settings::new("web"), listed(&["a"]), connect).expect("unique");
        drop(ended);
        call(&cluster);
    });
    calls.join().expect("no panic");
    let stats = other.stats();
    assert_eq!(in_flight(&stats), 0);
    assert!(stats.picked > 10, "{}", stats.picked);
}
