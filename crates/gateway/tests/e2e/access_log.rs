//! The access log: a whole line for each request, with what really happened to it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_config::{AccessFormat, AccessLog, Capacity, Peak};
use evenkeel_core::{Nanos, QueuePolicy};
use evenkeel_testkit::{Act, Answer, Gate, Gateway, RawClient, Refusing, Upstream, eventually};
use serde_json::Value;

use crate::{GET, ask, post, together};

/// A folder for logs that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("evenkeel-access-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// An access log in it.
    fn log(&self) -> AccessLog {
        AccessLog {
            path: self.file("access.jsonl"),
            ..AccessLog::default()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whoever looks for it finds it empty at worst.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The lines of a file so far, each whole and an object.
fn lines(file: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "whole lines only");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// How many lines a file has so far; the last ones may be about to be written.
fn written(file: &PathBuf) -> usize {
    let text = fs::read(file).unwrap_or_default();
    text.iter().filter(|&&byte| byte == b'\n').count()
}

fn logged(file: &PathBuf, count: usize) -> Vec<Value> {
    eventually("the lines are there", || written(file) >= count);
    let lines = lines(file);
    assert_eq!(lines.len(), count, "{lines:?}");
    lines
}

#[test]
fn a_line_tells_what_was_asked_and_answered() {
    let folder = Folder::new("one");
    let upstream = Upstream::echo();
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.log.access = Some(folder.log());
    });
    let response = ask(
        gateway.address(),
        "POST /x?y=1 HTTP/1.1\r\nHost: a.example\r\nx-request-id: my-id\r\n\
         user-agent: \"odd\" {}\t\r\nreferer: http://r/\r\ncontent-length: 4\r\n\r\nbody",
    );
    assert_eq!(response.text(), "body");
    let line = &logged(&folder.file("access.jsonl"), 1)[0];
    for (key, value) in [
        ("request_id", "my-id"),
        ("listener", "in"),
        ("client", "127.0.0.1"),
        ("method", "POST"),
        ("path", "/x?y=1"),
        ("protocol", "HTTP/1.1"),
        ("host", "a.example"),
        ("user_agent", "\"odd\" {}"),
        ("referer", "http://r/"),
        ("cluster", "web"),
        ("endpoint", "a"),
        ("priority", "default"),
    ] {
        assert_eq!(line[key], value, "{key} of {line}");
    }
    for (key, value) in [("status", 200), ("bytes_in", 4), ("bytes_out", 4)] {
        assert_eq!(line[key], value, "{key} of {line}");
    }
    assert!(line["error"].is_null() && line["error_source"].is_null());
    let time = line["time"].as_str().expect("a time");
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
    let attempt = &line["attempts"][0];
    let span = |value: &Value| value.as_f64().expect("a number");
    assert!(
        span(&attempt["connect_ms"]) > 0.0,
        "it was a new connection"
    );
    assert!(span(&line["queue_ms"]) <= span(&line["first_byte_ms"]));
    assert!(span(&attempt["connect_ms"]) <= span(&line["first_byte_ms"]));
    assert!(span(&line["first_byte_ms"]) <= span(&line["total_ms"]));
}

/// Each try has its endpoint, its end and its times.
#[test]
fn every_try_is_in_the_line() {
    let folder = Folder::new("tries");
    let (good, busy) = (
        Upstream::ok("fine"),
        Upstream::answering(|_| Answer::status(503, "busy")),
    );
    let refusing = Refusing::new();
    let endpoints = [
        refusing.endpoint("refuses"),
        busy.endpoint("busy"),
        good.endpoint("good"),
    ];
    let gateway = Gateway::with(endpoints, |config| {
        config.log.access = Some(folder.log());
        config.clusters[0].retry.attempts = 3;
        config.clusters[0].retry.budget.ratio = 1.0;
        config.clusters[0].retry.budget.per_second = 1000;
    });
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..20 {
        client.send(GET);
        assert_eq!(client.response().text(), "fine");
    }
    let lines = logged(&folder.file("access.jsonl"), 20);
    let mut retried = 0;
    for line in &lines {
        assert_eq!(
            (&line["status"], &line["endpoint"]),
            (&200.into(), &"good".into())
        );
        assert!(line["error"].is_null(), "{line}");
        let attempts = line["attempts"].as_array().expect("tries");
        retried += attempts.len() - 1;
        attempts.iter().for_each(assert_attempt);
    }
    assert!(retried > 0, "at least one went elsewhere first");
    let failures = gateway.endpoint("refuses").totals.failures;
    assert_eq!(retried as u64, failures + busy.count() as u64);
}

