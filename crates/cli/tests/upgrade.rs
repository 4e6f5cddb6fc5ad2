//! Another process in the place of one that serves: no connection is refused, nothing is forgotten.

mod support;

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use evenkeel_testkit::{Answer, Gate, RawClient, Upstream, eventually};
use serde_json::Value;
use support::{Running, ask, file, get, start_logging_to};

const GET: &str = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Processes that follow each other.
struct Line {
    first: Running,
    log: String,
    pid: u32,
    upgrades: usize,
    address: SocketAddr,
    admin: SocketAddr,
}

impl Line {
    /// Starts the first one with what `start` takes.
    fn begin(config: &str, start: impl FnOnce(Stdio, &[&str]) -> Running) -> Self {
        let log = format!("{config}.log");
        let stderr = File::create(&log).expect("a file");
        let mut first = start(stderr.into(), &["serve", config]);
        let line = first.line("listening on ");
        Self {
            address: line.trim_end_matches(" (web)").parse().expect("an address"),
            admin: first.address("admin on "),
            pid: first.pid(),
            upgrades: 0,
            first,
            log,
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.pid.to_string()])
            .status();
        assert!(sent.expect("kill is there").success());
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("its log")
    }

    /// Waits for the next process to have taken over.
    fn follow(&mut self) {
        self.upgrades += 1;
        let taken = |log: &str| -> Option<u32> {
            let lines = log.lines().filter(|line| line.contains("has taken over"));
            let line = lines.into_iter().nth(self.upgrades - 1)?;
            let word = line.split("process ").nth(1)?.split(' ').next()?;
            Some(word.parse().expect("a number"))
        };
        let mut next = None;
        eventually("the next process has taken over", || {
            next = taken(&self.log());
            next.is_some()
        });
        let old = std::mem::replace(&mut self.pid, next.expect("it was there a line ago"));
        if self.upgrades == 1 {
            assert_eq!(self.first.code(), Some(0), "{}", self.log());
        } else {
            eventually("the old process ends", || !runs(old));
        }
        assert!(runs(self.pid));
    }

    fn upgrade(&mut self) {
        self.signal("USR2");
        self.follow();
    }

    /// Asks the API.
    fn api(&self, path: &str) -> Value {
        let answer = get(self.admin, path);
        serde_json::from_str(&answer.text()).unwrap_or_else(|_| panic!("{path}: {answer:?}"))
    }

    fn change(&self, method: &str, path: &str, body: &str) {
        let length = body.len();
        let answer = ask(
            self.admin,
            &format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            ),
        );
        assert!((200..300).contains(&answer.status), "{answer:?}");
    }

    /// The sum of the series that begin so.
    fn sum(&self, beginning: &str) -> f64 {
        let page = get(self.admin, "/metrics").text();
        let series = page.lines().filter(|line| line.starts_with(beginning));
        let values = series.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The first one is ended by its own guard.
        if self.upgrades > 0 && runs(self.pid) {
            self.signal("KILL");
        }
    }
}

/// Whether there is a process of that number that has not ended.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z')
}

fn config(name: &str, more: &str, endpoints: &[(&str, &Upstream)]) -> String {
    let endpoints = endpoints.iter().map(|(id, to)| {
        let address = to.address();
        format!("{{ id = \"{id}\", address = \"{address}\" }}")
    });
    let endpoints: Vec<String> = endpoints.collect();
    let text = format!(
        "[admin]\naddress = \"127.0.0.1:0\"\n[runtime]\nworkers = 2\ndrain_timeout = \"3s\"\n\
         [[listener]]\nname = \"web\"\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n\
         [cluster.web]\nendpoints = [{}]\n{more}\n",
        endpoints.join(", ")
    );
    file(name, &text)
}

/// Clients that send fifty requests a second each, until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    fn on(address: SocketAddr) -> Self {
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let clients = (0..4).map(|number| {
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            std::thread::spawn(move || {
                let keeps = number % 2 == 0;
                let mut client = RawClient::connect(address);
                while !stop.load(Ordering::Relaxed) {
                    client.send(GET);
                    let answer = client.response();
                    assert_eq!(answer.status, 200, "{answer:?}");
                    answered.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(20));
                    if !keeps || answer.says_close() {
                        client = RawClient::connect(address);
                    }
                }
            })
        });
        let clients = clients.collect();
        Self {
            stop,
            answered,
            clients,
        }
    }

    /// How many were answered in all.
    fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("every request is answered with 200");
        }
        self.answered.load(Ordering::Relaxed)
    }
}

