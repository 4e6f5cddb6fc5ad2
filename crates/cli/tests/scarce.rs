//! Visitors of the admin API that take places for nothing.

mod support;

use evenkeel_testkit::{RawClient, Upstream};
use support::{get, start};

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
