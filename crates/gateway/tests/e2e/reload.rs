//! Reload: as a whole or not at all, without a request that notices.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::{Cluster, Config, Listener};
use evenkeel_core::Admin;
use evenkeel_gateway::{Changes, EventKind, OperatorChanges, ReloadError};
use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Upstream, config, eventually, free_port};

use crate::membership::at_rate;
use crate::{GET, ask};

fn reload(gateway: &Gateway, config: &Config) -> Result<Changes, ReloadError> {
    let operators = OperatorChanges::Keep;
    gateway.wait(gateway.control().reload(config, operators))
}

#[track_caller]
fn reloaded(gateway: &Gateway, config: &Config) -> Changes {
    reload(gateway, config).expect("it is right")
}

/// A free port, for a listener that comes later.
fn free_place() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

fn listener(name: &str, address: SocketAddr) -> Listener {
    Listener {
        name: name.into(),
        cluster: Some("web".into()),
        ..Listener::new(address)
    }
}

/// Open files and threads of this process.
#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

/// G11: 50 reloads with alternating sets of endpoints lose none of 200 requests a second, and who is gone
/// gets none.
#[test]
fn g11_reloads_under_load_lose_nothing() {
    let (left, right) = (Upstream::ok("left"), Upstream::ok("right"));
    let both = Upstream::ok("both");
    let sets = [
        config([left.endpoint("left"), both.endpoint("both")]),
        config([both.endpoint("both"), right.endpoint("right")]),
    ];
    let gateway = Gateway::start(&sets[0]);
    let asked = at_rate(&gateway, Duration::from_millis(5), || {
        for round in 1..=50 {
            let changes = reloaded(&gateway, &sets[round % 2]);
            assert_eq!(changes.clusters.changed[0].1, ["endpoints"]);
            let gone = if round % 2 == 0 { &right } else { &left };
            // Requests that were chosen for it before may still be on their way, some of them on
            // connections that are not open yet. Then nothing comes, while others get many.
            eventually("nothing more comes", || {
                let before = gone.count();
                std::thread::sleep(Duration::from_millis(40));
                gone.count() == before && gone.open_connections() == 0
            });
        }
    });
    let came = left.count() + right.count() + both.count();
    assert_eq!(came, asked, "each request once");
    assert!(left.count() > 0 && right.count() > 0);
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// What a reload changed of endpoints is told by their names, and who comes is an event of its own.
#[test]
fn what_a_reload_does_to_endpoints_is_told() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let gateway = Gateway::start(&config([a.endpoint("a").with_weight(2)]));
    let mut events = gateway.control().events().subscribe();
    let changes = reloaded(
        &gateway,
        &config([a.endpoint("a").with_weight(5), b.endpoint("b")]),
    );
    let said = "cluster web: endpoints; web: b added, a weight 2 -> 5";
    assert_eq!(changes.to_string(), said);
    let mut next = || {
        let event = gateway.wait(events.next());
        let event = event.expect("few of them").expect("it runs");
        let id = event.endpoint.as_deref().unwrap_or_default().to_owned();
        (event.event, event.evidence.to_string(), id)
    };
    assert_eq!(next(), (EventKind::Reload, said.into(), "".into()));
    let came = "the configuration has it";
    assert_eq!(next(), (EventKind::Membership, came.into(), "b".into()));
}

/// Connections to an endpoint that stays are kept, and so is all that was counted of it.
#[test]
fn g11_what_stays_is_kept() {
    let (stays, goes) = (Upstream::ok("ok"), Upstream::ok("ok"));
    let gateway = Gateway::over([stays.endpoint("stays")]);
    let mut client = RawClient::connect(gateway.address());
    for round in 0..10 {
        client.send(GET);
        assert_eq!(client.response().status, 200);
        let mut next = match round % 2 {
            0 => config([
                stays.endpoint("stays"),
                goes.endpoint("goes").with_weight(0),
            ]),
            _ => config([stays.endpoint("stays")]),
        };
        next.clusters[0].timeout.response = Duration::from_secs(round + 1);
        reloaded(&gateway, &next);
    }
    assert_eq!(stays.connections(), 1, "one connection carried all");
    assert_eq!(gateway.endpoint("stays").totals.requests(), 10);
}

