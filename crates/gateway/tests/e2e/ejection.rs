//! Endpoints that are taken out for what their requests come to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_config::{Config, StrategyChoice};
use evenkeel_core::health::{Health, OutlierPolicy};
use evenkeel_core::{Nanos, Standing};
use evenkeel_gateway::EventKind;
use evenkeel_testkit::{Answer, Gateway, RawClient, Refusing, Upstream, eventually};

use crate::{GET, ask};

/// Ejections that end soon; each request goes to the next endpoint.
fn briefly(policy: OutlierPolicy) -> impl FnOnce(&mut Config) {
    move |config| {
        let cluster = &mut config.clusters[0];
        cluster.strategy = StrategyChoice::new("round_robin", &[]).expect("known");
        cluster.slow_start = None;
        cluster.retry.attempts = 1;
        cluster.outlier = Some(OutlierPolicy {
            // Time for a few requests while it lasts, also on a busy machine.
            base_ejection: Nanos::from_millis(2_500),
            ..policy
        });
    }
}

fn switchable(name: &'static str) -> (Upstream, Arc<AtomicBool>) {
    let ill = Arc::<AtomicBool>::default();
    let asked = Arc::clone(&ill);
    let upstream = Upstream::answering(move |_| match asked.load(Ordering::Relaxed) {
        true => Answer::status(500, "ill"),
        false => Answer::ok(name),
    });
    (upstream, ill)
}

fn is_ejected(gateway: &Gateway, id: &str) -> bool {
    gateway.endpoint(id).standing == Standing::Ejected
}

/// Five failures in a row, and nobody is sent there any more; it is back by itself, and out again, for longer,
/// if it has not changed.
#[test]
fn failures_in_a_row_eject_at_once_and_for_a_time() {
    let (a, ill) = switchable("a");
    let (b, c) = (Upstream::ok("b"), Upstream::ok("c"));
    let endpoints = [a.endpoint("a"), b.endpoint("b"), c.endpoint("c")];
    let gateway = Gateway::with(endpoints, briefly(OutlierPolicy::default()));
    let mut events = gateway.control().events().subscribe();
    ill.store(true, Ordering::Relaxed);
    let mut failed = 0;
    eventually("it is out", || {
        failed += usize::from(ask(gateway.address(), GET).status == 500);
        is_ejected(&gateway, "a")
    });
    // One or two more may have been under way until it was known, or more of them on a busy machine; the interval after
    // which failures are looked at otherwise would be thousands.
    assert!((5..=100).contains(&failed), "{failed}");
    let told = gateway.endpoint("a");
    assert!(
        told.reason
            .contains("requests in a row failed (the last: status 500), out for"),
        "{}",
        told.reason
    );
    assert!(told.until.is_some() && told.ejections == [1, 0, 0] && told.effective_weight == 0);
    let before = a.count();
    let during = std::iter::repeat_with(|| ask(gateway.address(), GET).status);
    assert!(during.take(20).all(|status| status == 200));
    assert_eq!(a.count(), before);
    let event = gateway
        .wait(events.next())
        .expect("few of them")
        .expect("it runs");
    assert_eq!(
        (event.event, event.cause),
        (EventKind::Ejected, "consecutive_failures")
    );
    assert!(event.until.is_some());
    eventually("it is back by itself", || !is_ejected(&gateway, "a"));
    ill.store(false, Ordering::Relaxed);
    eventually("it serves again", || {
        ask(gateway.address(), GET).text() == "a"
    });
    assert_eq!(gateway.endpoint("a").health, Health::Healthy);
}

/// What a retry hides from the client is seen here.
#[test]
fn attempts_that_a_retry_hid_count() {
    let (dead, live) = (Refusing::new(), Upstream::ok("live"));
    let gateway = Gateway::with([dead.endpoint("a"), live.endpoint("b")], |config| {
        briefly(OutlierPolicy {
            base_ejection: Nanos::from_secs(60),
            ..OutlierPolicy::default()
        })(config);
        config.clusters[0].retry.attempts = 2;
    });
    eventually("it is out", || {
        assert_eq!(ask(gateway.address(), GET).text(), "live");
        is_ejected(&gateway, "a")
    });
    assert!(gateway.endpoint("a").totals.failures >= 5);
}