/// A try says what its endpoint always does.
fn assert_attempt(attempt: &Value) {
    let (status, error) = (&attempt["status"], &attempt["error"]);
    match attempt["endpoint"].as_str() {
        Some("refuses") => {
            assert_eq!(error, "connection_refused");
            assert!(status.is_null() && attempt["first_byte_ms"].is_null());
        }
        Some("busy") => {
            assert_eq!(status, 503);
            assert!(error.is_null() && attempt["first_byte_ms"].is_f64());
        }
        Some("good") => assert_eq!(status, 200),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_have_their_source() {
    let folder = Folder::new("sources");
    let upstream = Upstream::answering(|request| match request.target() {
        "/broken" => {
            Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart").then(Act::Close)
        }
        "/silent" => Answer::close(),
        "/error" => Answer::status(500, "oh"),
        _ => Answer::never(),
    });
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.log.access = Some(folder.log());
    });
    let send = |text: &str| RawClient::sending(gateway.address(), text);
    let get = |path: &str| send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    let file = folder.file("access.jsonl");
    let check = |count: usize, expected: (u16, Option<&str>, Option<&str>)| {
        let line = logged(&file, count).pop().expect("a line");
        let told = (
            line["status"].as_u64().expect("a number") as u16,
            line["error"].as_str(),
            line["error_source"].as_str(),
        );
        assert_eq!(told, expected, "{line}");
    };
    get("/broken").rest();
    check(1, (200, Some("http_response_incomplete"), Some("endpoint")));
    assert_eq!(get("/silent").response().status, 502);
    check(2, (502, Some("connection_terminated"), Some("endpoint")));
    assert_eq!(get("/error").response().status, 500);
    check(3, (500, None, Some("endpoint")));
    let client = get("/hangs");
    eventually("it is on its way", || gateway.endpoint("a").in_flight == 1);
    client.reset();
    check(4, (499, Some("cancelled"), Some("client")));
    assert_eq!(
        send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
            .response()
            .status,
        400
    );
    check(5, (400, Some("http_request_error"), Some("client")));
    gateway.remove("a");
    assert_eq!(get("/").response().status, 503);
    check(6, (503, Some("destination_unavailable"), Some("gateway")));
}

/// What is refused, however much of it was read, has an id and a cluster, on either protocol.
#[test]
fn a_refused_request_is_told_by_its_id() {
    let folder = Folder::new("refused");
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].limits.body = Some(3);
        config.log.access = Some(folder.log());
    });
    let address = gateway.address();
    let refused = |text: &str| {
        let response = ask(address, text);
        response.field("x-request-id").expect("an id").to_owned()
    };
    let mut ids = vec![
        refused(
            "POST / HTTP/1.1\r\nHost: a\r\nx-request-id: mine\r\nContent-Length: 4\r\n\r\nbody",
        ),
        refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    ];
    assert_eq!(ids[0], "mine");
    crate::http2::block_on(async {
        let client = crate::http2::connect(address).await;
        let mut large = crate::http2::get("/");
        let value = "x".repeat(70 * 1024).parse().expect("a value");
        large.headers_mut().insert("x-large", value);
        let answer = crate::http2::ask(&client, large, Vec::new()).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 431);
        let id = answer.fields["x-request-id"].to_str().expect("text");
        ids.push(id.to_owned());
    });
    let lines = logged(&folder.file("access.jsonl"), 3);
    for (id, status) in ids.into_iter().zip([413, 400, 431]) {
        // Each worker hands over its lines when it has time.
        let line = lines.iter().find(|line| line["request_id"] == id);
        let line = line.unwrap_or_else(|| panic!("{id} is in no line: {lines:?}"));
        assert_eq!(line["status"], status, "{line}");
        assert_eq!(
            (&line["cluster"], &line["error"]),
            (&"web".into(), &"http_request_error".into())
        );
    }
    assert_eq!(upstream.bytes_received(), 0);
}

