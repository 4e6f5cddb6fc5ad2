//! Checks of real endpoints, by the thread that a cluster has for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenkeel_client::core::health::{ActivePolicy, Health, Initial};
use evenkeel_client::core::{Admin, Endpoint, Nanos};
use evenkeel_client::http::{HttpConnect, Tls};
use evenkeel_client::observe::{Observe, Trouble};
use evenkeel_client::{Check, Cluster, HttpCheck, Settings, TcpCheck};
use evenkeel_testkit::{Answer, Authority, Blackhole, Refusing, Upstream, eventually};

use crate::server::Server;
use crate::tls::server_config;

type Checked = Cluster<fn(&Endpoint)>;

/// The defaults, twenty times as fast.
fn quick() -> ActivePolicy {
    ActivePolicy {
        interval: Nanos::from_millis(50),
        fast_interval: Nanos::from_millis(25),
        timeout: Nanos::from_secs(2),
        hold_down: Nanos::from_millis(10),
        ..ActivePolicy::default()
    }
}

fn checked(
    policy: ActivePolicy,
    check: impl Check,
    list: impl IntoIterator<Item = Endpoint>,
) -> Checked {
    let settings = Settings::new("web").checks(policy, check);
    let connect: fn(&Endpoint) = |_| ();
    Cluster::new(settings, list, connect).expect("unique")
}

fn health(cluster: &Checked, id: &str) -> (Health, String) {
    let stats = cluster.stats();
    let one = stats
        .endpoints
        .into_iter()
        .find(|one| one.endpoint.id() == id);
    let one = one.expect("it is listed");
    (one.health, one.reason)
}

fn becomes(cluster: &Checked, id: &str, wanted: Health) -> String {
    eventually(&format!("{id} is {wanted:?}"), || {
        health(cluster, id).0 == wanted
    });
    health(cluster, id).1
}

/// One refuses connections, one lets them hang.
#[test]
fn endpoints_that_take_no_connection_are_out() {
    let well = Upstream::ok("ok");
    let (refusing, hung) = (Refusing::new(), Blackhole::new());
    let policy = ActivePolicy {
        timeout: Nanos::from_millis(200),
        ..quick()
    };
    // Enough of them are well, so that there is no panic.
    let list = [
        well.endpoint("well"),
        well.endpoint("well-too"),
        well.endpoint("well-as-well"),
        refusing.endpoint("refusing"),
        hung.endpoint("hung"),
    ];
    let cluster = checked(policy, TcpCheck, list);
    let reason = becomes(&cluster, "refusing", Health::Unhealthy);
    assert!(reason.contains("no connection: "), "{reason}");
    let reason = becomes(&cluster, "hung", Health::Unhealthy);
    assert!(reason.contains("no answer within 200ms"), "{reason}");
    assert_eq!(health(&cluster, "well").0, Health::Healthy);
    // Nobody calls, and yet those who call are sent to the one that is well.
    for _ in 0..10 {
        let mut tries = cluster.tries();
        let at = tries.next().expect("some are well");
        assert!(at.endpoint().id().starts_with("well"));
    }
    assert_eq!(well.count(), 0, "a check is no request");
}