/// C14: clients that leave eject nobody; nor does 429, as long as it is no large share.
#[test]
fn c14_neither_clients_that_leave_nor_429_eject() {
    let slow = Upstream::answering(|request| match request.target() {
        "/busy" => Answer::status(429, "busy"),
        _ => Answer::ok("slow").after(Duration::from_millis(200)),
    });
    let gateway = Gateway::with(
        [slow.endpoint("a"), slow.endpoint("b")],
        briefly(OutlierPolicy::default()),
    );
    let clients: Vec<RawClient> = (0..100)
        .map(|_| RawClient::sending(gateway.address(), GET))
        .collect();
    std::thread::sleep(Duration::from_millis(20));
    clients.into_iter().for_each(RawClient::reset);
    gateway.assert_blameless();
    for _ in 0..40 {
        let busy = "GET /busy HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(ask(gateway.address(), busy).status, 429);
    }
    for id in ["a", "b"] {
        let told = gateway.endpoint(id);
        assert_eq!(
            (told.health, told.ejections),
            (Health::Healthy, [0; 3]),
            "{}",
            told.reason
        );
    }
}

/// Half of its requests fail, never many in a row: found at the end of an interval.
#[test]
fn a_share_of_failures_ejects() {
    let a = Upstream::answering(|request| match request.target() {
        "/bad" => Answer::status(500, "bad"),
        _ => Answer::ok("a"),
    });
    let b = Upstream::ok("b");
    let policy = OutlierPolicy {
        interval: Nanos::from_millis(500),
        min_requests: 20,
        base_ejection: Nanos::from_secs(60),
        ..OutlierPolicy::default()
    };
    let gateway = Gateway::with([a.endpoint("a"), b.endpoint("b")], |config| {
        briefly(policy)(config);
        config.clusters[0].outlier = Some(policy);
    });
    let mut client = RawClient::connect(gateway.address());
    eventually("it is out", || {
        for target in ["/", "/", "/bad", "/bad"] {
            client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
            let _ = client.response();
        }
        is_ejected(&gateway, "a")
    });
    assert_eq!(gateway.endpoint("a").ejections, [0, 1, 0]);
}

/// One of two is ten times slower than the other.
#[test]
fn a_slow_one_is_ejected_where_that_is_asked_for() {
    let slow = Upstream::answering(|_| Answer::ok("slow").after(Duration::from_millis(60)));
    let quick = Upstream::answering(|_| Answer::ok("quick").after(Duration::from_millis(5)));
    let policy = OutlierPolicy {
        interval: Nanos::from_secs(1),
        latency_factor: Some(3.0),
        base_ejection: Nanos::from_secs(60),
        ..OutlierPolicy::default()
    };
    let gateway = Gateway::with([slow.endpoint("a"), quick.endpoint("b")], |config| {
        briefly(policy)(config);
        config.clusters[0].outlier = Some(policy);
    });
    eventually("it is out", || {
        assert_eq!(ask(gateway.address(), GET).status, 200);
        is_ejected(&gateway, "a")
    });
    let told = gateway.endpoint("a");
    assert!(
        told.ejections == [0, 0, 1] && told.reason.contains("median latency"),
        "{}",
        told.reason
    );
}

/// A20: an endpoint that fails at once gets next to nothing after two seconds, whether it answers 500 or resets.
#[test]
fn a20_a_black_hole_draws_nothing() {
    for reset in [false, true] {
        let hole = Upstream::answering(move |_| match reset {
            true => Answer::reset(),
            false => Answer::status(500, "at once"),
        });
        let slow = || Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(50)));
        let (b, c) = (slow(), slow());
        let endpoints = [hole.endpoint("a"), b.endpoint("b"), c.endpoint("c")];
        let gateway = Gateway::over(endpoints);
        let address = gateway.address();
        crate::together(10, |_| {
            let mut client = RawClient::connect(address);
            for _ in 0..40 {
                client.send(GET);
                let _ = client.response();
            }
        });
        let share = hole.count() as f64 / 400.0;
        assert!(share < 0.1, "{share}");
        assert!(is_ejected(&gateway, "a"));
    }
}
