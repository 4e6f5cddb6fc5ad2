//! Receipts: every decision can be explained, and made again from its line in the log.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_config::{Capacity, Cluster, Config, DecisionLog, KeySource, Peak};
use evenkeel_core::strategy::registry;
use evenkeel_core::{Admin, Endpoint, Nanos, QueuePolicy};
use evenkeel_gateway::{OperatorChanges, Wanted};
use evenkeel_receipts::Verifier;
use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Refusing, Upstream, eventually};
use serde_json::Value;

use crate::{GET, ask, together};

/// A folder for a log that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("evenkeel-receipts-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn log(&self) -> PathBuf {
        self.0.join("decisions.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whoever looks for it finds it empty at worst.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Receipts of that share of the requests.
fn sampled(config: &mut Config, sample: f64) {
    config.log.decision = Some(DecisionLog {
        sample,
        header: Some("x-why".into()),
        ..DecisionLog::default()
    });
}

/// A request of that id.
fn request(id: &str) -> String {
    format!("GET /a HTTP/1.1\r\nHost: a.example\r\nx-request-id: {id}\r\nx-user: {id}\r\n\r\n")
}

/// The receipts of a request, once there are any.
fn receipts(gateway: &Gateway, id: &str) -> Vec<Value> {
    let all = gateway.control().receipts().expect("they are on");
    eventually("there are receipts", || !all.of_request(id).is_empty());
    let kept = all.of_request(id);
    let lines = kept.iter();
    lines
        .map(|kept| serde_json::from_str(&kept.line).expect("JSON"))
        .collect()
}

#[test]
fn every_try_of_a_sampled_request_has_a_receipt() {
    let (refusing, upstream) = (Refusing::new(), Upstream::ok("x"));
    let endpoints = [refusing.endpoint("a"), upstream.endpoint("b").with_tier(1)];
    let gateway = Gateway::with(endpoints, |config| sampled(config, 1.0));
    assert_eq!(ask(gateway.address(), request("r-1")).status, 200);
    let [first, second] = &receipts(&gateway, "r-1")[..] else {
        panic!("two tries");
    };
    assert_eq!(
        (&first["chosen"], &first["attempt"]),
        (&"a".into(), &1.into())
    );
    assert_eq!(first["outcome"]["error"], "connection_refused");
    assert_eq!(first["outcome"]["status"], Value::Null);
    assert_eq!(
        (&second["chosen"], &second["attempt"]),
        (&"b".into(), &2.into())
    );
    assert_eq!(second["outcome"]["status"], 200);
    assert_eq!(second["excluded"][0]["reason"], "tried");
    assert_eq!(second["fallback"], "tier");
    for receipt in [first, second] {
        assert_eq!(
            (&receipt["v"], &receipt["kind"]),
            (&1.into(), &"decision".into())
        );
        assert_eq!(
            (&receipt["cluster"], &receipt["strategy"]),
            (&"web".into(), &"least_request".into())
        );
        assert!(receipt["decision_ns"].as_u64().expect("measured") > 0);
        assert!(receipt["time"].as_str().expect("a text").ends_with('Z'));
        assert!(receipt["outcome"]["latency_ms"].as_f64().expect("a number") > 0.0);
    }
}

#[test]
fn what_went_wrong_has_a_receipt_always_and_the_rest_by_sample() {
    let upstream = Upstream::answering(|request| match request.field("x-user") {
        Some("bad") => Answer::status(500, "no"),
        _ => Answer::ok("yes"),
    });
    let gateway = Gateway::with([upstream.endpoint("a")], |config| sampled(config, 0.0));
    assert_eq!(ask(gateway.address(), request("good")).status, 200);
    assert_eq!(ask(gateway.address(), request("bad")).status, 500);
    let [bad] = &receipts(&gateway, "bad")[..] else {
        panic!("one try");
    };
    assert_eq!(bad["outcome"]["status"], 500);
    gateway.update("a", None, Some(Admin::Draining));
    assert_eq!(ask(gateway.address(), request("shed")).status, 503);
    let [shed] = &receipts(&gateway, "shed")[..] else {
        panic!("one decision");
    };
    assert_eq!(
        (&shed["chosen"], &shed["nobody"]),
        (&Value::Null, &"none_in_service".into())
    );
    assert_eq!(shed["outcome"]["status"], 503);
    assert_eq!(shed["outcome"]["error"], "destination_unavailable");
    let all = gateway.control().receipts().expect("they are on");
    assert!(all.of_request("good").is_empty());
    let wanted = Wanted {
        endpoint: Some("a"),
        limit: 10,
        ..Wanted::default()
    };
    assert_eq!(all.latest(wanted).len(), 1);
}

#[test]
fn a_request_may_ask_for_its_receipt() {
    let upstream = Upstream::ok("x");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| sampled(config, 0.0));
    let mut client = RawClient::connect(gateway.address());
    for id in ["plain", "asks", "plain-again"] {
        let asks = if id == "asks" {
            "X-Why: 1\r\n\r\n"
        } else {
            "\r\n"
        };
        client.send(request(id).replace("\r\n\r\n", &format!("\r\n{asks}")));
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(receipts(&gateway, "asks")[0]["chosen"], "a");
    let all = gateway.control().receipts().expect("they are on");
    assert!(all.of_request("plain").is_empty() && all.of_request("plain-again").is_empty());
}

#[test]
fn without_a_decision_log_nothing_is_taken_down() {
    let upstream = Upstream::ok("x");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.log.decision = None
    });
    assert_eq!(ask(gateway.address(), GET).status, 200);
    assert!(gateway.control().receipts().is_none());
}

