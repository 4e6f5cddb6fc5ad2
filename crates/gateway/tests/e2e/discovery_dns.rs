//! Endpoints in DNS: a server that says what it is told, mistakes included, and dnsmasq.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use evenkeel_config::{Discovery, DiscoverySource, DnsNames, DnsRecord};
use evenkeel_testkit::registry::{A, Dns, DnsAnswer, SRV, dns_addresses, dns_service};
use evenkeel_testkit::{Gateway, Upstream, eventually, not_tested};

use crate::membership::under_load;

fn gateway(resolver: SocketAddr, record: DnsRecord, refresh: Duration) -> Gateway {
    let names = DnsNames {
        name: "web.test.".into(),
        record,
        resolver: Some(resolver),
    };
    Gateway::with([], |config| {
        config.clusters[0].discovery = Some(Discovery {
            refresh,
            ..Discovery::of(DiscoverySource::Dns(names))
        });
    })
}

fn ids(gateway: &Gateway) -> Vec<String> {
    let reports = gateway.cluster().endpoints();
    let ids = reports.iter().map(|report| report.endpoint.id().to_owned());
    ids.collect()
}

fn error(gateway: &Gateway) -> Option<String> {
    gateway.cluster().discovery().expect("a source").error
}

const LONG: Duration = Duration::from_secs(30);

/// A name is asked for again when its answer is too old, and not before; the order of addresses is nothing.
#[test]
fn addresses_are_followed_as_long_as_they_live() {
    let server = Dns::start(|_| dns_addresses(1, &[1, 2]));
    let gateway = gateway(server.address(), DnsRecord::A(81), LONG);
    assert_eq!(ids(&gateway), ["127.0.0.1:81", "127.0.0.2:81"]);
    let generation = gateway.cluster().generation();
    server.say(|_| dns_addresses(1, &[2, 1]));
    let asked = server.asked();
    eventually("it is asked again", || server.asked() > asked + 1);
    assert_eq!(
        gateway.cluster().generation(),
        generation,
        "nothing has changed"
    );
    server.say(|_| dns_addresses(3600, &[2, 3]));
    eventually("it is followed", || {
        ids(&gateway) == ["127.0.0.2:81", "127.0.0.3:81"]
    });
    let asked = server.asked();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(
        server.asked(),
        asked,
        "the answer lives for an hour, so until the refresh"
    );
}

/// Two upstreams on one port of 127.0.0.2 and 127.0.0.3. Somebody may have it on one of them: then another one.
fn on_one_port() -> (Upstream, Upstream) {
    let at = |last, port| Upstream::ok_at(SocketAddr::from(([127, 0, 0, last], port)), "ok");
    let pair = (0..20).find_map(|_| {
        let old = at(2, 0).ok()?;
        let new = at(3, old.address().port()).ok()?;
        Some((old, new))
    });
    pair.expect("a port that is free on both")
}