/// Both tries of a request that was hedged are told, and who was heard.
#[test]
fn the_one_that_was_heard_is_the_endpoint_of_a_hedged_request() {
    let folder = Folder::new("hedged");
    let (slow, quick) = (
        Upstream::answering(|_| Answer::never()),
        Upstream::answering(|_| Answer::ok("quick").after(Duration::from_millis(30))),
    );
    let endpoints = [slow.endpoint("slow"), quick.endpoint("quick")];
    let gateway = Gateway::with(endpoints, |config| {
        config.log.access = Some(folder.log());
        config.clusters[0].retry.hedge_after = Some(Duration::from_millis(10));
        config.clusters[0].retry.budget.per_second = 1000;
    });
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..6 {
        client.send(GET);
        assert_eq!(client.response().text(), "quick");
    }
    let mut overtaken = 0;
    for line in logged(&folder.file("access.jsonl"), 6) {
        assert_eq!(line["endpoint"], "quick", "{line}");
        for attempt in line["attempts"].as_array().expect("tries") {
            if attempt["endpoint"] == "slow" {
                assert_eq!(attempt["error"], "cancelled", "{line}");
                assert!(attempt["status"].is_null(), "{line}");
                overtaken += 1;
            }
        }
    }
    assert!(overtaken > 0, "one was asked first, or beside");
}

/// Lines of many connections and workers are whole, and none is lost when the gateway ends.
#[test]
fn every_request_has_one_line_under_load() {
    let folder = Folder::new("load");
    let upstream = Upstream::ok("x");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.log.access = Some(folder.log());
    });
    together(8, |thread| {
        let mut client = RawClient::connect(gateway.address());
        for number in 0..100 {
            client.send(format!(
                "GET / HTTP/1.1\r\nHost: a\r\nx-request-id: {thread}-{number}\r\n\r\n"
            ));
            assert_eq!(client.response().status, 200);
        }
    });
    drop(gateway);
    let lines = lines(&folder.file("access.jsonl"));
    let mut ids: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["request_id"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), lines.len()), (800, 800));
}

/// Whoever rotates moves the file away; lines go on in a new one, and none is lost.
#[test]
fn a_file_that_is_moved_away_is_replaced() {
    let folder = Folder::new("rotation");
    let upstream = Upstream::ok("x");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.log.access = Some(folder.log());
    });
    let (file, moved) = (folder.file("access.jsonl"), folder.file("access.1"));
    let done = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut client = RawClient::connect(gateway.address());
            let mut sent = 0;
            while !done.load(Ordering::Relaxed) {
                client.send(post("x"));
                client.response();
                sent += 1;
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        eventually("there are lines", || written(&file) > 0);
        fs::rename(&file, &moved).expect("moved");
        eventually("there are lines again", || written(&file) > 0);
        done.store(true, Ordering::Relaxed);
        client.join().expect("no panic")
    });
    drop(gateway);
    assert_eq!(lines(&file).len() + lines(&moved).len(), sent);
}

