//! Endpoints that come and go, change and drain while requests flow.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evenkeel_core::Admin;
use evenkeel_core::strategy::registry::{self, STRATEGIES};
use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream};

use crate::{GET, ask};

/// Says that it is over when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Requests one every `apart`, on as many connections as it takes to keep that up, while something changes;
/// how many there were. Each must be answered.
pub(crate) fn at_rate(gateway: &Gateway, apart: Duration, change: impl FnOnce()) -> usize {
    let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    #[expect(
        clippy::disallowed_methods,
        reason = "a pace, by which nothing is judged"
    )]
    let begun = Instant::now();
    let address = gateway.address();
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = RawClient::connect(address);
                while !is_over.load(Ordering::Relaxed) {
                    // Whoever is free takes the next one, at its time: a slow answer holds up no other.
                    let turn = asked.fetch_add(1, Ordering::Relaxed);
                    let due = apart * turn as u32;
                    std::thread::sleep(due.saturating_sub(begun.elapsed()));
                    client.send(GET);
                    let response = client.response();
                    assert_eq!(response.status, 200, "{response:?}");
                }
            });
        }
        // Also when `change` panics: the scope would wait for clients that never end.
        let _over = Over(&is_over);
        change();
    });
    asked.into_inner()
}

/// So many requests may be under way at once.
const CLIENTS: usize = 8;

/// Clients that ask on and on while `change` runs, and demand an answer each time; how often they
/// asked.
pub(crate) fn under_load(gateway: &Gateway, change: impl FnOnce()) -> usize {
    let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let address = gateway.address();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = RawClient::connect(address);
                while !is_over.load(Ordering::Relaxed) {
                    client.send(GET);
                    let response = client.response();
                    assert_eq!(response.status, 200, "{response:?}");
                    asked.fetch_add(1, Ordering::Relaxed);
                    // 4 clients, 400 requests a second at most.
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
        // Also when `change` panics: the scope would wait for clients that never end.
        let _over = Over(&is_over);
        change();
    });
    asked.into_inner()
}

/// What was added and removed again before its answer was added all the same.
#[test]
fn an_endpoint_that_goes_at_once_is_reported_as_it_came() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let (control, cluster) = (gateway.control(), gateway.cluster());
    let (added, removed) = gateway.wait(async {
        let add = control.add(cluster, upstream.endpoint("b"));
        tokio::join!(add, control.remove(cluster, "b"))
    });
    removed.expect("it was there");
    let report = added.expect("its id was free").expect("it was there");
    assert_eq!((report.endpoint.id(), report.endpoint.weight()), ("b", 1));
    assert!(cluster.endpoint("b").is_none());
}

/// G11: 1,000 additions and removals under load lose no request.
#[test]
fn g11_endpoints_come_and_go_under_load() {
    let upstreams: Vec<Upstream> = (0..3).map(|_| Upstream::ok("ok")).collect();
    let stays = Upstream::ok("ok");
    let gateway = Gateway::over([stays.endpoint("stays")]);
    let asked = under_load(&gateway, || {
        for round in 0..500 {
            let upstream = &upstreams[round % 3];
            let id = format!("e{}", round % 3);
            gateway.add(upstream.endpoint(&id));
            if round % 10 == 0 {
                // Long enough to get some of the load.
                std::thread::sleep(Duration::from_millis(20));
            }
            gateway.remove(&id);
        }
    });
    let came: usize = upstreams.iter().map(Upstream::count).sum();
    assert!(came > 0, "those that came and went had their share");
    assert_eq!(stays.count() + came, asked, "each request once");
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// No decision is made on a stale list once `remove` has returned: a request that is sent only then
/// never gets there, a thousand times.
#[test]
fn g11_a_removed_endpoint_gets_no_new_request() {
    let (stays, goes) = (Upstream::ok("stays"), Upstream::ok("goes"));
    let gateway = Gateway::with([stays.endpoint("stays")], |config| {
        config.clusters[0].slow_start = None;
    });
    // Several connections, so that both workers are asked.
    let mut clients: Vec<RawClient> = (0..8)
        .map(|_| RawClient::connect(gateway.address()))
        .collect();
    for round in 0..1000 {
        gateway.add(goes.endpoint("goes"));
        let client = &mut clients[round % 8];
        client.send(GET);
        client.response();
        gateway.remove("goes");
        let before = goes.count();
        client.send(GET);
        assert_eq!(client.response().text(), "stays", "round {round}");
        assert_eq!(goes.count(), before);
    }
    assert!(
        goes.count() > 100,
        "it had its share while it was there: {}",
        goes.count()
    );
}

/// Requests that an endpoint has when it is removed are finished there.
#[test]
fn g11_requests_in_flight_outlive_their_endpoint() {
    let gate = evenkeel_testkit::Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("done").behind(&behind));
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), GET);
    evenkeel_testkit::eventually("it is in flight", || upstream.count() == 1);
    gateway.remove("a");
    assert_eq!(ask(gateway.address(), GET).status, 503);
    gate.open();
    assert_eq!(client.response().text(), "done");
    evenkeel_testkit::eventually("its connection closes", || upstream.open_connections() == 0);
}

