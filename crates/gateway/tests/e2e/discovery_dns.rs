//! Endpoints in DNS: a server that says what it is told, mistakes included, and dnsmasq.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenkeel_config::{Discovery, DiscoverySource, DnsNames, DnsRecord};
use evenkeel_testkit::{Gateway, Upstream, eventually, not_tested};

use crate::membership::under_load;

/// What the server answers to a question of that type.
type Says = Box<dyn Fn(u16) -> Answer + Send>;

#[derive(Clone)]
enum Answer {
    /// Records: type, name (empty: the one that was asked for), TTL, data.
    Records(Vec<(u16, &'static str, u32, Vec<u8>)>),
    /// An error of this code, without records.
    Code(u8),
    /// More than fits: to be asked for again over TCP.
    Truncated,
    Silence,
}

const A: u16 = 1;
const SRV: u16 = 33;

/// A DNS server over UDP that says what it is told.
struct Scripted {
    address: SocketAddr,
    says: Arc<Mutex<Says>>,
    asked: Arc<Mutex<Vec<u16>>>,
}

impl Scripted {
    fn start(says: impl Fn(u16) -> Answer + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let server = Self {
            address: socket.local_addr().expect("bound"),
            says: Arc::new(Mutex::new(Box::new(says))),
            asked: Arc::default(),
        };
        let (says, asked) = (Arc::clone(&server.says), Arc::clone(&server.asked));
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let (question, kind) = question(&buffer[..length]);
                asked.lock().expect("whole").push(kind);
                let answer = says.lock().expect("whole")(kind);
                if let Some(bytes) = encode(&buffer[..2], question, answer) {
                    let _ = socket.send_to(&bytes, from);
                }
            }
        });
        server
    }

    fn say(&self, says: impl Fn(u16) -> Answer + Send + 'static) {
        *self.says.lock().expect("whole") = Box::new(says);
    }

    fn asked(&self) -> usize {
        self.asked.lock().expect("whole").len()
    }
}

/// The bytes of the question and its type.
fn question(bytes: &[u8]) -> (&[u8], u16) {
    let mut at = 12;
    while bytes[at] != 0 {
        at += usize::from(bytes[at]) + 1;
    }
    let kind = u16::from_be_bytes([bytes[at + 1], bytes[at + 2]]);
    (&bytes[12..at + 5], kind)
}

fn encode(id: &[u8], question: &[u8], answer: Answer) -> Option<Vec<u8>> {
    let (flags, records) = match answer {
        Answer::Records(records) => (0x8180_u16, records),
        Answer::Code(code) => (0x8180 | u16::from(code), Vec::new()),
        Answer::Truncated => (0x8380, Vec::new()),
        Answer::Silence => return None,
    };
    let mut bytes = id.to_vec();
    for number in [flags, 1, records.len() as u16, 0, 0] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(question);
    for (kind, owner, ttl, data) in records {
        match owner {
            "" => bytes.extend([0xc0, 12]),
            other => bytes.extend(name(other)),
        }
        bytes.extend(kind.to_be_bytes());
        bytes.extend(1_u16.to_be_bytes());
        bytes.extend(ttl.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }
    Some(bytes)
}

fn name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> = labels
        .flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat())
        .collect();
    bytes.push(0);
    bytes
}

fn addresses(ttl: u32, last: &[u8]) -> Answer {
    let record = |last: &u8| (A, "", ttl, vec![127, 0, 0, *last]);
    Answer::Records(last.iter().map(record).collect())
}

fn service(
    priority: u16,
    weight: u16,
    port: u16,
    target: &str,
) -> (u16, &'static str, u32, Vec<u8>) {
    let mut data = [priority, weight, port].map(u16::to_be_bytes).concat();
    data.extend(name(target));
    (SRV, "", 1, data)
}

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
    let server = Scripted::start(|_| addresses(1, &[1, 2]));
    let gateway = gateway(server.address, DnsRecord::A(81), LONG);
    assert_eq!(ids(&gateway), ["127.0.0.1:81", "127.0.0.2:81"]);
    let generation = gateway.cluster().generation();
    server.say(|_| addresses(1, &[2, 1]));
    let asked = server.asked();
    eventually("it is asked again", || server.asked() > asked + 1);
    assert_eq!(
        gateway.cluster().generation(),
        generation,
        "nothing has changed"
    );
    server.say(|_| addresses(3600, &[2, 3]));
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
    let server = Scripted::start(|_| addresses(1, &[2]));
    let record = DnsRecord::A(old.address().port());
    let gateway = gateway(server.address, record, LONG);
    under_load(&gateway, || {
        eventually("the old place is asked", || old.count() > 10);
        server.say(|_| addresses(1, &[3]));
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
    let server = Scripted::start(|_| addresses(0, &[1]));
    let gateway = gateway(
        server.address,
        DnsRecord::A(81),
        Duration::from_millis(1500),
    );
    assert_eq!(ids(&gateway), ["127.0.0.1:81"]);
    for answer in [Answer::Code(2), Answer::Silence, Answer::Truncated] {
        server.say(move |_| answer.clone());
        eventually("it is told", || error(&gateway).is_some());
        assert_eq!(ids(&gateway), ["127.0.0.1:81"]);
        server.say(|_| addresses(0, &[1]));
        eventually("it is back", || error(&gateway).is_none());
    }
    server.say(|_| Answer::Code(3));
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
    let server = Scripted::start(|kind| match kind {
        SRV => Answer::Records(vec![
            service(20, 5, 82, "b.test"),
            service(10, 0, 81, "a.test"),
            service(10, 7, 83, "a.test"),
            service(10, 7, 84, "gone.test"),
        ]),
        A => Answer::Records(vec![(A, "", 1, vec![127, 0, 0, 9])]),
        _ => Answer::Code(3),
    });
    let gateway = gateway(server.address, DnsRecord::Srv, LONG);
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
