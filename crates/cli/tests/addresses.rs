//! Addresses of IPv6, from the configuration to the last log line.

mod support;

use std::fs;
use std::net::{Ipv6Addr, SocketAddr};

use evenkeel_testkit::{Upstream, eventually};
use support::{Running, file, get, start};

/// The address in a line like `listening on [::1]:8080 (web)`.
#[track_caller]
fn told(gateway: &mut Running, beginning: &str) -> SocketAddr {
    let address = gateway.address(beginning);
    assert!(address.is_ipv6(), "{address}");
    address
}

/// G08: `[::1]` works as a listener, as an endpoint and for operators, and has its brackets wherever it is told of.
#[test]
fn g08_ipv6_has_brackets_everywhere() {
    let loopback = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let Ok(upstream) = Upstream::ok_at(loopback, "ok") else {
        eprintln!("not tested: this machine has no IPv6");
        return;
    };
    let mapped = Upstream::ok("ok");
    let (one, other) = (
        upstream.address(),
        format!("[::ffff:127.0.0.1]:{}", mapped.address().port()),
    );
    let log = file("addresses.log", "");
    let text = format!(
        "[runtime]\nworkers = 1\n[admin]\naddress = \"[::1]:0\"\n[log]\naccess = {{ path = \"{log}\" }}\n[[listener]]\naddress = \"[::1]:0\"\n\
         cluster = \"web\"\n[cluster.web]\nstrategy = \"round_robin\"\nendpoints = [\"{one}\", \"{other}\"]\n"
    );
    let mut gateway = start(&["serve", &file("addresses.toml", &text)]);
    let address = told(&mut gateway, "listening on ");
    let admin = told(&mut gateway, "admin on ");
    for _ in 0..4 {
        assert_eq!(get(address, "/").status, 200);
    }
    assert_eq!((upstream.count(), mapped.count()), (2, 2));
    for request in [upstream.requests(), mapped.requests()].concat() {
        assert_eq!(request.field("host"), Some(address.to_string().as_str()));
        // Without brackets here, as is the custom for this field.
        assert_eq!(request.field("x-forwarded-for"), Some("::1"));
    }
    let metrics = get(admin, "/metrics").text();
    for endpoint in [one.to_string(), other] {
        assert!(
            metrics.contains(&format!("endpoint=\"{endpoint}\"")),
            "{endpoint}"
        );
        eventually("it is logged", || {
            fs::read_to_string(&log)
                .expect("a log")
                .contains(&format!("\"{endpoint}\""))
        });
    }
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code, Some(0));
}