/// How many decisions each strategy is verified by: more with `EVENKEEL_DECISIONS`.
fn decisions() -> usize {
    let wanted = std::env::var("EVENKEEL_DECISIONS").ok();
    wanted.map_or(2_000, |text| text.parse().expect("a number"))
}

/// Twelve endpoints in two tiers, some with few slots, and requests with keys.
fn crowded(cluster: &mut Cluster, strategy: &str, upstream: &Upstream) {
    let endpoint = |at: u16| {
        let endpoint = Endpoint::new(format!("e{at:02}"), upstream.address().to_string())
            .with_weight(1 + at % 3)
            .with_tier(u8::from(at > 8));
        match at % 2 {
            0 => endpoint.with_capacity(1),
            _ => endpoint,
        }
    };
    cluster.endpoints = (0..12).map(endpoint).collect();
    cluster.strategy = evenkeel_config::strategy_from_json(&Value::from(strategy)).expect("known");
    cluster.keys.sources = vec![KeySource::Header("x-user".into())];
    cluster.keys.policy.bounded_load = Some(1.25);
}

/// Changes the list, and reloads, for as long as there is load.
fn unrest(gateway: &Gateway, config: &Config, is_over: &AtomicBool) {
    let mut round = 0_u16;
    while !is_over.load(Ordering::Relaxed) {
        round = round.wrapping_add(1);
        let id = format!("e{:02}", round % 12);
        let admin = [Admin::Draining, Admin::Enabled, Admin::Disabled][usize::from(round) % 3];
        let (control, cluster) = (gateway.control(), gateway.cluster());
        let change = control.update(cluster, &id, Some(1 + round % 9), Some(admin));
        // Not every list has it.
        let _ = gateway.wait(change);
        if round.is_multiple_of(7) {
            let mut next = config.clone();
            next.clusters[0]
                .endpoints
                .truncate(6 + usize::from(round % 7));
            let changes = [OperatorChanges::Keep, OperatorChanges::Forget][usize::from(round % 2)];
            let reloaded = gateway.wait(gateway.control().reload(&next, changes));
            reloaded.expect("a configuration that is right");
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The log of as many decisions of a strategy, by two workers under load, with changes of the list,
/// reloads and full gates in between.
fn log_under_load(strategy: &str, count: usize) -> String {
    let folder = Folder::new(strategy);
    let upstream = Upstream::ok("x");
    let mut config = evenkeel_testkit::config([]);
    crowded(&mut config.clusters[0], strategy, &upstream);
    config.log.decision = Some(DecisionLog {
        path: Some(folder.log()),
        sample: 1.0,
        keep: 10,
        header: None,
    });
    let gateway = Gateway::start(&config);
    let (is_over, threads) = (AtomicBool::new(false), 8);
    std::thread::scope(|scope| {
        scope.spawn(|| unrest(&gateway, &config, &is_over));
        together(threads, |number| {
            let mut client = RawClient::connect(gateway.address());
            for at in 0..count.div_ceil(threads) {
                client.send(request(&format!("{number}-{at}")));
                client.response();
            }
        });
        is_over.store(true, Ordering::Relaxed);
    });
    drop(gateway);
    fs::read_to_string(folder.log()).expect("a log")
}

/// Zero of them differ.
#[test]
fn decisions_of_two_workers_under_load_are_made_again_from_their_log() {
    for strategy in registry::STRATEGIES {
        let log = log_under_load(strategy.name, decisions());
        let mut verifier = Verifier::new();
        for line in log.lines() {
            if let Err(difference) = verifier.line(line) {
                eprintln!("{difference}: {line}");
            }
        }
        let count = verifier.count();
        assert_eq!(count.differ, 0, "{}", strategy.name);
        assert!(
            count.decisions >= decisions() as u64,
            "{}: {count:?}",
            strategy.name
        );
        let [generations, broken] = verifier.snapshots();
        assert!(generations > 3 && broken == 0, "{generations} {broken}");
        assert!(log.contains("\"reason\":\"full\""), "{}", strategy.name);
    }
}

/// Somebody who waited has one receipt, and one that fails and waits again has a second: each of the decision
/// that something came of.
#[test]
fn who_waits_has_a_receipt_for_each_try() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let refusing = Refusing::new();
    let gateway = Gateway::with([upstream.endpoint("a").with_capacity(1)], |config| {
        sampled(config, 1.0);
        config.clusters[0].outlier = None;
        config.clusters[0].capacity = Some(Capacity {
            peak: Peak::Requests(1),
            queue: Some(QueuePolicy {
                size: 10,
                timeout: Nanos::from_secs(60),
            }),
            ..Capacity::default()
        });
    });
    let mut holder = RawClient::sending(gateway.address(), request("holder"));
    eventually("the slot is held", || upstream.count() == 1);
    // It finds no connection to b, and waits for a.
    gateway.add(refusing.endpoint("b").with_capacity(1));
    let mut waits = RawClient::sending(gateway.address(), request("waits"));
    eventually("one waits", || gateway.cluster().queue_length() == 1);
    gate.open();
    assert_eq!(holder.response().status, 200);
    assert_eq!(waits.response().status, 200);
    let kept = receipts(&gateway, "waits");
    let [first, second] = &kept[..] else {
        panic!("two receipts, not {kept:?}");
    };
    assert_eq!(
        (&first["chosen"], &first["attempt"]),
        (&"b".into(), &1.into()),
        "{first}"
    );
    assert_eq!(first["outcome"]["error"], "connection_refused");
    assert_eq!(
        (&second["chosen"], &second["attempt"], &second["fallback"]),
        (&"a".into(), &2.into(), &"queue".into()),
        "{second}"
    );
    assert_eq!(second["outcome"]["status"], 200);
}

/// A connection whose bytes are passed on has a receipt too, under the id that its line in the access log has.
#[test]
fn passed_on_connections_have_receipts() {
    let (refusing, upstream) = (
        Refusing::new(),
        crate::tcp::doing(Answer::raw("hello ").echo()),
    );
    let endpoints = [refusing.endpoint("a"), upstream.endpoint("b").with_tier(1)];
    let gateway = Gateway::with(endpoints, |config| {
        sampled(config, 1.0);
        config.listeners[0].protocol = evenkeel_config::Protocol::Tcp;
    });
    let mut client = RawClient::sending(gateway.address(), "you");
    assert_eq!(client.take(9), b"hello you");
    client.half_close();
    client.rest();
    let all = gateway.control().receipts().expect("they are on");
    let wanted = Wanted {
        limit: 10,
        ..Wanted::default()
    };
    eventually("there are two", || all.latest(wanted).len() == 2);
    let kept = all.latest(wanted);
    let lines: Vec<Value> = kept
        .iter()
        .rev()
        .map(|kept| serde_json::from_str(&kept.line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["request_id"], lines[1]["request_id"]);
    assert_eq!(lines[0]["request_id"].as_str().map(str::len), Some(32));
    assert_eq!(lines[0]["chosen"], "a");
    assert_eq!(lines[0]["outcome"]["error"], "connection_refused");
    assert_eq!(
        (&lines[1]["chosen"], &lines[1]["attempt"]),
        (&"b".into(), &2.into())
    );
    assert_eq!(lines[1]["outcome"]["status"], Value::Null);
    assert_eq!(lines[1]["outcome"]["error"], Value::Null);
    // Nobody takes it: it says so.
    gateway.update("a", None, Some(Admin::Disabled));
    gateway.update("b", None, Some(Admin::Disabled));
    drop(std::net::TcpStream::connect(gateway.address()));
    eventually("there are three", || all.latest(wanted).len() == 3);
    let last: Value = serde_json::from_str(&all.latest(wanted)[0].line).expect("JSON");
    assert_eq!(last["nobody"], "none_in_service", "{last}");
    assert_eq!(
        last["outcome"]["error"], "destination_unavailable",
        "{last}"
    );
}

/// One that comes again after it was removed counts on, so that no generation means two lists.
#[test]
fn a_cluster_that_comes_again_counts_its_generations_on() {
    let folder = Folder::new("again");
    let upstreams = [Upstream::ok("x"), Upstream::ok("y")];
    let mut there = evenkeel_testkit::config([upstreams[0].endpoint("a")]);
    there.log.decision = Some(DecisionLog {
        path: Some(folder.log()),
        sample: 1.0,
        keep: 10,
        header: None,
    });
    let mut gone = there.clone();
    gone.clusters[0].name = "other".into();
    gone.listeners[0].cluster = Some("other".into());
    let mut again = there.clone();
    again.clusters[0].endpoints = vec![upstreams[1].endpoint("b")];
    let gateway = Gateway::start(&there);
    let mut client = RawClient::connect(gateway.address());
    for (round, config) in [&gone, &again, &gone, &there].into_iter().enumerate() {
        client.send(request(&format!("r-{round}")));
        assert_eq!(client.response().status, 200);
        let changed = gateway.wait(gateway.control().reload(config, OperatorChanges::Keep));
        changed.expect("a configuration that is right");
    }
    client.send(request("last"));
    assert_eq!(client.response().status, 200);
    drop(gateway);
    let log = fs::read_to_string(folder.log()).expect("a log");
    let mut lists = std::collections::BTreeMap::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if line["kind"] == "snapshot" {
            let key = format!("{} {}", line["cluster"], line["generation"]);
            let before = lists.insert(key.clone(), line["endpoints"].clone());
            assert!(before.is_none(), "{key} twice: {log}");
        }
    }
    assert_eq!(lists.len(), 5, "{log}");
    let mut verifier = Verifier::new();
    for line in log.lines() {
        verifier
            .line(line)
            .unwrap_or_else(|difference| panic!("{difference}: {line}"));
    }
    assert_eq!(verifier.count().differ, 0);
}
