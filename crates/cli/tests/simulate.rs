//! `evenkeel sim` and `evenkeel replay` as users run them: the same bytes for the same seed, assertions for
//! scripts, and a line for whoever slips.

mod support;

use std::fmt::Write as _;

use serde_json::Value;
use support::{Finished, file, run};

const SCENARIO: &str = r#"
[load]
requests = 3000
rate = 200
[[backend]]
count = 3
service = "lognormal(20ms, 0.4)"
concurrency = 4
[cluster]
strategies = ["round_robin", "least_request"]
"#;

#[track_caller]
fn well(arguments: &[&str]) -> Finished {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let ended = well(arguments);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let path = file("mine.toml", SCENARIO);
    let page = file("page.html", "");
    let once = |seed: &str| {
        let all = ["sim", &path, "--seed", seed, "--report", &page];
        let text = well(&all).stdout;
        let json = well(&[&all[..], &["--format", "json"]].concat()).stdout;
        let html = std::fs::read_to_string(&page).expect("written");
        (text, json, html)
    };
    let first = once("7");
    assert_eq!(first, once("7"));
    assert_ne!(first.1, once("8").1);
    assert!(first.2.starts_with("<!doctype html>") && first.2.contains("<svg"));
}

#[test]
fn results_have_the_names_that_are_promised() {
    let path = file("mine.toml", SCENARIO);
    let value = json(&["sim", &path, "--format", "json"]);
    assert_eq!(value["seed"], 1);
    let results = value["results"].as_array().expect("a list");
    let named: Vec<&Value> = results.iter().map(|one| &one["strategy"]).collect();
    assert_eq!(named, ["round_robin", "least_request"]);
    for result in results {
        assert_eq!(result["requests"], 3000);
        for name in ["mean", "p50", "p90", "p99", "p999", "max"] {
            assert!(result["latency_ms"][name].as_f64() > Some(10.0), "{result}");
        }
        for name in ["failure_rate", "shed_rate", "retries"] {
            assert_eq!(result[name].as_f64(), Some(0.0), "{result}");
        }
        for name in ["count_stddev", "max_over_mean"] {
            assert!(result["imbalance"][name].is_number(), "{result}");
        }
        let endpoints = result["endpoints"].as_array().expect("a list");
        let counts = endpoints.iter().map(|one| one["requests"].as_u64());
        assert_eq!(counts.sum::<Option<u64>>(), Some(3000));
        let busy = endpoints[0]["utilization"].as_f64().expect("a share");
        assert!((0.2..0.6).contains(&busy), "{result}");
        assert!(endpoints[0]["max_in_flight"].as_u64() > Some(1));
    }
}

