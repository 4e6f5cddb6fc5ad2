//! Waiting for an endpoint: who gets a slot, in which order, and what is told to those who get none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_config::{Capacity, Config, Environment, Peak, parse};
use evenkeel_core::{Endpoint, Nanos, QueuePolicy};
use evenkeel_gateway::OperatorChanges;
use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Upstream, config, eventually};

use crate::{GET, ask, assert_own, together};

const LONG: Nanos = Nanos::from_secs(60);

fn queue(size: u32, timeout: Nanos) -> impl FnOnce(&mut Config) {
    move |config| {
        config.clusters[0].capacity = Some(Capacity {
            peak: Peak::Requests(1),
            queue: Some(QueuePolicy { size, timeout }),
            ..Capacity::default()
        });
    }
}

fn queued(gateway: &Gateway, count: u64) {
    eventually("so many wait", || gateway.cluster().queue_length() == count);
}

/// Sheds by reason, over all priorities: capacity, deadline, priority, queue_full, queue_timeout.
fn sheds(gateway: &Gateway) -> [u64; 5] {
    let mut sum = [0; 5];
    for counts in gateway.cluster().sheds() {
        sum.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    sum
}

/// Never a fourth request, no slot empty while somebody waits, and everybody is served.
#[test]
fn caps_are_exact_while_hundreds_wait() {
    const CLIENTS: usize = 500;
    let answer = |_: &_| Answer::ok("ok").after(Duration::from_millis(5));
    let upstreams = [Upstream::answering(answer), Upstream::answering(answer)];
    let endpoint = |at: usize| upstreams[at].endpoint(["a", "b"][at]).with_capacity(3);
    let gateway = Gateway::with([endpoint(0), endpoint(1)], |config| {
        queue(1_000, LONG)(config);
        config.runtime.workers = evenkeel_config::Workers::Count(2.try_into().expect("two"));
    });
    let (address, done) = (gateway.address(), AtomicBool::new(false));
    let mut looks = 0;
    std::thread::scope(|scope| {
        let clients = scope.spawn(|| {
            let mut clients: Vec<RawClient> = (0..CLIENTS)
                .map(|_| RawClient::sending(address, GET))
                .collect();
            for client in &mut clients {
                assert_eq!(client.response().status, 200);
            }
            done.store(true, Ordering::Relaxed);
        });
        // With many in the line a slot goes from one to the next and is never free.
        while !done.load(Ordering::Relaxed) && !clients.is_finished() {
            let before = gateway.cluster().queue_length();
            let in_flight = ["a", "b"].map(|id| gateway.endpoint(id).in_flight);
            if before > 50 && gateway.cluster().queue_length() > 50 {
                looks += 1;
                assert_eq!(in_flight, [3, 3], "a slot is empty, or taken twice");
            }
        }
        clients.join().expect("everybody is served");
    });
    let most = upstreams.each_ref().map(Upstream::most_waiting);
    println!("backends saw {most:?} at most; in {looks} looks with a line no slot was empty");
    assert!(looks > 10, "there was a line to look at: {looks}");
    assert_eq!(most, [3, 3], "a backend saw a fourth request");
    assert_eq!(upstreams[0].count() + upstreams[1].count(), CLIENTS);
    let [_, _, waited, none] = gateway.cluster().decisions();
    assert!(
        waited > 100 && none == 0,
        "{waited} waited, {none} found nobody"
    );
    assert_eq!(gateway.cluster().queue_waits().count(), waited);
    gateway.assert_blameless();
}

/// D12: clients leave while they wait, while they are served, and just as they get a slot: nothing is
/// lost of it, and the gateway never has a fourth request open.
#[test]
fn d12_clients_that_leave_give_up_their_places() {
    let upstream = Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(3)));
    let gateway = Gateway::with(
        [upstream.endpoint("a").with_capacity(3)],
        queue(1_000, LONG),
    );
    let (address, done) = (gateway.address(), AtomicBool::new(false));
    let most = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while !done.load(Ordering::Relaxed) {
                most = most.max(gateway.endpoint("a").in_flight);
            }
            most
        });
        together(12, |number| {
            for round in 0..40 {
                let mut client = RawClient::sending(address, GET);
                if (number + round) % 3 == 0 {
                    std::thread::sleep(Duration::from_millis((round % 8) as u64));
                    client.reset();
                } else {
                    assert_eq!(client.response().status, 200);
                }
            }
        });
        done.store(true, Ordering::Relaxed);
        watcher.join().expect("it looks on")
    });
    assert!(most <= 3, "{most} requests were open at once");
    queued(&gateway, 0);
    gateway.assert_blameless();
}

