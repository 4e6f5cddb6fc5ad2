//! Runs repeat, break no law, and stay as small as what is under way.

use evenkeel_config::{Environment, Scenario, parse_scenario};
use evenkeel_sim::{BUILT_IN, Comparison, Figures, Options, Tally, compare, to_json};

fn scenario(text: &str) -> Scenario {
    let (scenario, report) = parse_scenario("test", text, &Environment::empty());
    scenario.unwrap_or_else(|| panic!("{report}"))
}

fn run(scenario: &Scenario, seed: u64, threads: usize) -> Comparison {
    compare(scenario, &Options { seed, threads }, &|_| {})
}

/// Some of everything: faults, retries, several balancers, caps, keys, both disciplines.
const EVERYTHING: &str = r#"
[load]
requests = 3000
rate = 400
clients = 3
keys = "zipf(500, 1.0)"
discovery_delay = "uniform(0s, 1s)"
[[backend]]
count = 3
service = "lognormal(30ms, 0.5)"
concurrency = 6
queue = 20
[[backend]]
count = 3
service = "exponential(20ms)"
discipline = "ps"
concurrency = 3.5
weight = 2
[[fault]]
at = "1s"
backend = 0
slow = 20
for = "2s"
[[fault]]
at = "1500ms"
backend = 1
down = true
for = "1s"
every = "2s"
[[fault]]
at = "2s"
backend = 4
leave = true
[[fault]]
at = "4s"
backend = 4
join = true
[[fault]]
at = "3s"
backend = 5
errors = 0.3
status = 503
for = "1s"
[[fault]]
at = "3s"
backend = 3
pause = "700ms"
[[fault]]
at = "5s"
backend = [2, 3]
clients = [0]
partition = true
for = "1s"
[cluster]
strategies = ["round_robin", "weighted_round_robin", "random", "weighted_random", "least_request", "peak_ewma", "prequal", "maglev", "ring_hash", "rendezvous"]
retry = { attempts = 3, on = ["connect", "reset", "timeout", "5xx"], per_try_timeout = "400ms", hedge_after = "150ms" }
capacity = { peak = 3, queue = { size = 20, timeout = "300ms" } }
timeout = { response = "2s", connect = "200ms" }
"#;

/// The same seed gives the same bytes, with one thread or several; another seed gives others.
#[test]
fn a_hundred_seeds_give_the_same_bytes_twice() {
    let scenario = scenario(EVERYTHING);
    let twice = |seed| {
        let bytes = |threads| to_json("test", &run(&scenario, seed, threads)).to_string();
        let (once, again) = (bytes(1), bytes(2));
        assert_eq!(once, again, "seed {seed}");
        once
    };
    let half = |seeds: std::ops::Range<u64>| seeds.map(twice).collect::<Vec<String>>();
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(50..100));
        let mut all = half(0..50);
        all.extend(other.join().expect("as many bytes"));
        all
    });
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 100);
}

#[test]
fn no_law_is_broken_when_everything_happens() {
    let comparison = run(&scenario(EVERYTHING), 7, 2);
    assert_eq!(
        comparison.violations().collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    for tally in &comparison.results {
        let counts = &tally.counts;
        assert_eq!(counts.requests, 3000, "{}", tally.label);
        assert!(counts.well > 1500, "{}", tally.label);
        assert!(tally.retries > 0, "{}", tally.label);
        assert!(tally.waits > 0, "{}", tally.label);
    }
}

/// The built-in scenarios, cut short.
#[test]
fn no_built_in_scenario_breaks_a_law() {
    for built_in in BUILT_IN {
        let mut scenario = built_in.scenario();
        scenario.load.amount = evenkeel_config::Amount::Requests(20_000);
        let comparison = run(&scenario, 3, 2);
        let broken: Vec<String> = comparison.violations().collect();
        assert_eq!(broken, Vec::<String>::new(), "{}", built_in.name);
    }
}

/// One that knows all knows what caches hold: nobody does better, here least of all who does not look.
#[test]
fn the_clairvoyant_knows_what_caches_hold() {
    let built_in = BUILT_IN.iter().find(|one| one.name == "cache-scale-out");
    let comparison = run(&built_in.expect("it is built in").scenario(), 1, 2);
    let figures = |tally: &Tally| {
        let figures = Figures::of(&tally.counts);
        println!("{}: {figures:?}", tally.label);
        (figures.mean, figures.p99)
    };
    let (mean, p99) = figures(&comparison.references[0]);
    for tally in &comparison.results {
        let (other_mean, other_p99) = figures(tally);
        assert!(mean < other_mean && p99 <= other_p99, "{}", tally.label);
    }
}

/// The bytes of a small run, which no platform and no release may change unnoticed.
#[test]
fn a_run_is_the_same_everywhere() {
    let text = "[load]\nrequests = 2000\nrate = 100\n[[backend]]\ncount = 3\nservice = \"lognormal(20ms, 0.4)\"\nconcurrency = 2\n[cluster]\nstrategies = [\"least_request\", \"peak_ewma\"]\n";
    let json = to_json("golden", &run(&scenario(text), 1, 1));
    let text = serde_json::to_string_pretty(&json).expect("a tree of numbers");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/small.json");
    evenkeel_testkit::golden(path, &text);
}

/// Scenarios by chance; one that breaks a law is told by its seed.
#[test]
fn a_hundred_scenarios_by_chance_break_no_law() {
    for seed in 0..100 {
        let text = evenkeel_sim::random_scenario(seed);
        let scenario = scenario(&text);
        let broken: Vec<String> = run(&scenario, seed, 2).violations().collect();
        assert_eq!(broken, Vec::<String>::new(), "seed {seed}\n{text}");
    }
}

/// The page needs nothing else, and says all that is known.
#[test]
fn the_report_is_one_page() {
    let scenario = scenario(EVERYTHING);
    let comparison = run(&scenario, 1, 2);
    let page = page(&comparison);
    assert!(page.contains("<title>&lt;test&gt;, simulated</title>"));
    for tally in comparison.results.iter().chain(&comparison.references) {
        assert!(page.contains(&tally.label), "{}", tally.label);
    }
    for word in ["src=", "href=", "@import", "<script", "NaN", "inf\""] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.matches("<svg").count() >= 4);
    assert_eq!(page, self::page(&run(&scenario, 1, 1)));
}

fn page(comparison: &Comparison) -> String {
    evenkeel_sim::to_html(&evenkeel_sim::Page {
        name: "<test>",
        about: "",
        expected: "",
        source: "[load]",
        comparison,
        claims: &[],
    })
}