#[test]
fn a_sample_is_of_requests_by_their_id() {
    let folder = Folder::new("sample");
    let upstream = Upstream::ok("x");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        let log = folder.log();
        config.log.access = Some(AccessLog { sample: 0.5, ..log });
    });
    let mut client = RawClient::connect(gateway.address());
    for round in 0..2 {
        for number in 0..100 {
            let id = format!("GET / HTTP/1.1\r\nHost: a\r\nx-request-id: {number}\r\n\r\n");
            client.send(id);
            assert_eq!(client.response().status, 200, "{round}");
        }
    }
    drop(client);
    drop(gateway);
    let mut ids: Vec<String> = lines(&folder.file("access.jsonl"))
        .iter()
        .map(|line| line["request_id"].as_str().expect("an id").to_owned())
        .collect();
    assert!((60..140).contains(&ids.len()), "{}", ids.len());
    ids.sort_unstable();
    assert!(ids.chunks(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
}

#[test]
fn the_common_form_is_one_that_log_readers_know() {
    let folder = Folder::new("common");
    let upstream = Upstream::ok("hello");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        let log = folder.log();
        config.log.access = Some(AccessLog {
            format: AccessFormat::Common,
            ..log
        });
    });
    ask(
        gateway.address(),
        "GET /p HTTP/1.0\r\nHost: a\r\nUser-Agent: u\r\n\r\n",
    );
    drop(gateway);
    let text = fs::read_to_string(folder.file("access.jsonl")).expect("a file");
    let (front, rest) = text.split_once(" [").expect("a time");
    assert_eq!(front, "127.0.0.1 - -");
    let (time, rest) = rest.split_once("] ").expect("a time");
    assert!(time.len() == 26 && time.ends_with(" +0000"), "{time}");
    let start = "\"GET /p HTTP/1.0\" 200 5 \"-\" \"u\" request_id=\"";
    assert!(rest.starts_with(start), "{rest}");
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let folder = Folder::new("none");
    let mut config = evenkeel_testkit::config([]);
    config.log.access = Some(AccessLog {
        path: folder.file("missing/access.jsonl"),
        ..AccessLog::default()
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let started = evenkeel_gateway::Gateway::start(&config, 1);
    let error = runtime.expect("an event loop").block_on(started);
    let words = error.expect_err("no such folder").to_string();
    assert!(
        words.contains("of log.access cannot be opened") && words.contains("missing"),
        "{words}"
    );
}

/// A connection that switched has its line when it ends, with what went through it.
#[test]
fn a_tunnel_has_its_line_at_its_end() {
    let folder = Folder::new("tunnel");
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    let upstream = Upstream::answering(move |_| Answer::raw(format!("{switch}first")).echo());
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.log.access = Some(folder.log());
    });
    let mut client = RawClient::sending(
        gateway.address(),
        "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    );
    assert!(client.head().line.starts_with("HTTP/1.1 101 "));
    client.send("four");
    assert_eq!(client.take(9), b"firstfour");
    client.half_close();
    client.rest();
    let line = &logged(&folder.file("access.jsonl"), 1)[0];
    assert_eq!(
        (&line["status"], &line["endpoint"]),
        (&101.into(), &"a".into())
    );
    let bytes = (line["bytes_in"].as_u64(), line["bytes_out"].as_u64());
    assert_eq!(bytes, (Some(4), Some(9)), "{line}");
    assert!(line["attempts"][0]["error"].is_null(), "{line}");
}

