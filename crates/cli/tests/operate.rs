//! `evenkeel endpoint` and `evenkeel strategy`: what operators change is what traffic does.

mod support;

use std::process::{Command, Stdio};

use evenkeel_testkit::{Upstream, eventually};
use serde_json::Value;
use support::serving::Scene;
use support::{begin, file, get, run, start};

#[test]
fn a_drained_endpoint_gets_nothing_until_it_is_enabled() {
    let scene = Scene::of(["a", "b"]);
    assert_eq!(scene.traffic(20), (10, 10));
    let told = scene.order(&["endpoint", "drain", "a"]);
    assert!(
        told.starts_with("a: draining") && told.contains("until enabled"),
        "{told}"
    );
    assert_eq!(scene.traffic(10), (0, 10));
    scene.order(&["endpoint", "enable", "a"]);
    assert_eq!(scene.traffic(20), (10, 10));
    scene.order(&["endpoint", "disable", "b"]);
    assert_eq!(scene.traffic(10), (10, 0));
}

#[test]
fn weights_move_traffic_at_once() {
    let scene = Scene::of(["a", "b"]);
    scene.order(&["endpoint", "weight", "a", "3"]);
    assert_eq!(scene.traffic(40), (30, 10));
    let told = scene.order(&["endpoint", "weight", "a", "0"]);
    assert!(told.contains("weight 0, takes no new requests"), "{told}");
    assert_eq!(scene.traffic(10), (0, 10));
}