/// A request under way finishes as it began, though its listener, cluster and endpoint are gone.
#[test]
fn g11_requests_under_way_finish() {
    let gate = Gate::new();
    let behind = gate.clone();
    let old = Upstream::answering(move |_| Answer::ok("old").behind(&behind));
    let new = Upstream::ok("new");
    let gateway = Gateway::single(&old);
    let address = gateway.address();
    let mut kept = RawClient::connect(address);
    let mut client = RawClient::sending(address, GET);
    eventually("it is under way", || old.count() == 1);

    let mut next = config([]);
    let mut cluster = Cluster::new("other");
    cluster.endpoints = vec![new.endpoint("a")];
    next.clusters = vec![cluster];
    next.listeners[0].cluster = Some("other".into());
    let changes = reloaded(&gateway, &next);
    assert_eq!(
        (&*changes.clusters.added[0], &*changes.clusters.removed[0]),
        ("other", "web")
    );
    kept.send(GET);
    assert_eq!(
        kept.response().text(),
        "new",
        "a connection goes by the new one"
    );
    assert!(gateway.control().cluster("web").is_none());
    gate.open();
    let response = client.response();
    assert_eq!(
        (response.text(), response.says_close()),
        ("old".into(), false)
    );
    client.send(GET);
    assert_eq!(client.response().text(), "new");
    eventually("no connection to who is gone", || {
        old.open_connections() == 0
    });
}

/// G12: a listener that is changed in place goes on accepting, on the same socket.
#[test]
fn g12_a_changed_listener_still_accepts() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let address = gateway.address();
    let mut kept = RawClient::sending(address, GET);
    assert_eq!(kept.response().status, 200);
    let mut next = config([upstream.endpoint("a")]);
    next.listeners[0].limits.header_timeout = Duration::from_secs(1);
    next.listeners[0].limits.headers = 3;
    let changes = reloaded(&gateway, &next);
    assert_eq!(changes.listeners.changed, [("in".into(), vec!["limits"])]);
    assert_eq!(gateway.address(), address);
    assert_eq!(ask(address, GET).status, 200);
    let many = "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nB: b\r\nC: c\r\n\r\n";
    assert_eq!(ask(address, many).status, 431);
    kept.send(many);
    assert_eq!(
        kept.response().status,
        431,
        "new limits, for the next request too"
    );
    let mut slow = RawClient::sending(address, "GET / HTTP/1.1\r\n");
    assert_eq!(slow.response().status, 408);
}

#[test]
fn g12_listeners_come_and_go() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let (first, port) = (gateway.address(), free_place());
    for round in 0..5 {
        let mut next = config([upstream.endpoint("a")]);
        next.listeners.push(listener("second", port));
        let changes = reloaded(&gateway, &next);
        assert_eq!(&*changes.listeners.added[0], "second", "round {round}");
        assert_eq!(ask(port, GET).text(), "ok");
        assert!(gateway.control().is_ready());
        let mut kept = RawClient::sending(port, GET);
        assert!(!kept.response().says_close());

        let changes = reloaded(&gateway, &config([upstream.endpoint("a")]));
        assert_eq!(&*changes.listeners.removed[0], "second");
        assert!(TcpStream::connect(port).is_err(), "nobody listens");
        kept.send(GET);
        let response = kept.response();
        assert_eq!((response.status, response.says_close()), (200, true));
        kept.expect_end();
        assert_eq!(ask(first, GET).text(), "ok");
    }
}

#[test]
fn g12_the_file_of_a_removed_unix_socket_is_removed() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let name = format!("evenkeel-reload-{}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut next = config([upstream.endpoint("a")]);
    let address = evenkeel_config::ListenAddress::Unix(Arc::from(path.as_path()));
    next.listeners.push(Listener {
        cluster: Some("web".into()),
        ..Listener::new(address)
    });
    reloaded(&gateway, &next);
    assert!(path.exists());
    reloaded(&gateway, &config([upstream.endpoint("a")]));
    assert!(!path.exists());
}

/// G09 as reload: what cannot be in force changes nothing, not even what comes before it.
#[test]
fn g09_a_busy_port_refuses_the_whole_reload() {
    let (old, new) = (Upstream::ok("old"), Upstream::ok("new"));
    let gateway = Gateway::single(&old);
    let port = free_place();
    let mut next = config([new.endpoint("a")]);
    next.listeners.push(listener("fine", port));
    next.listeners.push(listener("busy", old.address()));
    let error = reload(&gateway, &next).expect_err("a port is busy");
    let message = error.to_string();
    assert!(
        message.starts_with("listener \"busy\" cannot listen on"),
        "{message}"
    );
    assert!(TcpStream::connect(port).is_err(), "nothing was opened");
    assert_eq!(ask(gateway.address(), GET).text(), "old");

    let twice = config([new.endpoint("a"), new.endpoint("a")]);
    let message = reload(&gateway, &twice)
        .expect_err("listed twice")
        .to_string();
    assert!(message.contains("\"a\" is listed twice"), "{message}");
    assert_eq!(ask(gateway.address(), GET).text(), "old");
}

