//! Broken files, each with what is said of it: `line:column severity: message`.
//!
//! Files that are right are here too where something close to them is not.

#[path = "broken/clusters.rs"]
mod clusters;
#[path = "broken/endpoints.rs"]
mod endpoints;
#[path = "broken/listeners.rs"]
mod listeners;
mod support;
#[path = "broken/weights.rs"]
mod weights;
#[path = "broken/whole.rs"]
mod whole;

use evenkeel_config::{Environment, parse};
use support::judge;

#[test]
fn whole_files() {
    judge(whole::WHOLE, str::to_owned);
}

#[test]
fn around_listeners() {
    judge(listeners::LISTENER, |text| {
        format!("[[listener]]\naddress = \"127.0.0.1:8080\"\n{text}\n")
    });
}

#[test]
fn around_clusters() {
    judge(clusters::CLUSTER, |text| {
        let endpoints = "endpoints = [\"127.0.0.1:9001\"]";
        cluster(&format!("{endpoints}\n{text}"))
    });
}

#[test]
fn around_endpoints() {
    judge(endpoints::ENDPOINTS, |text| {
        cluster(&format!("endpoints = [{text}]"))
    });
}

#[test]
fn a08_weights_that_are_no_whole_numbers_are_named() {
    judge(weights::WEIGHTS, |text| {
        cluster(&format!("endpoints = [{text}]"))
    });
}

#[test]
fn checks_that_are_a_load_of_their_own_are_told_with_the_arithmetic() {
    let fleet = |count: usize| {
        let endpoints: Vec<String> = (0..count)
            .map(|at| format!("\"10.0.0.1:{}\"", 9000 + at))
            .collect();
        let keys = format!("endpoints = [{}]\nhealth = {{}}", endpoints.join(", "));
        let (_, report) = parse("f.toml", &cluster(&keys), &Environment::empty());
        report
            .diagnostics()
            .iter()
            .map(|one| one.message.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(fleet(39), [""; 0]);
    let [said] = &fleet(40)[..] else {
        panic!("one warning");
    };
    assert!(
        said.contains("12 gateways x 40 endpoints probe 480 times a second"),
        "{said}"
    );
}

fn cluster(keys: &str) -> String {
    let listener = "[[listener]]\naddress = \"127.0.0.1:8080\"\ncluster = \"web\"";
    format!("{listener}\n[cluster.web]\n{keys}\n")
}

/// The text for people: the line itself, underlined, and what would be right.
#[test]
fn a_mistake_is_shown_in_its_line() {
    let text = cluster("endpoints = [\n  { id = \"b\", address = \"b:1\", weight = 0.8 },\n]");
    let (_, report) = parse("f.toml", &text, &Environment::empty());
    let shown = "\
error: weight 0.8 of endpoint \"b\" in cluster \"web\" is not a whole number from 0 to 65535
 --> f.toml:6:41
  |
6 |   { id = \"b\", address = \"b:1\", weight = 0.8 },
  |                                         ^^^
  |
  = help: only ratios count: multiply all weights of the cluster until they are whole, \
0.8 and 1 become 4 and 5
";
    assert_eq!(report.render_text(false), shown);
    assert!(report.render_text(true).contains("\u{1b}["));
}

/// Two places that contradict each other are both shown.
#[test]
fn a_conflict_shows_both_places() {
    let text = cluster("endpoints = [\n  \"a:1\",\n  \"a:1\",\n]");
    let (_, report) = parse("f.toml", &text, &Environment::empty());
    let shown = "\
error: endpoint \"a:1\" is in cluster \"web\" twice, first on line 6
 --> f.toml:7:3
  |
6 |   \"a:1\",
  |   ----- it is given here first
7 |   \"a:1\",
  |   ^^^^^
  |
  = help: give each an id of its own: { id = \"b\", address = \"…\" }
";
    assert_eq!(report.render_text(false), shown);
}

#[test]
fn machines_get_the_same() {
    let (_, report) = parse("f.toml", "listener = 1\n", &Environment::empty());
    let expected = serde_json::json!([{
        "file": "f.toml",
        "line": 1,
        "column": 12,
        "severity": "error",
        "message": "listener is not a list of tables",
        "help": "write [[listener]] with two brackets on each side",
    }]);
    assert_eq!(report.to_json(), expected);
}
