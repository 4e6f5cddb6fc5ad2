//! The examples, each against real servers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use evenkeel_testkit::{Answer, Upstream};
use tokio::net::TcpListener;
use tokio::process::Command;
use tonic::transport::server::TcpIncoming;

use crate::server::Server;

/// Runs an example with arguments, and gives what it prints.
async fn run(name: &str, arguments: &[String]) -> String {
    let mut path: PathBuf = std::env::current_exe().expect("a test");
    path.pop();
    path.pop();
    path.push("examples");
    path.push(name);
    let mut example = Command::new(&path);
    let ended = example.args(arguments).kill_on_drop(true).output();
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    let output = ended
        .expect("it ends")
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {printed}\n{errors}");
    printed
}

fn lines(printed: &str, with: &str) -> usize {
    printed.lines().filter(|line| line.contains(with)).count()
}

/// Two servers that say who they are, and one that is not there.
async fn against_upstreams(name: &str) {
    let (one, other) = (
        Upstream::answering(|_| Answer::ok("by one")),
        Upstream::answering(|_| Answer::ok("by other")),
    );
    let gone = Server::start(Duration::ZERO, false).await;
    let nobody = gone.address.to_string();
    gone.stop().await;
    let arguments = [
        one.address().to_string(),
        nobody,
        other.address().to_string(),
    ];
    let printed = run(name, &arguments).await;
    assert_eq!(lines(&printed, "200"), 20, "{printed}");
    assert_eq!(lines(&printed, "by one"), one.count(), "{printed}");
    assert_eq!(lines(&printed, "by other"), other.count(), "{printed}");
    assert!(one.count() > 0 && other.count() > 0, "{printed}");
}

#[tokio::test]
async fn the_example_with_hyper() {
    against_upstreams("hyper").await;
}

#[tokio::test]
async fn the_example_with_hyper_and_http2() {
    let (one, other) = (
        Server::start(Duration::ZERO, true).await,
        Server::start(Duration::ZERO, true).await,
    );
    let mut arguments = vec!["--http2".to_owned()];
    arguments.extend([one.address.to_string(), other.address.to_string()]);
    let printed = run("hyper", &arguments).await;
    assert_eq!(lines(&printed, "200 OK GET /users/"), 20, "{printed}");
    assert_eq!(one.count() + other.count(), 20);
    assert!(one.count() > 0 && other.count() > 0, "{printed}");
}

#[tokio::test]
async fn the_example_with_reqwest() {
    against_upstreams("reqwest").await;
}

#[tokio::test]
async fn the_example_that_blocks() {
    against_upstreams("blocking").await;
}

#[tokio::test]
async fn the_example_with_a_strategy_of_ones_own() {
    let printed = run("own_strategy", &[]).await;
    assert!(lines(&printed, ": holds") > 10, "{printed}");
    let got = |id: &str| {
        let line = printed
            .lines()
            .find(|line| line.starts_with(&format!("{id} got ")));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    let (a, b) = (got("a").expect("a count"), got("b").expect("a count"));
    assert_eq!(a + b, 4_000);
    assert!((900..1_100).contains(&a), "a quarter: {a}");
}

#[tokio::test]
async fn the_example_with_tonic() {
    let mut addresses: Vec<String> = Vec::new();
    for _ in 0..3 {
        addresses.push(grpc_server().await.to_string());
    }
    let printed = run("tonic", &addresses).await;
    assert_eq!(lines(&printed, "Serving"), 20, "{printed}");
    for address in &addresses {
        let line = printed
            .lines()
            .find(|line| line.starts_with(address.as_str()));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        assert!(
            count.is_some_and(|count| count > 0),
            "each call for itself: {printed}"
        );
    }
}

/// A server of tonic with nothing but its health service.
async fn grpc_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let (_, health) = tonic_health::server::health_reporter();
    let server = tonic::transport::Server::builder().add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    address
}