/// C03b: what operators changed lies over a configuration that knows nothing of it, until they take
/// it back or have it forgotten.
#[test]
fn c03b_what_operators_changed_survives() {
    let (a, b, c) = (Upstream::ok("a"), Upstream::ok("b"), Upstream::ok("c"));
    let file = config([a.endpoint("a"), b.endpoint("b"), c.endpoint("c")]);
    let gateway = Gateway::start(&file);
    let (control, cluster) = (gateway.control(), gateway.cluster());
    gateway.update("a", None, Some(Admin::Draining));
    gateway.remove("b");
    let d = Upstream::ok("d");
    gateway.add(d.endpoint("d"));
    gateway.update("c", Some(0), None);

    let mut next = file.clone();
    next.clusters[0].timeout.connect = Duration::from_millis(900);
    next.listeners[0].limits.headers = 90;
    reloaded(&gateway, &next);
    let admin = |id| cluster.endpoint(id).map(|report| report.admin);
    assert_eq!(admin("a"), Some(Admin::Draining));
    assert_eq!(admin("b"), None);
    assert_eq!(cluster.overrides().endpoints().count(), 4);
    for _ in 0..20 {
        assert_eq!(ask(gateway.address(), GET).text(), "d");
    }
    // The same again, with other endpoints in the file.
    let e = Upstream::ok("e");
    next.clusters[0]
        .endpoints
        .push(e.endpoint("e").with_weight(0));
    reloaded(&gateway, &next);
    assert_eq!(ask(gateway.address(), GET).text(), "d");
    assert_eq!(admin("a"), Some(Admin::Draining));

    let forgotten = gateway.wait(control.reload(&file, OperatorChanges::Forget));
    forgotten.expect("it is right");
    assert!(cluster.overrides().is_empty());
    let ids: Vec<String> = cluster
        .endpoints()
        .iter()
        .map(|report| format!("{} {:?}", report.endpoint.id(), report.admin))
        .collect();
    assert_eq!(ids, ["a Enabled", "b Enabled", "c Enabled"]);
    for _ in 0..20 {
        assert_ne!(ask(gateway.address(), GET).text(), "d");
    }
}

/// G12: after any walk of reloads a gateway is what it would be had it been started so.
#[test]
fn g12_a_reloaded_gateway_is_as_one_that_was_started() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    for step in 1..40_u16 {
        let mut next = config((0..step % 4).map(|number| {
            let weight = (step + number) % 3;
            upstream.endpoint(&format!("e{number}")).with_weight(weight)
        }));
        if step % 5 > 0 {
            let mut second = Cluster::new(format!("c{}", step % 3));
            second.endpoints = vec![upstream.endpoint("x")];
            next.clusters.insert(usize::from(step % 2), second);
        }
        next.clusters[0].timeout.idle = Duration::from_secs(u64::from(step % 2) + 1);
        reloaded(&gateway, &next);
        let fresh = Gateway::start(&next);
        assert_eq!(described(&gateway), described(&fresh), "step {step}");
    }
}

fn described(gateway: &Gateway) -> Vec<String> {
    let control = gateway.control();
    let clusters = control.clusters().into_iter().map(|cluster| {
        let endpoints: Vec<_> = cluster.endpoints();
        let endpoints: Vec<_> = endpoints
            .iter()
            .map(|report| (&*report.endpoint, report.admin, report.standing))
            .map(|report| format!("{report:?}"))
            .collect();
        let (name, strategy) = (cluster.name(), cluster.strategy().descriptor().name);
        format!("{name} {strategy} {:?} {endpoints:?}", cluster.policies())
    });
    let listeners = control.listeners().into_iter();
    let listeners = listeners.map(|listener| listener.name().to_owned());
    clusters.chain(listeners).collect()
}

/// Descriptors and what is counted per worker do not grow with reloads.
#[cfg(target_os = "linux")]
#[test]
fn g11_reloads_leave_nothing_behind() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let port = free_place();
    let mut round = |number: u64| {
        let mut next = config([upstream.endpoint("a"), upstream.endpoint("b")]);
        next.clusters[0].timeout.idle = Duration::from_secs(number + 1);
        if number.is_multiple_of(2) {
            next.listeners.push(listener("second", port));
            next.clusters.push(Cluster::new("second"));
        }
        reloaded(&gateway, &next);
        assert_eq!(ask(gateway.address(), GET).status, 200);
    };
    (0..4).for_each(&mut round);
    let before = descriptors();
    (0..40).for_each(&mut round);
    // Other tests of this process open some too.
    eventually("as many as before, nearly", || descriptors() < before + 100);
}

#[test]
fn who_leaves_takes_no_other_configuration() {
    let upstream = Upstream::answering(|_| Answer::never());
    let mut gateway = Gateway::single(&upstream);
    let _client = RawClient::sending(gateway.address(), GET);
    eventually("it is under way", || upstream.count() == 1);
    let drained = gateway.drain();
    eventually("it drains", || !gateway.control().is_ready());
    let error = reload(&gateway, &config([])).expect_err("it leaves");
    assert!(matches!(error, ReloadError::Leaving));
    drop(drained);
}
