//! `evenkeel serve`: from its first line to its last request.

mod support;

use std::os::unix::fs::OpenOptionsExt as _;

use evenkeel_testkit::{Answer, Gate, RawClient, Upstream, eventually};
use support::serving::{Served, serve};
use support::{file, get, run, start};

/// `O_NONBLOCK` of Linux.
const NON_BLOCKING: i32 = 0o4000;

/// A backend whose answers wait behind the gate.
fn held(gate: &Gate) -> Upstream {
    let gate = gate.clone();
    Upstream::answering(move |_| Answer::ok("ok\n").behind(&gate))
}

#[test]
fn a_file_becomes_a_gateway() {
    let (a, b) = (Upstream::ok("ok\n"), Upstream::ok("ok\n"));
    let text = format!(
        "[admin]\naddress = \"127.0.0.1:0\"\n\n[runtime]\ndrain_timeout = \"1s\"\n\n[[listener]]\nname = \"web\"\naddress = \"127.0.0.1:0\"\n\
         cluster = \"web\"\n\n[cluster.web]\nstrategy = \"round_robin\"\nendpoints = [\"{}\", \"{}\"]\n",
        a.address(),
        b.address()
    );
    let mut gateway = start(&["serve", &file("web.toml", &text)]);
    let line = gateway.line("listening on ");
    assert!(line.ends_with(" (web)"), "{line}");
    let address = line.trim_end_matches(" (web)").parse().expect("an address");
    let admin = gateway.address("admin on ");
    eventually("it is ready", || get(admin, "/readyz").status == 200);
    for _ in 0..20 {
        let answer = get(address, "/any?thing=1");
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"));
        assert!(
            answer
                .field("x-request-id")
                .is_some_and(|id| !id.is_empty())
        );
    }
    assert_eq!(a.count() + b.count(), 20);
    assert!(
        a.count() > 5 && b.count() > 5,
        "{} {}",
        a.count(),
        b.count()
    );
    gateway.signal("TERM");
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.assert_calm();
}

#[test]
fn flags_become_a_gateway_and_weights_count() {
    let (a, b) = (Upstream::ok("ok\n"), Upstream::ok("ok\n"));
    let (heavy, light) = (format!("{},weight=3", a.address()), b.address().to_string());
    let mut gateway = start(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--to",
        &heavy,
        "--to",
        &light,
        "--strategy",
        "weighted_round_robin",
        "--workers",
        "1",
    ]);
    let address = gateway.address("listening on ");
    for _ in 0..40 {
        assert_eq!(get(address, "/").status, 200);
    }
    assert_eq!((a.count(), b.count()), (30, 10));
    gateway.signal("INT");
    assert_eq!(gateway.wait().code, Some(0));
}

#[test]
fn a_busy_port_is_named() {
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = busy.local_addr().expect("bound").to_string();
    let ended = run(&["serve", "--listen", &address, "--to", "127.0.0.1:1"]);
    let line = ended.only_line(1);
    assert!(
        line.contains(&address) && line.contains("already in use"),
        "{line}"
    );

    let text = format!(
        "[[listener]]\nname = \"front\"\naddress = \"{address}\"\ncluster = \"c\"\n[cluster.c]\nendpoints = []\n"
    );
    let ended = run(&["serve", &file("busy.toml", &text)]);
    let last = ended.stderr.lines().last().expect("a line");
    assert_eq!(ended.code, Some(1));
    assert!(
        last.contains("listener \"front\" cannot listen on") && last.contains(&address),
        "{last}"
    );

    let ended = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--to",
        "127.0.0.1:1",
        "--admin",
        &address,
    ]);
    assert!(ended.only_line(1).contains("admin cannot listen on"));
}

#[test]
fn a_request_in_flight_outlives_the_signal() {
    let gate = Gate::new();
    let backend = held(&gate);
    let to = backend.address().to_string();
    let Served {
        mut gateway,
        address,
        admin,
    } = serve(&["--to", &to]);
    let request = std::thread::spawn(move || get(address, "/"));
    eventually("the backend has it", || backend.count() == 1);
    gateway.signal("TERM");
    eventually("it is no longer ready", || {
        get(admin, "/readyz").status == 503
    });
    assert_eq!(get(admin, "/healthz").status, 200);
    assert!(gateway.is_running());
    gate.open();
    assert_eq!(request.join().expect("no panic").status, 200);
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.assert_calm();
}

