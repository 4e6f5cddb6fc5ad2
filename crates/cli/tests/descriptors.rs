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
    for _ in 0..20 {
        assert_eq!(get(admin, "/readyz").status, 200);
    }
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