/// A connection of a TCP listener has a line of its own, without what only requests have.
#[test]
fn a_passed_on_connection_has_its_line() {
    let folder = Folder::new("tcp");
    let upstream = crate::tcp::doing(Answer::raw("hello ").echo());
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].protocol = evenkeel_config::Protocol::Tcp;
        config.log.access = Some(folder.log());
    });
    let mut client = RawClient::sending(gateway.address(), "you");
    assert_eq!(client.take(9), b"hello you");
    client.half_close();
    client.rest();
    let file = folder.file("access.jsonl");
    let line = &logged(&file, 1)[0];
    for (key, value) in [("protocol", "tcp"), ("endpoint", "a"), ("cluster", "web")] {
        assert_eq!(line[key], value, "{key} of {line}");
    }
    for key in ["status", "method", "path", "host", "error", "error_source"] {
        assert!(line[key].is_null(), "{key} of {line}");
    }
    let bytes = (line["bytes_in"].as_u64(), line["bytes_out"].as_u64());
    assert_eq!(bytes, (Some(3), Some(9)), "{line}");
    gateway.remove("a");
    // It may be reset before the client knows that it is connected.
    let refused = std::net::TcpStream::connect(gateway.address());
    let line = &logged(&file, 2)[1];
    drop(refused);
    assert_eq!(line["error"], "destination_unavailable", "{line}");
    assert_eq!(line["error_source"], "gateway", "{line}");
}

/// A request at a time, and one that waits.
fn room_for_one() -> Capacity {
    Capacity {
        peak: Peak::Requests(1),
        queue: Some(QueuePolicy {
            size: 1,
            timeout: Nanos::from_secs(60),
        }),
        ..Capacity::default()
    }
}

/// Who waits for a slot has its wait in the line, and who is turned away has why.
#[test]
fn waiting_and_being_turned_away_are_in_the_line() {
    let folder = Folder::new("queue");
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let gateway = Gateway::with([upstream.endpoint("a").with_capacity(1)], |config| {
        config.log.access = Some(folder.log());
        config.clusters[0].capacity = Some(room_for_one());
    });
    let get = |id: &str| format!("GET / HTTP/1.1\r\nHost: a\r\nx-request-id: {id}\r\n\r\n");
    let mut holder = RawClient::sending(gateway.address(), get("holder"));
    eventually("the slot is held", || upstream.count() == 1);
    let mut waits = RawClient::sending(gateway.address(), get("waits"));
    eventually("one waits", || gateway.cluster().queue_length() == 1);
    assert_eq!(ask(gateway.address(), get("shed")).status, 503);
    let waited = Duration::from_millis(50);
    thread::sleep(waited);
    gate.open();
    assert_eq!(holder.response().status, 200);
    assert_eq!(waits.response().status, 200);
    let lines = logged(&folder.file("access.jsonl"), 3);
    let of = |id: &str| {
        let line = lines.iter().find(|line| line["request_id"] == id);
        line.unwrap_or_else(|| panic!("no line of {id}: {lines:?}"))
    };
    assert_waited(of("waits"), 50.0);
    assert_shed(of("shed"));
    let queue_ms = of("holder")["queue_ms"].as_f64();
    assert!(queue_ms < Some(50.0), "{}", of("holder"));
}

fn assert_waited(waits: &Value, least_ms: f64) {
    let span = |line: &Value, key: &str| line[key].as_f64().expect("a number");
    assert!(span(waits, "queue_ms") >= least_ms, "{waits}");
    assert!(
        span(waits, "total_ms") >= span(waits, "first_byte_ms"),
        "{waits}"
    );
    assert!(
        span(waits, "first_byte_ms") >= span(waits, "queue_ms"),
        "{waits}"
    );
    assert_eq!(
        waits["attempts"].as_array().map(Vec::len),
        Some(1),
        "{waits}"
    );
    assert_eq!(
        (&waits["status"], &waits["endpoint"]),
        (&200.into(), &"a".into())
    );
}

fn assert_shed(shed: &Value) {
    for (key, value) in [
        ("error", "connection_limit_reached"),
        ("error_source", "gateway"),
        ("cluster", "web"),
        ("priority", "default"),
    ] {
        assert_eq!(shed[key], value, "{key} of {shed}");
    }
    assert_eq!(shed["status"], 503, "{shed}");
    assert!(shed["endpoint"].is_null(), "{shed}");
    assert_eq!(shed["attempts"], Value::Array(Vec::new()), "{shed}");
}