fn config_of(routes: &str, endpoint: &Upstream, size: u32) -> Config {
    let address = endpoint.address();
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n{routes}\n\
         [cluster.web]\nendpoints = [{{ id = \"a\", address = \"{address}\" }}]\n\
         [cluster.web.capacity]\npeak = 1\nqueue = {{ size = {size}, timeout = \"50s\" }}\n"
    );
    let (config, report) = parse("f.toml", &text, &Environment::empty());
    config.unwrap_or_else(|| panic!("{report}"))
}

const ROUTES: &str = "\
    [[listener.route]]\npath = \"/critical\"\ncluster = \"web\"\npriority = \"critical\"\n\
    [[listener.route]]\npath = \"/sheddable\"\ncluster = \"web\"\npriority = \"sheddable\"\n\
    [[listener.route]]\npath = \"/header\"\ncluster = \"web\"\npriority = \"header\"\n";

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nPriority: u=0\r\n\r\n")
}

/// A gateway whose only slot is held until the gate opens.
fn held(size: u32) -> (Gateway, Upstream, Gate, RawClient) {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let gateway = Gateway::start(&config_of(ROUTES, &upstream, size));
    let holder = RawClient::sending(gateway.address(), get("/holder"));
    eventually("the slot is held", || upstream.count() == 1);
    (gateway, upstream, gate, holder)
}

#[test]
fn the_most_important_are_served_first() {
    let (gateway, upstream, gate, mut holder) = held(10);
    let mut waiting = Vec::new();
    for path in [
        "/sheddable/1",
        "/default/1",
        "/sheddable/2",
        "/critical/1",
        "/header/1",
        "/default/2",
    ] {
        waiting.push(RawClient::sending(gateway.address(), get(path)));
        queued(&gateway, waiting.len() as u64);
    }
    gate.open();
    assert_eq!(holder.response().status, 200);
    for client in &mut waiting {
        assert_eq!(client.response().status, 200);
    }
    let served: Vec<String> = upstream
        .requests()
        .iter()
        .map(|request| request.target().to_owned())
        .collect();
    let order = [
        "/holder",
        "/critical/1",
        "/header/1",
        "/default/1",
        "/default/2",
        "/sheddable/1",
        "/sheddable/2",
    ];
    assert_eq!(
        served, order,
        "the field says something only where a route hears it"
    );
    assert_eq!(gateway.cluster().decisions(), [1, 0, 6, 0]);
}

#[test]
fn a_full_queue_gives_way_to_who_matters_more() {
    let (gateway, _upstream, gate, mut holder) = held(2);
    let wait = |path: &str, count| {
        let client = RawClient::sending(gateway.address(), get(path));
        queued(&gateway, count);
        client
    };
    let (mut default, mut sheddable) = (wait("/default", 1), wait("/sheddable", 2));
    let refused = ask(gateway.address(), get("/sheddable"));
    assert_own(&refused, 503, "connection_limit_reached");
    assert_eq!(refused.field("retry-after"), Some("1"));
    let reason = refused.field("proxy-status").expect("a reason");
    assert!(reason.contains("the queue is full"), "{reason}");
    let mut critical = RawClient::sending(gateway.address(), get("/critical"));
    let evicted = sheddable.response();
    assert_own(&evicted, 503, "connection_limit_reached");
    let reason = evicted.field("proxy-status").expect("a reason");
    assert!(reason.contains("more important"), "{reason}");
    assert_eq!(sheds(&gateway), [0, 0, 1, 1, 0]);
    gate.open();
    for client in [&mut holder, &mut critical, &mut default] {
        assert_eq!(client.response().status, 200);
    }
    gateway.assert_idle();
}

#[test]
fn who_gets_no_slot_in_time_is_told() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let timeout = Nanos::from_millis(150);
    let gateway = Gateway::with(
        [upstream.endpoint("a").with_capacity(1)],
        queue(10, timeout),
    );
    let mut holder = RawClient::sending(gateway.address(), GET);
    eventually("the slot is held", || upstream.count() == 1);
    let late = ask(gateway.address(), GET);
    assert_own(&late, 503, "connection_limit_reached");
    let reason = late.field("proxy-status").expect("a reason");
    assert!(reason.contains("in its time in the queue"), "{reason}");
    assert!(!late.says_close(), "the connection is kept");
    assert_eq!(
        (sheds(&gateway), gateway.cluster().queue_length()),
        ([0, 0, 0, 0, 1], 0)
    );
    gate.open();
    assert_eq!(holder.response().status, 200);
    assert_eq!(ask(gateway.address(), GET).status, 200);
}

