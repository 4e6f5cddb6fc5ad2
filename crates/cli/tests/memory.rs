//! What connections leave behind in memory.

mod support;

use std::fs;

use evenkeel_testkit::{RawClient, Upstream};
use support::start_with_files;

/// How many connections are kept open.
const IDLE: usize = 400;

/// What each of them may cost above what the process needs anyway, in KiB.
const EACH_MAX: u64 = 25;

/// Resident memory of a process in KiB.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("it has memory");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .expect("a number")
}

/// G04: connections that each carried an answer of 1 MiB and wait for the next request have given back what they
/// needed for it, and three rounds of them need no more than one.
#[test]
fn g04_idle_connections_keep_no_high_water_mark() {
    let upstream = Upstream::ok(&"x".repeat(1 << 20));
    let to = upstream.address().to_string();
    let flags = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--to",
        &to,
        "--workers",
        "2",
    ];
    let mut gateway = start_with_files(4096, &flags);
    let address = gateway.address("listening on ");
    let request = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let mut ask = |client: &mut RawClient| {
        client.send(request);
        assert_eq!(client.response().body.len(), 1 << 20);
    };
    ask(&mut RawClient::connect(address));
    let base = resident(gateway.pid());
    let rounds = [(); 3].map(|()| {
        let mut clients: Vec<_> = (0..IDLE).map(|_| RawClient::connect(address)).collect();
        clients.iter_mut().for_each(&mut ask);
        resident(gateway.pid())
    });
    for resident in rounds {
        let each = resident.saturating_sub(base) / IDLE as u64;
        assert!(
            each < EACH_MAX,
            "{each} KiB each: {base} at first, then {rounds:?}"
        );
    }
    // What the allocator keeps for the next one varies by some hundred KiB.
    assert!(
        rounds[2] < rounds[0] + 2048,
        "{base} at first, then {rounds:?}"
    );
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code, Some(0));
}