#[test]
fn ten_upgrades_under_load_lose_nothing() {
    let (a, b) = (Upstream::ok("ok\n"), Upstream::ok("ok\n"));
    let path = config("load.toml", "", &[("a", &a), ("b", &b)]);
    let mut line = Line::begin(&path, start_logging_to);
    let load = Load::on(line.address);
    for _ in 0..10 {
        line.upgrade();
        let before = load.answered.load(Ordering::Relaxed);
        eventually("requests are answered", || {
            load.answered.load(Ordering::Relaxed) > before + 10
        });
    }
    let answered = load.end();
    assert_eq!(a.count() + b.count(), answered, "each was sent once");
    eventually("all are counted, whichever process answered them", || {
        let counted = line.sum("evenkeel_requests_total{cluster=\"web\",endpoint");
        counted as usize == answered
    });
    let log = line.log();
    assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
    line.signal("TERM");
    eventually("the last one ends", || !runs(line.pid));
}

/// What the API says of the cluster, and how many requests were timed.
fn seen(line: &Line) -> (Value, f64) {
    let timed = "evenkeel_request_duration_seconds_count";
    (line.api("/api/v1/clusters/web"), line.sum(timed))
}

/// A cluster of four of which operators changed most, and one that is ejected.
fn changed(line: &Line, good: &Upstream) {
    let base = "/api/v1/clusters/web";
    eventually("b is ejected", || {
        let _ = get(line.address, "/");
        let endpoints = line.api(&format!("{base}/endpoints"));
        let mut endpoints = endpoints.as_array().into_iter().flatten();
        endpoints.any(|it| it["id"] == "b" && it["health"] == "ejected")
    });
    let of = |id: &str| format!("{base}/endpoints/{id}");
    line.change("PATCH", &of("c"), "{\"admin\":\"draining\"}");
    line.change("PATCH", &of("d"), "{\"weight\":7}");
    let added = format!("{{\"id\":\"e\",\"address\":\"{}\"}}", good.address());
    line.change("POST", &format!("{base}/endpoints"), &added);
    let strategy = "{\"name\":\"least_request\",\"choices\":3}";
    line.change("PUT", &format!("{base}/strategy"), strategy);
}

/// All that is told of endpoints and does not change by itself is the same.
fn assert_same(old: &Value, new: &Value) {
    let list = |of: &Value| of.as_array().cloned().expect("a list");
    assert_eq!((list(old).len(), list(new).len()), (5, 5));
    for (old, new) in list(old).iter().zip(&list(new)) {
        for field in [
            "id",
            "address",
            "weight",
            "admin",
            "health",
            "state",
            "since",
            "requests",
            "failures",
            "latency_ms",
        ] {
            assert_eq!(new[field], old[field], "{field} of {old} and {new}");
        }
        // It warms up on and on.
        let weight = |it: &Value| it["effective_weight"].as_f64().expect("a number");
        assert!(weight(new) >= weight(old), "{old} {new}");
    }
}

/// What is known of endpoints and what operators changed is as it was, down to since when.
#[test]
fn an_upgrade_forgets_nothing() {
    let (good, bad) = (
        Upstream::ok("ok\n"),
        Upstream::answering(|_| Answer::reset()),
    );
    let more = "strategy = \"round_robin\"\n[cluster.web.outlier]\nbase_ejection = \"300s\"\n";
    let endpoints = [("a", &good), ("b", &bad), ("c", &good), ("d", &good)];
    let path = config("known.toml", more, &endpoints);
    let mut line = Line::begin(&path, start_logging_to);
    changed(&line, &good);
    for _ in 0..20 {
        assert_eq!(get(line.address, "/").status, 200);
    }
    // The duration of the last request may be counted a moment after its answer.
    let mut before = seen(&line);
    eventually("all is counted", || {
        let last = std::mem::replace(&mut before, seen(&line));
        last == before
    });
    line.upgrade();
    let after = seen(&line);
    for (name, old) in before.0.as_object().expect("a cluster") {
        match &**name {
            "endpoints" => assert_same(old, &after.0[name]),
            _ => assert_eq!(&after.0[name], old, "{name}"),
        }
    }
    assert_eq!(after.1, before.1);
    let ejections = line.sum("evenkeel_ejections_total{cluster=\"web\",endpoint=\"b\"");
    assert!(ejections >= 1.0, "{ejections}");
    let requests = bad.count();
    for _ in 0..20 {
        assert_eq!(get(line.address, "/").status, 200);
    }
    assert_eq!(bad.count(), requests, "b is ejected in the new process too");
}