#[test]
fn endpoints_come_and_go() {
    let scene = Scene::of(["a", "b"]);
    let c = Upstream::ok("ok\n");
    let address = c.address().to_string();
    let told = scene.order(&[
        "endpoint",
        "add",
        &address,
        "--id",
        "rack 1/c",
        "--weight",
        "2",
        "--label",
        "version=2",
        "--format",
        "json",
    ]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(
        (&told["id"], &told["labels"]["version"]),
        (&"rack 1/c".into(), &"2".into())
    );
    let (to_a, to_b) = scene.traffic(40);
    let to_c = c.count();
    // It warms up, so it gets something, and not yet what is due to its weight.
    assert_eq!(to_a + to_b + to_c, 40);
    assert!(to_a.abs_diff(to_b) <= 2, "{to_a} {to_b}");
    assert!((1..20).contains(&to_c), "{to_c}");
    let listed = scene.order(&["endpoint", "list"]);
    let why = listed.lines().last().unwrap_or_default();
    assert!(
        why.starts_with("rack 1/c: healthy; warms up: has "),
        "{listed}"
    );
    scene.order(&["endpoint", "remove", "rack 1/c"]);
    scene.order(&["endpoint", "remove", "a"]);
    assert_eq!(scene.traffic(10), (0, 10));
    assert_eq!(c.count(), to_c);
    let all: Value = serde_json::from_str(&scene.order(&["endpoint", "list", "--format", "json"]))
        .expect("JSON");
    assert_eq!(all.as_array().map(Vec::len), Some(1));
    let table = scene.order(&["endpoint", "list"]);
    assert!(
        table.starts_with("id")
            && table
                .lines()
                .nth(1)
                .is_some_and(|row| row.starts_with("b "))
    );
}

#[test]
fn a_strategy_is_set_and_told() {
    let scene = Scene::of(["a", "b"]);
    assert_eq!(
        scene.order(&["strategy", "get"]),
        "default: weighted_round_robin smooth=true\n"
    );
    let told = scene.order(&["strategy", "set", "least_request", "choices=4", "scan=0"]);
    assert_eq!(told, "default: least_request choices=4 scan=0\n");
    assert_eq!(scene.order(&["strategy", "get"]), told);
    scene.order(&["endpoint", "weight", "a", "9"]);
    scene.order(&["strategy", "set", "round_robin"]);
    assert_eq!(scene.traffic(20), (10, 10));
    let json = scene.order(&["strategy", "get", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["name"], "round_robin");
}

#[test]
fn refusals_are_one_line_with_the_words_of_the_gateway() {
    let mut scene = Scene::of(["a", "b"]);
    for (arguments, line) in [
        (
            &["endpoint", "drain", "c"][..],
            "there is no endpoint \"c\" in cluster \"default\"",
        ),
        (
            &["endpoint", "remove", "c"],
            "there is no endpoint \"c\" in cluster \"default\"",
        ),
        (
            &["endpoint", "list", "--cluster", "defalt"],
            "there is no cluster \"defalt\", did you mean \"default\"?",
        ),
        (
            &["endpoint", "add", "127.0.0.1:1", "--id", "a"],
            "there is an endpoint \"a\" already in cluster \"default\"",
        ),
    ] {
        assert_eq!(scene.ask(arguments).only_line(1), line);
    }
    let ended = scene.ask(&["endpoint", "add", "127.0.0.1:70000"]);
    assert!(ended.only_line(2).contains("70000"), "{ended:?}");
    let ended = scene.ask(&["strategy", "set", "least_request", "choices=99"]);
    assert!(
        ended
            .only_line(2)
            .contains("choices = 99 is not a whole number from 2 to 10")
    );
    assert!(scene.gateway.is_running());
    assert_eq!(scene.traffic(20), (10, 10));
}

#[test]
fn whoever_does_not_want_to_wait_any_more_gets_the_code_for_it() {
    let scene = Scene::of(["a", "b"]);
    // What it says on stderr is where a signal can be sent.
    let (merged, binary) = ("exec \"$@\" 2>&1", env!("CARGO_BIN_EXE_evenkeel"));
    let mut command = Command::new("sh");
    command.args(["-c", merged, "sh", binary, "explain", "--next", "path=/no"]);
    command.args(["--admin", &scene.admin]);
    let mut waiting = begin(&mut command, Stdio::null());
    waiting.line("waiting for a request");
    waiting.signal("INT");
    assert_eq!(waiting.code(), Some(130));
}

#[test]
fn a_gateway_that_is_not_there_is_named() {
    let ended = run(&["endpoint", "list", "--admin", "http://127.0.0.1:1"]);
    let line = ended.only_line(1);
    assert!(
        line.contains("127.0.0.1:1") && line.contains("connection refused"),
        "{line}"
    );
}

#[test]
fn with_several_clusters_one_must_be_chosen() {
    let text = "[admin]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"one\"\n\
                [cluster.one]\nendpoints = [\"127.0.0.1:1\"]\n[cluster.two]\nendpoints = []\n";
    let mut gateway = start(&["serve", &file("two.toml", text)]);
    let admin = format!("http://{}", gateway.address("admin on "));
    let ended = run(&["endpoint", "list", "--admin", &admin]);
    assert!(
        ended.only_line(2).contains("--cluster (one, two)"),
        "{ended:?}"
    );
    assert_eq!(
        run(&["endpoint", "list", "--admin", &admin, "--cluster", "two"]).code,
        Some(0)
    );
}

/// Two of three fail their checks, so all are used, and what is listed says no different.
#[test]
fn in_panic_the_list_says_what_is_done() {
    let well = Upstream::ok("ok\n");
    let text = format!(
        "[admin]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n\
         [cluster.web]\nendpoints = [{{ id = \"a\", address = \"{}\" }}, {{ id = \"b\", address = \"127.0.0.1:1\" }}, \
         {{ id = \"c\", address = \"127.0.0.1:2\" }}]\n\
         [cluster.web.health]\ntype = \"tcp\"\ninterval = \"100ms\"\nfall = 1\n",
        well.address()
    );
    let mut gateway = start(&["serve", &file("panic.toml", &text)]);
    let address = gateway.address("admin on ");
    let admin = format!("http://{address}");
    let list = || run(&["endpoint", "list", "--admin", &admin]).stdout;
    let line = "tier 0: panic, 1 of 3 healthy, all are used\n";
    eventually("the list says panic", || list().starts_with(line));
    let listed = list();
    let why = listed.lines().filter(|line| line.starts_with("b: "));
    let why: Vec<&str> = why.collect();
    assert!(
        why.len() == 1
            && why[0].ends_with("takes requests all the same, since its tier is in panic"),
        "{listed}"
    );
    let told = get(address, "/api/v1/clusters/web/endpoints").text();
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let weights = [0, 1, 2].map(|at| told[at]["effective_weight"].as_f64());
    assert_eq!(weights, [Some(1.0); 3]);
    let metrics = get(address, "/metrics").text();
    for (id, up) in [("a", 1), ("b", 0)] {
        let line = format!("evenkeel_endpoint_up{{cluster=\"web\",endpoint=\"{id}\"}} {up}\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
}

#[test]
fn a_token_is_asked_for_and_taken() {
    let token = file("admin.token", "s3cret\n");
    let text = format!(
        "[admin]\naddress = \"127.0.0.1:0\"\ntoken_file = \"{token}\"\n[[listener]]\naddress = \"127.0.0.1:0\"\n\
         cluster = \"c\"\n[cluster.c]\nendpoints = [\"127.0.0.1:1\"]\n"
    );
    let mut gateway = start(&["serve", &file("token.toml", &text)]);
    let address = gateway.address("admin on ");
    let admin = format!("http://{address}");
    let ended = run(&["endpoint", "list", "--admin", &admin]);
    let line = ended.only_line(1);
    assert!(
        line.contains("needs a token") && line.contains("--token-file"),
        "{line}"
    );
    let other = file("other.token", "wrong");
    let with = |file: &str| run(&["endpoint", "list", "--admin", &admin, "--token-file", file]);
    let ended = with(&other);
    assert!(ended.only_line(1).contains("not the one"), "{ended:?}");
    let ended = with(&token);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(with("no/such.token").only_line(3).contains("no/such.token"));
    assert_eq!(get(address, "/healthz").status, 200);
    assert_eq!(get(address, "/api/v1/clusters").status, 401);
}

/// "What changed, and when?"
#[test]
fn what_operators_did_can_be_asked_for() {
    let scene = Scene::of(["a", "b"]);
    scene.order(&["endpoint", "drain", "a"]);
    scene.order(&["strategy", "set", "random"]);
    let told = scene.order(&["events", "--since", "1h"]);
    let rows: Vec<&str> = told.lines().collect();
    assert_eq!(rows.len(), 3, "{told}");
    assert!(rows[0].starts_with("TIME"), "{told}");
    assert!(
        rows[1].contains("operator  default  a") && rows[1].ends_with("draining"),
        "{told}"
    );
    assert!(rows[2].ends_with("strategy random"), "{told}");
    let before = scene.order(&["events", "--until", "1"]);
    assert_eq!(before.lines().count(), 2, "{before}");
    assert!(before.ends_with("draining\n"), "{before}");
    let json = scene.order(&["events", "--endpoint", "a", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(1), "{json}");
    let refused = scene.ask(&["events", "--since", "noon"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("since \"noon\" is not a time"),
        "{}",
        refused.stderr
    );
}
