//! Scenarios of the simulator: what is taken, and what is said of mistakes.

use std::path::Path;
use std::time::Duration;

use evenkeel_config::{
    Amount, Environment, FaultKind, Law, Scenario, parse_scenario, scenario_reference,
};

fn read(text: &str) -> (Option<Scenario>, String) {
    let (scenario, report) = parse_scenario("a.toml", text, &Environment::empty());
    (scenario, report.to_string())
}

const WHOLE: &str = r#"
about = "one of each"
[load]
duration = "10m"
stages = [{ rate = 2000, for = "5m" }, { rate = 12000.5, for = "5m" }]
arrivals = "burst(x10, every 30s, for 2s)"
clients = 3
keys = "zipf(1000, 1.1)"
discovery_delay = "uniform(0s, 5s)"

[[backend]]
count = 2
service = "lognormal(30ms, 0.3)"
concurrency = 64
queue = 1000

[[backend]]
name = "slow"
service = "pareto(10ms, 2.1)"
discipline = "ps"
concurrency = 2.5
weight = 2

[[fault]]
at = "60s"
backend = [0, 2]
slow = 60
for = "120s"

[[fault]]
at = "0s"
backend = "all"
pause = "500ms"
every = "10s"

[cluster]
strategies = ["round_robin", { name = "least_request", label = "three", choices = 3, retry = false }]
retry = { attempts = 3 }
[cluster.capacity]
peak = 10
"#;

#[test]
fn a_scenario_is_read() {
    let (scenario, said) = read(WHOLE);
    assert_eq!(said, "");
    let scenario = scenario.expect("no mistakes");
    assert_eq!(
        scenario.load.amount,
        Amount::Lasting(Duration::from_secs(600))
    );
    assert_eq!(
        scenario.backends[1].service,
        Law::Pareto(Duration::from_millis(10), 2.1)
    );
    assert_eq!(scenario.faults[1].kind, FaultKind::Pause);
    assert_eq!(scenario.faults[1].backends, [0, 1, 2]);
    let [first, second] = &scenario.variants[..] else {
        panic!("two variants");
    };
    assert_eq!(
        (first.label.as_str(), first.cluster.retry.attempts),
        ("round_robin", 3)
    );
    assert_eq!(
        (second.label.as_str(), second.cluster.retry.attempts),
        ("three", 1)
    );
    let capacity = second.cluster.capacity.expect("common");
    assert_eq!(capacity.peak, evenkeel_config::Peak::Requests(10));
}

/// Each mistake with its place, and all of them at once.
#[test]
fn mistakes_are_told_as_in_a_configuration() {
    for (text, said) in [
        (
            "[load]\nrat = 1\n",
            "a.toml:2:1: error: unknown key \"rat\" in load, did you mean \"rate\"?",
        ),
        (
            "[load]\nrate = 1\n",
            "a.toml:1:1: error: there are no backends",
        ),
        (
            "[[backend]]\ncount = 2\n",
            "a.toml:1:1: error: backend has no service",
        ),
        (
            "[[backend]]\nservice = \"gamma(1ms)\"\n",
            "\"gamma(1ms)\" is not a law",
        ),
        (
            "[[backend]]\nservice = 30\n",
            "backend.service = 30 is not a time like",
        ),
        (
            "[[backend]]\nservice = \"1ms\"\nconcurrency = 1.5\n",
            "1.5 is not a whole number of requests at once",
        ),
        (
            "[[backend]]\nservice = \"1ms\"\ncalls = [\"x\"]\n",
            "there are no backends named \"x\"",
        ),
        (
            "[[backend]]\nservice = \"1ms\"\ncalls = [\"backend\"]\n",
            "a request would never end",
        ),
    ] {
        let (scenario, all) = read(text);
        assert!(scenario.is_none() && all.contains(said), "{text}: {all}");
    }
}

/// The same below a part that is right.
#[test]
fn mistakes_of_faults_and_clusters_are_told_too() {
    let base = "[load]\nrate = 1\n[[backend]]\nservice = \"30ms\"\n";
    for (text, said) in [
        (
            "[[fault]]\nat = \"1s\"\nbackend = 1\ndown = true\n",
            "1 is not a number from 0 to 0",
        ),
        (
            "[[fault]]\nat = \"1s\"\nbackend = 0\n",
            "the fault says not what happens (give it one of slow,",
        ),
        (
            "[[fault]]\nat = \"1s\"\nbackend = 0\ndown = true\nslow = 2\n",
            "slow and down in one fault",
        ),
        (
            "[[fault]]\nat = \"1s\"\nbackend = 0\nslow = 2\nfor = \"2s\"\nevery = \"1s\"\n",
            "it begins again before it has ended",
        ),
        (
            "[cluster]\nendpoints = [\"127.0.0.1:1\"]\n",
            "cluster.endpoints has no place in a scenario (the endpoints are the scenario's backends)",
        ),
        (
            "[cluster]\nstrategies = [\"round_robin\", \"round_robin\"]\n",
            "\"round_robin\" is compared twice",
        ),
        (
            "[cluster]\nstrategies = [\"round_robbin\"]\n",
            "did you mean \"round_robin\"?",
        ),
        (
            "[cluster]\nstrategies = \"round_robin\"\n",
            "cluster.strategies = \"round_robin\" is not a list (write [\"round_robin\"])",
        ),
        (
            "[cluster]\nstrategies = [{ name = \"least_request\", choises = 2 }]\n",
            "did you mean \"choices\"?",
        ),
        (
            "[cluster.retry]\nattemps = 2\n",
            "did you mean \"attempts\"?",
        ),
    ] {
        let (scenario, all) = read(&format!("{base}{text}"));
        assert!(scenario.is_none() && all.contains(said), "{text}: {all}");
    }
}

#[test]
fn what_only_one_strategy_does_not_use_is_no_warning() {
    let base = "[[backend]]\nservice = \"30ms\"\n";
    let both =
        "[cluster]\nstrategies = [\"round_robin\", \"maglev\"]\nhash = { bounded_load = 1.5 }\n";
    assert_eq!(read(&format!("{base}{both}")).1, "");
    let none = "[cluster]\nstrategies = [\"round_robin\"]\nhash = { bounded_load = 1.5 }\n";
    let (scenario, said) = read(&format!("{base}{none}"));
    assert!(
        scenario.is_some() && said.contains("warning: cluster.hash has no effect"),
        "{said}"
    );
}

#[test]
fn a_trace_is_read_from_its_file() {
    let text = "[load]\narrivals = \"trace(a.csv)\"\n[[backend]]\nservice = \"30ms\"\n";
    let environment = Environment::new(|_| None, |_| Ok("0.5\n1.5,7\n".to_owned()));
    let (scenario, report) = parse_scenario("a.toml", text, &environment);
    assert_eq!(report.to_string(), "");
    assert_eq!(
        scenario.expect("no mistakes").load.amount,
        Amount::Requests(2)
    );
    let (_, said) = read(text);
    assert!(said.contains("cannot read \"a.csv\""), "{said}");
}

#[test]
fn the_reference_page_of_scenarios_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenarios.md");
    evenkeel_testkit::golden(path, &scenario_reference());
}