/// D13: a name that moves takes all new requests along within two lives of its answer, and the connections to
/// the old place are closed.
#[test]
fn d13_a_name_that_moves_is_followed_and_old_connections_close() {
    let (old, new) = on_one_port();
    let server = Dns::start(|_| dns_addresses(1, &[2]));
    let record = DnsRecord::A(old.address().port());
    let gateway = gateway(server.address(), record, LONG);
    under_load(&gateway, || {
        eventually("the old place is asked", || old.count() > 10);
        server.say(|_| dns_addresses(1, &[3]));
        eventually("the new place is asked", || new.count() > 0);
        let before = old.count();
        eventually("it goes on there", || new.count() > 20);
        assert_eq!(old.count(), before, "the old place gets nothing more");
        eventually("old connections close", || old.open_connections() == 0);
    });
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// A server that fails, is silent or sends answers cut short leaves the last good list; one that says that
/// there is nothing gives an empty list, which is held.
#[test]
fn a_server_that_lies_leaves_the_last_good_list() {
    let server = Dns::start(|_| dns_addresses(0, &[1]));
    let gateway = gateway(
        server.address(),
        DnsRecord::A(81),
        Duration::from_millis(1500),
    );
    assert_eq!(ids(&gateway), ["127.0.0.1:81"]);
    for answer in [DnsAnswer::Code(2), DnsAnswer::Silence, DnsAnswer::Truncated] {
        server.say(move |_| answer.clone());
        eventually("it is told", || error(&gateway).is_some());
        assert_eq!(ids(&gateway), ["127.0.0.1:81"]);
        server.say(|_| dns_addresses(0, &[1]));
        eventually("it is back", || error(&gateway).is_none());
    }
    server.say(|_| DnsAnswer::Code(3));
    let held = || {
        gateway
            .cluster()
            .discovery()
            .expect("a source")
            .held
            .is_some()
    };
    eventually("there is no such name, it says", held);
    assert_eq!(ids(&gateway), ["127.0.0.1:81"]);
    eventually("a second answer agrees", || ids(&gateway).is_empty());
}

/// Priorities are tiers in their order, and weights are weights.
#[test]
fn services_have_tiers_and_weights() {
    let server = Dns::start(|kind| match kind {
        SRV => DnsAnswer::Records(vec![
            dns_service(20, 5, 82, "b.test"),
            dns_service(10, 0, 81, "a.test"),
            dns_service(10, 7, 83, "a.test"),
            dns_service(10, 7, 84, "gone.test"),
        ]),
        A => DnsAnswer::Records(vec![(A, "", 1, vec![127, 0, 0, 9])]),
        _ => DnsAnswer::Code(3),
    });
    let gateway = gateway(server.address(), DnsRecord::Srv, LONG);
    let told = |id: &str| {
        let endpoint = gateway.endpoint(id).endpoint;
        (endpoint.tier(), endpoint.weight())
    };
    assert_eq!(told("127.0.0.9:81"), (0, 1));
    assert_eq!(told("127.0.0.9:83"), (0, 7));
    assert_eq!(told("127.0.0.9:82"), (1, 5));
}

/// Starts dnsmasq on a port that is free for UDP and TCP. Somebody else may take it in between: then on
/// another one.
fn start_dnsmasq(program: &str, hosts: &std::path::Path) -> (std::process::Child, SocketAddr) {
    for _ in 0..10 {
        let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let server = free.local_addr().expect("bound");
        if std::net::TcpListener::bind(server).is_err() {
            continue;
        }
        drop(free);
        let mut dnsmasq = std::process::Command::new(program)
            .args(["--keep-in-foreground", "--no-resolv", "--no-hosts"])
            .args(["--bind-interfaces", "--listen-address=127.0.0.1"])
            .args(["--local-ttl=1", "--local=/test/", "--conf-file=/dev/null"])
            .args(["--user=root", "--pid-file="])
            .arg(format!("--port={}", server.port()))
            .arg(format!("--addn-hosts={}", hosts.display()))
            .spawn()
            .expect("dnsmasq starts");
        let mut has_ended = false;
        eventually("dnsmasq listens or has ended", || {
            has_ended = matches!(dnsmasq.try_wait(), Ok(Some(_)));
            has_ended || std::net::TcpStream::connect(server).is_ok()
        });
        if !has_ended {
            return (dnsmasq, server);
        }
    }
    panic!("no port for dnsmasq");
}

/// dnsmasq, as far as it is installed: hosts that come and go in its file, while requests flow.
#[test]
fn dnsmasq_is_followed_while_requests_flow() {
    let program = "/usr/sbin/dnsmasq";
    if !std::path::Path::new(program).exists() {
        not_tested("dnsmasq is not installed (Debian's package dnsmasq-base)");
        return;
    }
    let upstream = Upstream::ok("ok");
    let port = upstream.address().port();
    let folder = std::env::temp_dir().join(format!("evenkeel-dnsmasq-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let hosts = folder.join("hosts");
    std::fs::write(&hosts, "127.0.0.1 web.test\n").expect("written");
    let (mut dnsmasq, server) = start_dnsmasq(program, &hosts);
    let gateway = gateway(server, DnsRecord::A(port), LONG);
    let one = format!("127.0.0.1:{port}");
    eventually("dnsmasq is asked", || ids(&gateway) == [one.clone()]);
    under_load(&gateway, || {
        let reload = |text: &str| {
            std::fs::write(&hosts, text).expect("written");
            let pid = dnsmasq.id().to_string();
            let hup = std::process::Command::new("kill")
                .args(["-HUP", &pid])
                .status();
            assert!(hup.is_ok_and(|status| status.success()));
        };
        reload("127.0.0.1 web.test\n127.0.0.2 web.test\n");
        eventually("another comes", || ids(&gateway).len() == 2);
        reload("127.0.0.1 web.test\n");
        eventually("it goes", || ids(&gateway) == [one.clone()]);
    });
    gateway.assert_idle();
    let _ = dnsmasq.kill();
    let _ = dnsmasq.wait();
    let _ = std::fs::remove_dir_all(folder);
}