/// A full disk under the log, or a reader of it that is gone, must not end anything else.
#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let config = file(
        "loud.toml",
        "[admin]\naddress = \"127.0.0.1:0\"\n[log]\nlevel = \"debug\"\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n\
         [cluster.web]\nendpoints = [\"127.0.0.1:1\"]\n",
    );
    let stderr = full.expect("Linux has it").into();
    let mut gateway = support::start_logging_to(stderr, &["serve", &config]);
    let address = gateway.address("listening on ");
    for _ in 0..3 {
        assert_eq!(get(address, "/").status, 502);
    }
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code, Some(0));
}

/// G10: one request that never ends keeps the process no longer than it was given, and that is no
/// failure of the process.
#[test]
fn g10_the_deadline_of_a_drain_is_hard() {
    let backend = held(&Gate::new());
    let text = format!(
        "[runtime]\ndrain_timeout = \"500ms\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"c\"\n\
         [cluster.c]\nendpoints = [\"{}\"]\n",
        backend.address()
    );
    let mut gateway = start(&["serve", &file("deadline.toml", &text)]);
    let address = gateway.address("listening on ");
    let mut client = RawClient::sending(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    eventually("the backend has it", || backend.count() == 1);
    gateway.signal("TERM");
    client.expect_end();
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("drain_timeout"), "{ended:?}");
    ended.assert_calm();
}

#[test]
fn a_second_signal_ends_at_once() {
    let backend = held(&Gate::new());
    let to = backend.address().to_string();
    let Served {
        gateway,
        address,
        admin,
    } = serve(&["--to", &to]);
    let _unanswered = RawClient::sending(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    eventually("the backend has it", || backend.count() == 1);
    gateway.signal("INT");
    eventually("it drains", || get(admin, "/readyz").status == 503);
    gateway.signal("INT");
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    ended.assert_calm();
}

/// A file that has no end, such as one of a mount that hangs, is given up at the end.
#[test]
fn a_file_that_is_read_for_ever_holds_up_no_end() {
    let text = "[[listener]]\nname = \"web\"\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n[cluster.web]\nendpoints = []\n";
    let path = file("endless.toml", text);
    let mut gateway = start(&["serve", &path]);
    gateway.line("listening on ");
    std::fs::remove_file(&path).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    // Nobody can open it so before somebody reads it.
    let mut open = std::fs::OpenOptions::new();
    open.write(true).custom_flags(NON_BLOCKING);
    let mut held = None;
    eventually("it is read", || {
        held = open.open(&path).ok();
        held.is_some()
    });
    gateway.signal("TERM");
    let ended = gateway.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    drop(held);
}

#[test]
fn without_an_endpoint_to_choose_the_reason_is_told_and_the_gateway_stays() {
    let text = "[runtime]\ndrain_timeout = \"1s\"\n[[listener]]\naddress = \"127.0.0.1:0\"\n\
                cluster = \"c\"\n[cluster.c]\nendpoints = ";
    let zeroes =
        "[{ address = \"127.0.0.1:1\", weight = 0 }, { address = \"127.0.0.1:2\", weight = 0 }]";
    for endpoints in [zeroes, "[]"] {
        let mut gateway = start(&["serve", &file("none.toml", &format!("{text}{endpoints}\n"))]);
        let address = gateway.address("listening on ");
        for _ in 0..3 {
            let answer = get(address, "/");
            assert_eq!(answer.status, 503, "{answer:?}");
            let status = answer.field("proxy-status").expect("a reason");
            assert!(status.contains("error=destination_unavailable"), "{status}");
            assert!(status.contains("details="), "the reason is told: {status}");
            let body: serde_json::Value = serde_json::from_str(&answer.text()).expect("JSON");
            assert_eq!(body["error"], "destination_unavailable");
            assert_eq!(body["cluster"], "c");
        }
        assert!(gateway.is_running());
        gateway.signal("TERM");
        let ended = gateway.wait();
        assert_eq!(ended.code, Some(0));
        ended.assert_calm();
    }
}

#[test]
fn the_log_is_as_the_file_says() {
    let text = "[runtime]\ndrain_timeout = \"1s\"\n[log]\nformat = \"json\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"c\"\n\
                [cluster.c]\nendpoints = [\"127.0.0.1:1\"]\n";
    let mut gateway = start(&["serve", &file("log.toml", text)]);
    gateway.line("listening on ");
    gateway.signal("TERM");
    let ended = gateway.wait();
    assert!(!ended.stderr.is_empty());
    for line in ended.stderr.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(line["level"].is_string(), "{line}");
    }
}