#[test]
fn what_is_built_in_is_listed_shown_and_run_from_its_file() {
    let listed = json(&["sim", "--list", "--format", "json"]);
    let names: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    for name in [
        "million-requests",
        "six-backends",
        "gray-failure",
        "black-hole",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let text = well(&["sim", "black-hole", "--show"]).stdout;
    let copy = file("copy.toml", &text);
    let results = |named: &str| json(&["sim", named, "--format", "json"])["results"].clone();
    assert_eq!(results("black-hole"), results(&copy));
}

#[test]
fn assertions_decide_the_exit_code() {
    let path = file("mine.toml", SCENARIO);
    well(&[
        "sim",
        &path,
        "--assert",
        "p99 < 1s",
        "--assert",
        "round_robin.failure_rate <= 0.02%",
    ]);
    let ended = run(&["sim", &path, "--assert", "least_request.p99 < 1ms"]);
    let line = ended.only_line(4);
    assert!(
        line.starts_with("least_request.p99 < 1ms does not hold: p99 of least_request is "),
        "{line}"
    );
    assert!(
        ended.stdout.contains("round_robin"),
        "results are printed all the same: {ended:?}"
    );
    let both = run(&["sim", &path, "--assert", "p50 > 1s"]);
    assert_eq!(
        (both.code, both.stderr.lines().count()),
        (Some(4), 2),
        "{both:?}"
    );
}

#[test]
fn a_sweep_finds_the_highest_load_that_keeps_an_assertion() {
    let path = file("mine.toml", SCENARIO);
    let sweep = |assertion| {
        run(&[
            "sim",
            &path,
            "--sweep",
            "rate=100..800:3",
            "--assert",
            assertion,
            "--format",
            "json",
        ])
    };
    let ended = sweep("p99 < 100ms");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let value: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    // Twelve slots of 21.7 ms serve 554 a second.
    let text = value.to_string();
    assert!(
        text.contains("\"round_robin\"") && text.contains("800"),
        "{text}"
    );
    let never = sweep("p99 < 1ms");
    let line = never.only_line(4);
    assert!(
        line.contains("p99 < 1ms does not hold") && line.contains("every rate"),
        "{line}"
    );
}

#[test]
fn an_impossible_load_is_said_and_run() {
    let path = file("mine.toml", &SCENARIO.replace("rate = 200", "rate = 20000"));
    let ended = well(&["sim", &path]);
    assert_eq!(
        ended.stderr,
        "evenkeel: offered 20000/s, capacity 554/s: queues grow without bound\n"
    );
    assert!(ended.stdout.contains("least_request"), "{ended:?}");
}

#[test]
fn a_slip_of_the_command_line_is_one_line() {
    let path = file("mine.toml", SCENARIO);
    for (code, arguments, words) in SLIPS {
        let named = |argument: &&'static str| match *argument {
            PATH => path.clone(),
            other => other.to_owned(),
        };
        let arguments: Vec<String> = arguments.iter().map(named).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = run(&[&["sim"], &arguments[..]].concat());
        let line = ended.only_line(*code);
        for word in *words {
            assert!(line.contains(word), "{arguments:?}: {line}");
        }
    }
}

/// Stands for a scenario that is right.
const PATH: &str = "PATH";

/// What is typed behind `evenkeel sim`, the exit code, and what the line of it says.
const SLIPS: &[(i32, &[&str], &[&str])] = &[
    (
        3,
        &["gray-failur"],
        &["\"gray-failur\"", "\"gray-failure\"", "--list"],
    ),
    (
        3,
        &["/nowhere/mine.toml"],
        &["/nowhere/mine.toml", "no such file"],
    ),
    (2, &[], &["SCENARIO"]),
    (2, &[PATH, "--show"], &["--show", "built in"]),
    (2, &[PATH, "--seed", "x"], &["'x'", "--seed"]),
    (
        2,
        &[PATH, "--strategies", "lest_request"],
        &["\"lest_request\"", "least_request"],
    ),
    (
        2,
        &[PATH, "--assert", "p98 < 1ms"],
        &["\"p98\"", "\"p90\"", "p999"],
    ),
    (2, &[PATH, "--assert", "p99 < 280"], &["\"280\"", "280ms"]),
    (
        2,
        &[PATH, "--assert", "p99"],
        &["'p99'", "compares nothing"],
    ),
    (
        2,
        &[PATH, "--assert", "least_requst.p99 < 1ms"],
        &["\"least_requst\"", "\"least_request\""],
    ),
    (
        2,
        &[PATH, "--sweep", "rat=1..2"],
        &["rat=1..2", "rate=2000..15000"],
    ),
    (
        2,
        &[PATH, "--sweep", "rate=5..2"],
        &["rate=5..2", "above its end"],
    ),
    (2, &[PATH, "--sweep", "users=1..5"], &["users"]),
    (
        1,
        &[PATH, "--report", "/nowhere/page.html"],
        &["/nowhere/page.html"],
    ),
    (1, &[PATH, "--pictures", "/nowhere"], &["/nowhere"]),
];

