//! `evenkeel explain` and `evenkeel replay`, on a gateway as users run it.

mod support;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use evenkeel_testkit::{RawClient, Upstream, eventually};
use serde_json::Value;
use support::{file, run, start};

fn ask(address: SocketAddr, id: &str) {
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nx-request-id: {id}\r\n\r\n");
    let response = RawClient::sending(address, request).response();
    assert_eq!(response.status, 200);
}

/// A gateway before `a`, and `b` that is drained, with a log of all decisions.
fn config(a: &Upstream, b: &Upstream) -> String {
    format!(
        r#"
[admin]
address = "127.0.0.1:0"
[log]
decision = {{ path = "decisions.jsonl", sample = 1.0 }}
[[listener]]
address = "127.0.0.1:0"
cluster = "web"
[cluster.web]
endpoints = [{{ id = "a", address = "{}" }}, {{ id = "b", address = "{}", weight = 0 }}]
"#,
        a.address(),
        b.address()
    )
}

#[test]
fn a_request_is_explained_and_its_log_holds() {
    let (a, b) = (Upstream::ok("ok\n"), Upstream::ok("ok\n"));
    let config = config(&a, &b);
    let config = file("receipts.toml", &config);
    let log = Path::new(&config)
        .parent()
        .expect("a folder")
        .join("decisions.jsonl");
    let _ = fs::remove_file(&log);
    let mut gateway = start(&["serve", &config]);
    let address = gateway.address("listening on ");
    let admin = format!("http://{}", gateway.address("admin on "));
    for number in 0..20 {
        ask(address, &format!("r-{number}"));
    }
    let explain = |arguments: &[&str]| {
        let flags = ["explain", "--admin", &admin];
        run(&[&flags, arguments].concat())
    };
    eventually("the receipt is there", || {
        explain(&["--request", "r-7"]).code == Some(0)
    });
    assert_explained(&explain);
    awaited(address, &explain);
    // The whole log, 0.5 s later at most.
    let lines = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    eventually("the log is whole", || lines() == 23);
    drop(gateway);
    verified(&log);
}

/// A request of 20, a dry run, and one that never came.
fn assert_explained(explain: &dyn Fn(&[&str]) -> support::Finished) {
    let told = explain(&["--request", "r-7"]).stdout;
    assert!(
        told.starts_with("request r-7 in cluster web, try 1, at "),
        "{told}"
    );
    assert!(told.contains("\na was chosen by least_request"), "{told}");
    let aside = "\nnot b: it is drained, or its weight is 0\n";
    assert!(told.contains(aside), "{told}");
    assert!(told.contains("\nit ended with 200 after "), "{told}");
    let dry = explain(&["--cluster", "web", "--key", "k"]).stdout;
    assert!(
        dry.contains("\nnot b: it is drained, or its weight is 0\n"),
        "{dry}"
    );
    let json = explain(&["--request", "r-7", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["chosen"], "a");
    let missing = explain(&["--request", "nobody"]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains(
            "there is no receipt of the request \"nobody\": all are kept, so it never came"
        ),
        "{}",
        missing.stderr
    );
}

/// The receipt of a request that somebody waits for.
fn awaited(address: SocketAddr, explain: &dyn Fn(&[&str]) -> support::Finished) {
    let (to, send) = (
        address.to_string(),
        "import http.client as h, sys; c = h.HTTPConnection(sys.argv[1]); c.request('GET', '/pay/7'); c.getresponse().read()",
    );
    let wanted = "path^=/pay && status=200";
    let next_command = ["--", "python3", "-c", send, &to];
    let next = [&["--cluster", "web", "--next", wanted], &next_command[..]].concat();
    let next = explain(&next);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert!(
        next.stdout.contains("\na was chosen by least_request"),
        "{}",
        next.stdout
    );
    let other = [
        &["--cluster", "web", "--next", "path=/no"],
        &next_command[..],
    ]
    .concat();
    let other = explain(&other);
    assert_eq!(other.code, Some(1));
    for said in [
        "waiting for a request with path=/no (Ctrl-C ends)",
        "its request was not like this: path=/no",
    ] {
        assert!(other.stderr.contains(said), "{}", other.stderr);
    }
    let wrong = explain(&["--cluster", "web", "--next", "pay"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("is not a condition like path^=/pay"),
        "{}",
        wrong.stderr
    );
}

/// The log holds, and does not once a digit is another one.
fn verified(log: &Path) {
    let path = log.to_str().expect("a text");
    let right = run(&["replay", path, "--verify"]);
    assert_eq!(right.code, Some(0), "{}", right.stderr);
    assert!(
        right.stdout.contains("least_request         22       0"),
        "{}",
        right.stdout
    );
    let text = fs::read_to_string(log).expect("a log");
    let at = text.rfind("\"in_flight\":0").expect("a load");
    let mut changed = text.into_bytes();
    changed[at + 12] = b'3';
    fs::write(log, changed).expect("written");
    let wrong = run(&["replay", path, "--verify", "--format", "json"]);
    assert_eq!(wrong.code, Some(4), "{}", wrong.stdout);
    assert!(
        wrong.stderr.contains("1 of 22 decisions differ"),
        "{}",
        wrong.stderr
    );
    let report: Value = serde_json::from_str(&wrong.stdout).expect("JSON");
    assert_eq!(
        (&report["decisions"], &report["differ"]),
        (&22.into(), &1.into())
    );
    assert_eq!(report["differences"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_is_no_log_is_told() {
    let none = run(&["replay", "/nowhere/decisions.jsonl", "--verify"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("cannot be read"), "{}", none.stderr);
    let empty = file("empty.jsonl", "");
    let empty = run(&["replay", &empty, "--verify"]);
    assert_eq!(empty.code, Some(1));
    assert!(
        empty.stderr.contains("there is no decision in"),
        "{}",
        empty.stderr
    );
    let other = file("other.jsonl", "{\"a\": 1}\n");
    let other = run(&["replay", &other, "--verify"]);
    assert_eq!(other.code, Some(4));
}