/// A route's own timeout counts from the request on, so it ends the waiting too.
#[test]
fn the_time_of_a_route_ends_the_waiting() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let routes = "[[listener.route]]\npath = \"/hurry\"\ncluster = \"web\"\ntimeout = \"100ms\"\n";
    let gateway = Gateway::start(&config_of(routes, &upstream, 10));
    let _holder = RawClient::sending(gateway.address(), get("/holder"));
    eventually("the slot is held", || upstream.count() == 1);
    assert_own(
        &ask(gateway.address(), get("/hurry")),
        503,
        "connection_limit_reached",
    );
    assert_eq!(upstream.count(), 1);
}

#[test]
fn who_leaves_gives_up_its_place_at_once() {
    let (gateway, upstream, gate, mut holder) = held(2);
    let first = RawClient::sending(gateway.address(), get("/first"));
    queued(&gateway, 1);
    let mut second = RawClient::sending(gateway.address(), get("/second"));
    queued(&gateway, 2);
    first.reset();
    queued(&gateway, 1);
    let mut third = RawClient::sending(gateway.address(), get("/third"));
    queued(&gateway, 2);
    gate.open();
    for client in [&mut holder, &mut second, &mut third] {
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(upstream.count(), 3, "nothing was sent for the one who left");
    assert_eq!(
        gateway.cluster().own_totals().codes[5],
        1,
        "it is counted as cancelled"
    );
    gateway.assert_blameless();
}

/// A queue outlives a reload, also one that takes it away; who waits is served in order.
#[test]
fn a_queue_survives_reloads() {
    let (gateway, upstream, gate, mut holder) = held(10);
    let mut waiting: Vec<RawClient> = Vec::new();
    for number in 1..=3 {
        waiting.push(RawClient::sending(
            gateway.address(),
            get(&format!("/{number}")),
        ));
        queued(&gateway, number);
    }
    let reload = |change: &dyn Fn(&mut Capacity)| {
        let mut next = config_of(ROUTES, &upstream, 10);
        let capacity = next.clusters[0].capacity.as_mut().expect("it has one");
        change(capacity);
        let reloaded = gateway.control().reload(&next, OperatorChanges::Keep);
        gateway.wait(reloaded).expect("it is right");
    };
    reload(&|capacity| capacity.queue = None);
    assert_eq!(gateway.cluster().queue_length(), 3);
    assert_own(
        &ask(gateway.address(), get("/4")),
        503,
        "connection_limit_reached",
    );
    assert_eq!(sheds(&gateway)[0], 1, "nobody waits any more");
    gate.open();
    assert_eq!(holder.response().status, 200);
    for client in &mut waiting {
        assert_eq!(client.response().status, 200);
    }
    let served: Vec<String> = upstream
        .requests()
        .iter()
        .map(|request| request.target().to_owned())
        .collect();
    assert_eq!(served, ["/holder", "/1", "/2", "/3"]);
    reload(&|_| {});
    gateway.assert_blameless();
}

/// An endpoint that comes serves those who wait; one that goes while they wait gets none of them.
#[test]
fn endpoints_come_and_go_while_requests_wait() {
    let (gateway, upstream, gate, mut holder) = held(10);
    let mut waiting = Vec::new();
    for number in 1..=2 {
        waiting.push(RawClient::sending(
            gateway.address(),
            get(&format!("/{number}")),
        ));
        queued(&gateway, number);
    }
    let other = Upstream::ok("other");
    gateway.add(other.endpoint("b"));
    for client in &mut waiting {
        assert_eq!(client.response().text(), "other");
    }
    gateway.remove("b");
    let last = RawClient::sending(gateway.address(), get("/3"));
    queued(&gateway, 1);
    let third = Upstream::ok("third");
    gateway.add(third.endpoint("c"));
    let mut last = last;
    assert_eq!(last.response().text(), "third");
    gate.open();
    assert_eq!(holder.response().status, 200);
    assert_eq!((upstream.count(), other.count(), third.count()), (1, 2, 1));
}

/// A gateway that leaves serves those who wait.
#[test]
fn a_drain_serves_who_waits() {
    let (mut gateway, upstream, gate, mut holder) = held(10);
    let mut waiting = RawClient::sending(gateway.address(), get("/1"));
    queued(&gateway, 1);
    let left = gateway.drain();
    gate.open();
    assert_eq!(holder.response().status, 200);
    assert_eq!(waiting.response().status, 200);
    assert!(left.join().expect("it ends"), "all requests finished");
    assert_eq!(upstream.count(), 2);
}

/// An endpoint refuses while all others are full: its request waits for one of those, on the budget of
/// retries, and no cap is passed.
#[test]
fn a_retry_waits_for_a_slot() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let refusing = Endpoint::new("b", "127.0.0.1:1").with_capacity(1);
    let gateway = Gateway::with(
        [upstream.endpoint("a").with_capacity(1), refusing],
        queue(10, LONG),
    );
    let mut clients: Vec<RawClient> = Vec::new();
    for held in 0..3 {
        clients.push(RawClient::sending(gateway.address(), GET));
        queued(&gateway, held);
    }
    eventually("one has the only slot", || upstream.count() == 1);
    gate.open();
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    assert_eq!((upstream.count(), upstream.most_waiting()), (3, 1));
    gateway.assert_idle();
}