/// An id that comes back at another address is another place.
#[test]
fn an_id_may_move() {
    let (old, new) = (Upstream::ok("old"), Upstream::ok("new"));
    let gateway = Gateway::single(&old);
    let (control, cluster) = (gateway.control(), gateway.cluster());
    let mut client = RawClient::connect(gateway.address());
    for (upstream, name) in [(&old, "old"), (&new, "new"), (&old, "old")] {
        gateway.remove("a");
        gateway.add(upstream.endpoint("a"));
        client.send(GET);
        assert_eq!(client.response().text(), name);
        assert!(
            gateway
                .wait(control.add(cluster, upstream.endpoint("a")))
                .is_err(),
            "it is there"
        );
    }
    assert!(
        gateway.wait(control.remove(cluster, "b")).is_err(),
        "there is none"
    );
}

#[test]
fn draining_endpoints_get_no_new_requests_until_they_are_enabled() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let gateway = Gateway::with([a.endpoint("a"), b.endpoint("b")], |config| {
        config.clusters[0].slow_start = None;
    });
    let ask_some = || {
        for _ in 0..50 {
            assert_eq!(ask(gateway.address(), GET).status, 200);
        }
    };
    ask_some();
    for admin in [Admin::Draining, Admin::Disabled] {
        gateway.update("a", None, Some(admin));
        let before = a.count();
        ask_some();
        assert_eq!(a.count(), before, "{}", admin.as_str());
        gateway.update("a", None, Some(Admin::Enabled));
        ask_some();
        assert!(a.count() >= before + 10, "enabled again");
    }
}

#[test]
fn weights_move_shares() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let gateway = Gateway::with([a.endpoint("a"), b.endpoint("b")], |config| {
        let choice = evenkeel_config::StrategyChoice::new("weighted_round_robin", &[]);
        config.clusters[0].strategy = choice.expect("known");
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    let mut client = RawClient::connect(gateway.address());
    let mut share_of_a = || {
        let before = a.count();
        for _ in 0..100 {
            client.send(GET);
            client.response();
        }
        a.count() - before
    };
    assert_eq!(share_of_a(), 50);
    gateway.update("a", Some(3), None);
    let share = share_of_a();
    assert!((73..=77).contains(&share), "three quarters, not {share}");
    gateway.update("a", Some(0), None);
    assert_eq!(share_of_a(), 0);
}

/// A strategy is replaced under load, again and again, and nothing is lost.
#[test]
fn strategies_are_replaced_under_load() {
    let upstreams: Vec<Upstream> = (0..3).map(|_| Upstream::ok("ok")).collect();
    let endpoints = upstreams
        .iter()
        .enumerate()
        .map(|(at, upstream)| upstream.endpoint(&format!("e{at}")));
    let gateway = Gateway::over(endpoints);
    let asked = under_load(&gateway, || {
        for round in 0..200 {
            let name = STRATEGIES[round % STRATEGIES.len()].name;
            let strategy = registry::build(name, &[]).expect("it is registered");
            gateway.wait(gateway.control().set_strategy(gateway.cluster(), strategy));
            assert_eq!(gateway.cluster().strategy().descriptor().name, name);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let came: usize = upstreams.iter().map(Upstream::count).sum();
    assert_eq!(came, asked, "each request once");
    gateway.assert_idle();
}