/// What is right in the scenario, what is written instead, and what is said of it.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    (
        "requests = 3000",
        "request = 3000",
        &["\"request\"", "\"requests\"", ":3:1"],
    ),
    (
        "rate = 200",
        "rate = -1",
        &["load.rate = -1", "0.000001 to 10000000"],
    ),
    (
        "lognormal(20ms, 0.4)",
        "lognormal(20)",
        &["\"lognormal(20)\"", "lognormal(30ms, 0.3)"],
    ),
    (
        "count = 3",
        "count = 0",
        &["backend.count = 0", "1 to 10000"],
    ),
    (
        "concurrency = 4",
        "concurrency = 4\nqueue = -1",
        &["queue = -1"],
    ),
    ("service", "servce", &["\"servce\"", "\"service\""]),
    (
        "\"least_request\"",
        "\"least_requst\"",
        &["\"least_requst\"", "\"least_request\""],
    ),
    (
        "\"least_request\"",
        "\"round_robin\"",
        &["\"round_robin\" is compared twice", "label"],
    ),
    (
        "[cluster]",
        "[cluster]\nendpoints = []",
        &["cluster.endpoints", "backends"],
    ),
    (
        "[cluster]",
        "[cluster]\ncapacity = { queue = { size = 0 } }",
        &["size = 0", "1 to 100000"],
    ),
    (
        "[cluster]",
        "[[fault]]\nat = \"1s\"\nbackend = 7\ndown = true\n[cluster]",
        &["7", "0 to 2"],
    ),
    (
        "[cluster]",
        "[[fault]]\nat = \"1s\"\nbackend = 0\n[cluster]",
        &["fault"],
    ),
    ("[[backend]]", "[[backend", &[":5:"]),
];

#[test]
fn a_mistake_in_a_scenario_has_its_place_and_what_is_right() {
    for (good, bad, words) in MISTAKES {
        let path = file("bad.toml", &SCENARIO.replacen(good, bad, 1));
        let ended = run(&["sim", &path]);
        assert_eq!(ended.code, Some(3), "{bad}: {ended:?}");
        ended.assert_calm();
        assert!(ended.stdout.is_empty(), "{bad}: {ended:?}");
        assert!(ended.stderr.contains("bad.toml:"), "{bad}: {ended:?}");
        for word in *words {
            assert!(
                ended.stderr.contains(word),
                "{bad} without {word}: {ended:?}"
            );
        }
    }
    let nothing = run(&["sim", &file("nothing.toml", "")]);
    assert_eq!(nothing.code, Some(3), "{nothing:?}");
    assert!(
        nothing.stderr.contains("there are no backends"),
        "{nothing:?}"
    );
}

/// An access log of three endpoints, one of them three times as slow.
fn access_log() -> String {
    let mut log = String::new();
    for number in 0..3000_u64 {
        let endpoint = ["a", "b", "c"][(number % 3) as usize];
        // Any numbers that are spread will do.
        let spread = 10.0 + (number * 7919 % 1000) as f64 / 50.0;
        let took = if endpoint == "c" {
            3.0 * spread
        } else {
            spread
        };
        let at = 1_764_500_000.0 + number as f64 * 0.005;
        let _ = writeln!(
            log,
            "{{\"time\":{at:.3},\"endpoint\":\"{endpoint}\",\"latency_ms\":{took:.3},\"status\":200}}"
        );
    }
    log
}

#[test]
fn a_log_is_replayed_to_the_same_bytes() {
    let path = file("access.jsonl", &access_log());
    let ask = |more: &[&str]| {
        let all = [&["replay", &path, "--format", "json", "--seeds", "3"], more].concat();
        json(&all)
    };
    let both = ["--strategies", "random,least_request"];
    let first = ask(&both);
    assert_eq!(first, ask(&both));
    assert_ne!(first, ask(&[&both[..], &["--seed", "9"]].concat()));
    let without = ask(&["--without", "c"]).to_string();
    assert!(!without.contains("\"c\""), "{without}");
    let heavy = ask(&["--strategies", "weighted_round_robin", "--weights", "a=8"]);
    assert_ne!(heavy, ask(&["--strategies", "weighted_round_robin"]));
    let broken = run(&["replay", &path, "--assert", "least_request.p99 < 1ms"]);
    let line = broken.only_line(4);
    assert!(line.contains("p99 of least_request is"), "{line}");
}