/// Requests that began before the upgrade end in the old process, and are counted by the new one.
#[test]
fn what_has_begun_is_finished() {
    let gate = Gate::new();
    let held = gate.clone();
    let backend = Upstream::answering(move |_| Answer::ok("late\n").behind(&held));
    let mut line = Line::begin(
        &config("begun.toml", "", &[("a", &backend)]),
        start_logging_to,
    );
    let mut client = RawClient::sending(line.address, GET);
    eventually("the backend has it", || backend.count() == 1);
    line.signal("USR2");
    eventually("another one has taken over", || {
        line.log().contains("has taken over")
    });
    assert_eq!(get(line.admin, "/healthz").status, 200);
    assert!(line.first.is_running());
    gate.open();
    let answer = client.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "late\n"));
    assert!(answer.says_close());
    line.follow();
    assert_eq!(get(line.address, "/").status, 200);
    eventually("both are counted", || {
        line.sum("evenkeel_requests_total{cluster=\"web\",endpoint=\"a\"") as usize == 2
    });
}

/// A new program that does not work, and a file that it does not take, change nothing.
#[test]
fn a_bad_upgrade_changes_nothing_and_says_why() {
    let backend = Upstream::ok("ok\n");
    let path = config("bad.toml", "", &[("a", &backend)]);
    let good = fs::read_to_string(&path).expect("it was written");
    let program = format!("{path}.program");
    fs::copy(env!("CARGO_BIN_EXE_evenkeel"), &program).expect("room for it");
    let start =
        |stderr: Stdio, arguments: &[&str]| support::start_program(&program, stderr, arguments);
    let mut line = Line::begin(&path, start);
    let fails = |line: &Line, times: usize, why: &str| {
        line.signal("USR2");
        let said = || line.log().matches("the upgrade failed").count();
        eventually("it has failed", || said() == times);
        let log = line.log();
        let last = log
            .lines()
            .rfind(|line| line.contains("the upgrade failed"));
        assert!(last.is_some_and(|line| line.contains(why)), "{why}: {log}");
        assert_eq!(get(line.address, "/").status, 200);
        assert!(runs(line.pid));
    };
    let replace = |script: &str, mode: u32| {
        let draft = format!("{program}.draft");
        fs::write(&draft, script).expect("written");
        fs::set_permissions(&draft, fs::Permissions::from_mode(mode)).expect("ours");
        fs::rename(&draft, &program).expect("renamed");
    };
    replace("#!/bin/sh\nexit 1\n", 0o755);
    fails(&line, 1, "it ended before it was ready (exit status: 1");
    replace("#!/bin/sh\nexit 0\n", 0o755);
    fails(&line, 2, "exit status: 0");
    replace("not a program", 0o644);
    fails(&line, 3, "cannot start");
    fs::remove_file(&program).expect("it was there");
    fails(&line, 4, "cannot start");

    // The program is well again, and the file is not. It would be noticed, so that comes last.
    fs::copy(env!("CARGO_BIN_EXE_evenkeel"), format!("{program}.draft")).expect("room for it");
    fs::rename(format!("{program}.draft"), &program).expect("renamed");
    fs::write(&path, format!("{good}[cluster.web.retry]\nattemps = 2\n")).expect("written");
    fails(&line, 5, "invalid, missing or unreadable configuration");
    fs::write(&path, good).expect("written");
    line.upgrade();
    assert_eq!(get(line.address, "/").status, 200);
}

/// A socket that the system's manager holds is used, also by the process after the first one, and the manager
/// is told which process is the main one.
#[test]
fn sockets_of_the_manager_are_taken() {
    let backend = Upstream::ok("ok\n");
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound");
    let path = config("active.toml", "", &[("a", &backend)]);
    let text = fs::read_to_string(&path).expect("it was written");
    let bound = format!("name = \"web\"\naddress = \"{address}\"");
    let text = text.replace("name = \"web\"\naddress = \"127.0.0.1:0\"", &bound);
    fs::write(&path, text).expect("written");
    let manager = UnixDatagram::bind(format!("{path}.notify")).expect("a free path");
    let patience = Some(support::PATIENCE);
    manager.set_read_timeout(patience).expect("not zero");
    let hear = || {
        let mut bytes = [0; 200];
        let length = manager.recv(&mut bytes).expect("it is told something");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let start = |stderr: Stdio, arguments: &[&str]| {
        support::start_activated(socket.into(), &format!("{path}.notify"), stderr, arguments)
    };
    let mut line = Line::begin(&path, start);
    assert_eq!(line.address, address, "it would be busy otherwise");
    assert_eq!(hear(), "READY=1");
    assert_eq!(get(line.address, "/").status, 200);
    line.upgrade();
    let told = [hear(), hear()];
    let main = format!("MAINPID={}", line.pid);
    assert!(
        told.contains(&main) && told.contains(&"READY=1".to_owned()),
        "{told:?}"
    );
    assert_eq!(get(line.address, "/").status, 200);
}