/// An endpoint that fails at once is not through with the whole line: while it has just failed, its slots
/// count as taken.
#[test]
fn a_failing_endpoint_does_not_swallow_the_queue() {
    let good = Upstream::answering(|_| Answer::ok("good").after(Duration::from_millis(10)));
    let bad = Upstream::answering(|_| Answer::status(500, "bad"));
    let gateway = Gateway::with(
        [
            good.endpoint("a").with_capacity(2),
            bad.endpoint("b").with_capacity(2),
        ],
        queue(1_000, LONG),
    );
    let address = gateway.address();
    let (served, failed) = (
        Arc::new(AtomicCount::default()),
        Arc::new(AtomicCount::default()),
    );
    together(24, |_| {
        let mut client = RawClient::connect(address);
        for _ in 0..25 {
            client.send(GET);
            match client.response().status {
                200 => served.add(),
                _ => failed.add(),
            }
        }
    });
    let (served, failed) = (served.get(), failed.get());
    assert!(
        failed * 4 < served,
        "{failed} of {} failed",
        served + failed
    );
    gateway.assert_idle();
}

#[derive(Default)]
struct AtomicCount(std::sync::atomic::AtomicUsize);

impl AtomicCount {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Without a queue the answer is 503 at once, as before, and counted.
#[test]
fn without_a_queue_nobody_waits() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let mut config = config([upstream.endpoint("a").with_capacity(1)]);
    config.clusters[0].capacity = Some(Capacity {
        queue: None,
        ..Capacity::default()
    });
    let gateway = Gateway::start(&config);
    let mut holder = RawClient::sending(gateway.address(), GET);
    eventually("the slot is held", || upstream.count() == 1);
    assert_own(
        &ask(gateway.address(), GET),
        503,
        "connection_limit_reached",
    );
    assert_eq!(
        (sheds(&gateway), gateway.cluster().decisions()),
        ([1, 0, 0, 0, 0], [1, 0, 0, 1])
    );
    let report = gateway.endpoint("a");
    assert!(report.saturated && report.capacity == Some(1));
    gate.open();
    assert_eq!(holder.response().status, 200);
    eventually("the slot is free", || !gateway.endpoint("a").saturated);
}

/// Nothing is configured but that it is to be learned: it begins at 20 and grows while answers are as quick
/// as ever.
#[test]
fn a_peak_is_learned() {
    let upstream = Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(40)));
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].capacity = Some(Capacity {
            peak: Peak::Learned,
            ..Capacity::default()
        });
    });
    assert_eq!(gateway.endpoint("a").capacity, Some(20));
    let (address, done) = (gateway.address(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| {
                let mut client = RawClient::connect(address);
                while !done.load(Ordering::Relaxed) {
                    client.send(GET);
                    assert_eq!(client.response().status, 200);
                }
            });
        }
        let grown = || gateway.endpoint("a").capacity > Some(20);
        eventually("the cap has grown", grown);
        done.store(true, Ordering::Relaxed);
    });
    assert!(upstream.most_waiting() <= 30);
    gateway.assert_idle();
}
