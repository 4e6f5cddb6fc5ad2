//! A process that may open few files: whoever is beyond is told so, the rest is served, and operators
//! get through all the while.

#![cfg(target_os = "linux")]

mod support;

use std::net::SocketAddr;

use evenkeel_testkit::{RawClient, Upstream, eventually};
use support::{Running, file, get, start_with_files};

const GET: &str = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn serve(files: usize, upstream: &Upstream) -> (Running, SocketAddr, SocketAddr) {
    let text = format!(
        "[admin]\naddress = \"127.0.0.1:0\"\n[runtime]\nworkers = 1\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n\
         [cluster.web]\nendpoints = [\"{}\"]\n",
        upstream.address()
    );
    let path = file("files.toml", &text);
    let mut gateway = start_with_files(files, &["serve", &path]);
    let address = gateway.address("listening on ");
    let admin = gateway.address("admin on ");
    (gateway, address, admin)
}

fn rejected(admin: SocketAddr) -> u64 {
    let page = get(admin, "/metrics").text();
    let mut lines = page
        .lines()
        .filter_map(|line| line.strip_prefix("evenkeel_connections_rejected_total{"));
    let line = lines.find(|line| line.contains("reason=\"descriptors\""));
    let count = line.and_then(|line| line.rsplit(' ').next());
    count.and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn g02_without_descriptors_clients_are_told_and_operators_served() {
    let upstream = Upstream::ok("ok");
    let (gateway, address, admin) = serve(100, &upstream);
    let mut served = Vec::new();
    let mut told = 0;
    for _ in 0..200 {
        let mut client = RawClient::connect(address);
        client.try_send(GET);
        let answer = client.response();
        match answer.status {
            200 => served.push(client),
            503 => {
                let why = answer.field("proxy-status").unwrap_or_default();
                assert!(why.contains("connection_limit_reached"), "{why}");
                assert_eq!(answer.field("retry-after"), Some("1"));
                told += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(served.len() >= 20, "{} are served", served.len());
    assert!(told > 100, "{told} are told");
    for client in &mut served {
        client.send(GET);
        assert_eq!(client.response().status, 200, "and go on being served");
    }
    (0..20).for_each(|_| assert_eq!(get(admin, "/readyz").status, 200));
    assert_eq!(rejected(admin), told);

    let again = served.len();
    drop(served);
    eventually("all is as before", || {
        let mut clients: Vec<RawClient> = (0..again).map(|_| RawClient::connect(address)).collect();
        clients.iter_mut().all(|client| {
            client.try_send(GET);
            client.response().status == 200
        })
    });
    gateway.signal("TERM");
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended
            .stderr
            .contains("limits.connections allow 10000 connections"),
        "{}",
        ended.stderr
    );
}

/// When the process has none left after all, those who wait to be accepted are told so, and accepting
/// goes on when there are some again.
#[test]
fn g02_accepting_recovers_when_the_system_has_no_descriptor() {
    let upstream = Upstream::ok("ok");
    let (gateway, address, admin) = serve(1000, &upstream);
    assert_eq!(get(address, "/").status, 200);
    let folder = format!("/proc/{}/fd", gateway.pid());
    let open = || std::fs::read_dir(&folder).expect("it runs").count();
    // What the gateway thinks it has is taken from it.
    let set_limit = |files: usize| {
        let (pid, limit) = (
            format!("--pid={}", gateway.pid()),
            format!("--nofile={files}:"),
        );
        let set = std::process::Command::new("prlimit")
            .args([&pid, &limit])
            .status();
        assert!(set.expect("prlimit is there, of util-linux").success());
    };
    set_limit(open() + 3);
    let mut clients: Vec<RawClient> = (0..40).map(|_| RawClient::connect(address)).collect();
    for client in clients.iter_mut().skip(5) {
        let told = String::from_utf8_lossy(&client.rest()).into_owned();
        assert!(told.starts_with("HTTP/1.1 503 "), "{told:?}");
        assert!(told.contains("connection_limit_reached"), "{told}");
    }
    drop(clients);
    set_limit(1000);
    eventually("it accepts again", || get(address, "/").status == 200);
    assert!(rejected(admin) > 30);
}