#[test]
fn an_endpoint_that_answers_wrong_is_out_until_it_answers_right() {
    let status = Arc::new(AtomicU64::new(200));
    let says = Arc::clone(&status);
    let upstream = Upstream::answering(move |request| {
        assert_eq!(request.field("host"), Some("users"));
        match says.load(Ordering::Relaxed) {
            200 => Answer::ok("it is ready"),
            1 => Answer::ok("it is not"),
            status => Answer::status(status as u16, ""),
        }
    });
    let users = http::HeaderValue::from_static("users");
    let check = HttpCheck::new("/healthz?deep")
        .expect("a path")
        .body("ready");
    let check = check.field(http::header::HOST, users);
    let cluster = checked(quick(), check, [upstream.endpoint("a")]);
    eventually("it is asked", || upstream.count() >= 2);
    for (says, why) in [
        (503, "status 503 is not 200-299"),
        (1, r#"the body does not hold "ready""#),
    ] {
        status.store(says, Ordering::Relaxed);
        let reason = becomes(&cluster, "a", Health::Unhealthy);
        assert!(reason.contains(why), "{reason}");
        status.store(200, Ordering::Relaxed);
        becomes(&cluster, "a", Health::Healthy);
    }
    let request = upstream.requests().pop().expect("it came");
    assert_eq!(
        (request.method(), request.target()),
        ("GET", "/healthz?deep")
    );
}

/// What is not known to be well gets nothing before its first check.
#[tokio::test]
async fn checks_go_over_tls_and_http2_and_come_first() {
    let authority = Authority::new();
    let config = server_config(&authority, &["127.0.0.1"], false, &[b"h2"]);
    let server = Server::secured(config).await;
    let impostor = Authority::new();
    let config = server_config(&impostor, &["127.0.0.1"], false, &[b"h2"]);
    let other = Server::secured(config).await;
    let tls = Tls::by(authority.file()).expect("an authority");
    let check = HttpCheck::new("/version").expect("a path").body("HTTP/2.0");
    let policy = ActivePolicy {
        initial: Initial::ProbeFirst,
        ..quick()
    };
    let check = check.over(HttpConnect::http2().tls(tls));
    let cluster = checked(policy, check, [server.endpoint("a"), other.endpoint("b")]);
    let cluster = tokio::task::spawn_blocking(move || {
        becomes(&cluster, "a", Health::Healthy);
        eventually("what is wrong is said", || {
            health(&cluster, "b").1.contains("invalid peer certificate")
        });
        cluster
    });
    let cluster = cluster.await.expect("no panic");
    assert_eq!(health(&cluster, "b").0, Health::Unhealthy);
    assert!(server.count() > 0);
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Observe for Heard {
    fn trouble(&self, _: &str, trouble: &Trouble<'_>) {
        self.0.lock().expect("whole").push(trouble.to_string());
    }
}

/// A check of one's own that panics says nothing of its endpoint, and the others go on.
#[test]
fn checks_that_panic_blame_nobody() {
    static PANICS: AtomicU64 = AtomicU64::new(0);
    static CHECKS: AtomicU64 = AtomicU64::new(0);
    let heard = Arc::new(Heard::default());
    let check = |endpoint: &Endpoint| {
        let id = endpoint.id().to_owned();
        let at_once = id == "at-once" && PANICS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        assert!(!at_once, "a panic of the test");
        async move {
            assert!(id != "late", "a late panic of the test");
            CHECKS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    };
    let settings = Settings::new("web")
        .observe(heard.clone())
        .checks(quick(), check);
    let list = ["at-once", "late", "well"].map(|id| Endpoint::new(id, "10.0.0.1:80"));
    let connect: fn(&Endpoint) = |_| ();
    let cluster: Checked = Cluster::new(settings, list, connect).expect("unique");
    eventually("all go on", || {
        PANICS.load(Ordering::Relaxed) > 5 && CHECKS.load(Ordering::Relaxed) > 20
    });
    for id in ["at-once", "late", "well"] {
        assert_eq!(health(&cluster, id).0, Health::Healthy);
    }
    let heard = heard.0.lock().expect("whole").join("\n");
    assert!(
        heard.contains("a panic of the test") && heard.contains("a late panic"),
        "{heard}"
    );
}

/// An endpoint that is taken out by an operator is not asked, and the end of the cluster ends its checks.
#[test]
fn nobody_is_asked_who_is_disabled_or_whose_cluster_has_ended() {
    let (on, off) = (Upstream::ok("ok"), Upstream::ok("ok"));
    let check = HttpCheck::new("/").expect("a path");
    let cluster = checked(quick(), check, [on.endpoint("on"), off.endpoint("off")]);
    eventually("both are asked", || on.count() > 2 && off.count() > 2);
    cluster
        .set_admin("off", Admin::Disabled)
        .expect("it is listed");
    let (before, first) = (off.count(), on.count());
    eventually("the other goes on", || on.count() > first + 10);
    assert!(off.count() <= before + 1, "one may have been under way");
    drop(cluster);
    let mut last = on.count();
    eventually("nobody asks any more", || {
        std::thread::sleep(Duration::from_millis(300));
        std::mem::replace(&mut last, on.count()) == on.count()
    });
}
