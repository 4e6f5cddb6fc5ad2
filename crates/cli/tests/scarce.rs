//! A system that gives no more threads, and visitors of the admin API that take places for nothing.

#![cfg(target_os = "linux")]

mod support;

use evenkeel_testkit::{RawClient, Upstream};
use support::{get, start, start_with_memory};

/// One line, and no riddle: a thread that cannot start is not a panic in another one.
#[test]
fn a_thread_that_cannot_start_is_told_in_a_line() {
    // Room for the process and some threads, by far not for the stacks of a thousand.
    let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"];
    arguments.extend(["--workers", "1000"]);
    let ended = start_with_memory(1_000_000, &arguments).wait();
    let line = ended.only_line(1);
    assert!(line.starts_with("cannot start a worker: "), "{line}");
}

/// Whoever connects and says nothing gives the place back, long before the idle timeout.
#[test]
fn silent_visitors_do_not_keep_operators_out() {
    let upstream = Upstream::ok("ok");
    let to = upstream.address().to_string();
    let mut gateway = start(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--to",
        &to,
    ]);
    gateway.address("listening on ");
    let admin = gateway.address("admin on ");
    // More than there are places.
    let silent: Vec<RawClient> = (0..300).map(|_| RawClient::connect(admin)).collect();
    assert_eq!(get(admin, "/healthz").status, 200);
    drop(silent);
}
