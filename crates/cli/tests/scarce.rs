//! Visitors of the admin API that take places for nothing.

mod support;

use evenkeel_testkit::{RawClient, Upstream};
use support::get;
use support::serving::serve;

/// Whoever connects and says nothing gives the place back, long before the idle timeout.
#[test]
fn silent_visitors_do_not_keep_operators_out() {
    let upstream = Upstream::ok("ok");
    let to = upstream.address().to_string();
    let served = serve(&["--to", &to]);
    let admin = served.admin;
    // More than there are places.
    let silent: Vec<RawClient> = (0..300).map(|_| RawClient::connect(admin)).collect();
    assert_eq!(get(admin, "/healthz").status, 200);
    drop(silent);
}