/// A decision log of a share of 2,000 requests, in the middle of which an endpoint came.
fn decision_log(share: f64) -> String {
    let sample = evenkeel_receipts::Sample::new(share);
    let mut log = String::new();
    for number in 0..2_000 {
        let at = 1_764_500_000.0 + f64::from(number) * 0.01;
        if number % 1_000 == 0 {
            let more = if number == 0 {
                ""
            } else {
                ",{\"id\":\"b\",\"weight\":1}"
            };
            let _ = writeln!(
                log,
                "{{\"kind\":\"snapshot\",\"time\":{at},\"cluster\":\"web\",\"strategy\":{{\"name\":\"random\"}},\"endpoints\":[{{\"id\":\"a\",\"weight\":1}}{more}]}}"
            );
        }
        let id = format!("r-{number}");
        if sample.takes(&id) {
            let _ = writeln!(
                log,
                "{{\"kind\":\"decision\",\"time\":{at},\"request_id\":\"{id}\",\"cluster\":\"web\",\"attempt\":1,\"chosen\":\"a\",\"outcome\":{{\"status\":200,\"latency_ms\":5,\"error\":null}}}}"
            );
        }
    }
    log
}

/// Whether a log is whole is not asked of whoever replays it, but of the log.
#[test]
fn a_replay_says_what_is_true_of_its_log() {
    let whole = file("whole.jsonl", &decision_log(1.0));
    let part = file("part.jsonl", &decision_log(0.25));
    let ask = |path: &str, more: &[&str]| {
        let all = [&["replay", path, "--seeds", "2"], more].concat();
        let ended = run(&all);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        // As it was wrapped nowhere.
        ended
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let told = ask(&whole, &[]);
    assert!(!told.contains("--sample"), "{told}");
    let changed = "Beware: cluster web changed while it was written (b came)";
    assert!(told.contains(changed), "{told}");
    let told = ask(&whole, &["--sample", "0.5"]);
    assert!(told.contains("it holds all of them, not 0.5"), "{told}");
    let told = ask(&part, &[]);
    assert!(
        told.contains("it holds about 0.2") && told.contains("say --sample"),
        "{told}"
    );
    let told = ask(&part, &["--sample", "0.25"]);
    assert!(!told.contains("say --sample"), "{told}");
}

#[test]
fn what_cannot_be_replayed_is_told_in_a_line() {
    let log = file("access.jsonl", &access_log());
    let (empty, noise) = (file("empty.jsonl", ""), file("noise.jsonl", "hello\n"));
    let other = file("other.jsonl", "{\"time\":1}\n");
    let cases: &[(i32, &[&str], &[&str])] = &[
        (
            3,
            &["/nowhere/access.jsonl"],
            &["/nowhere/access.jsonl", "no such file"],
        ),
        (
            3,
            &[&empty],
            &["empty.jsonl", "a decision log, or an access log"],
        ),
        (3, &[&noise], &["noise.jsonl", "line 1", "no JSON"]),
        (3, &[&other], &["other.jsonl", "endpoint"]),
        (
            2,
            &[&log, "--verify", "--strategies", "random"],
            &["--verify", "--strategies"],
        ),
        (2, &[&log, "--without", "x"], &["\"x\"", "a, b, c"]),
        (2, &[&log, "--without", "a,b,c"], &["no endpoint is left"]),
        (2, &[&log, "--weights", "a"], &["\"a\"", "a=2"]),
        (2, &[&log, "--weights", "a=-1"], &["-1", "65535"]),
        (2, &[&log, "--weights", "x=2"], &["\"x\"", "a, b, c"]),
        (2, &[&log, "--sample", "2"], &["2 is not a share"]),
        (2, &[&log, "--seeds", "1"], &["1", "2 to 100"]),
        (
            2,
            &[&log, "--strategies", "lest_request"],
            &["\"lest_request\"", "\"least_request\""],
        ),
        (2, &[&log, "--assert", "p98 < 1ms"], &["\"p98\"", "\"p90\""]),
    ];
    for (code, arguments, words) in cases {
        let ended = run(&[&["replay"], *arguments].concat());
        let line = ended.only_line(*code);
        for word in *words {
            assert!(line.contains(word), "{arguments:?}: {line}");
        }
    }
}
