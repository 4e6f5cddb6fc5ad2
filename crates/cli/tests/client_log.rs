//! `evenkeel replay` on a decision log that the client library wrote.

mod support;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use evenkeel_client::core::strategy::registry::STRATEGIES;
use evenkeel_client::core::{Endpoint, Outcome};
use evenkeel_client::receipts::DecisionLog;
use evenkeel_client::{Cluster, Settings};
use support::{file, run};

/// Calls under every strategy, each before and after its list has changed; every seventh one fails and goes elsewhere.
/// Returns how many decisions were made.
fn call(log: &Arc<DecisionLog<BufWriter<File>>>) -> usize {
    let mut decisions = 0;
    for strategy in STRATEGIES {
        let settings = Settings::new(format!("web-{}", strategy.name))
            .strategy(strategy.name, &[])
            .expect("registered")
            .observe(log.clone());
        let list = ["a", "b", "c"].map(|id| Endpoint::new(id, "10.0.0.1:80"));
        let cluster = Cluster::new(settings, list, |_: &Endpoint| ()).expect("unique");
        for number in 0..42 {
            if number == 20 {
                cluster.upsert(Endpoint::new("d", "10.0.0.4:80").with_weight(3));
            }
            let mut tries = cluster.tries_for(format!("user-{number}").as_bytes());
            let first = tries.next().expect("one of three");
            decisions += 1;
            if number % 7 > 0 {
                first.finish(Outcome::Success);
                continue;
            }
            first.finish(Outcome::Failure);
            tries.next().expect("another one").finish(Outcome::Success);
            decisions += 1;
        }
    }
    decisions
}

#[test]
fn every_decision_of_a_log_of_the_client_library_is_made_again() {
    let path = file("client.jsonl", "");
    let writer = BufWriter::new(File::create(&path).expect("a file"));
    let log = Arc::new(DecisionLog::new(writer, 1.0));
    let decisions = call(&log);
    log.flush().expect("room on the disk");
    let verified = run(&["replay", &path, "--verify"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    let row = |name: &str, decisions| format!("{name:<20}{decisions:>11}{:>8}", 0);
    let all = row("all", decisions);
    assert!(verified.stdout.contains(&all), "{}", verified.stdout);
    for strategy in STRATEGIES {
        let one = row(strategy.name, decisions / STRATEGIES.len());
        assert!(verified.stdout.contains(&one), "{one}: {}", verified.stdout);
    }
    // And what other strategies would have done with the same calls.
    let replayed = run(&["replay", &path, "--strategies", "random,least_request"]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
}

#[test]
fn a_log_of_the_client_library_that_was_changed_is_found_out() {
    let path = file("changed.jsonl", "");
    let writer = BufWriter::new(File::create(&path).expect("a file"));
    let log = Arc::new(DecisionLog::new(writer, 1.0));
    assert_eq!(call(&log), 480);
    log.flush().expect("room on the disk");
    let text = std::fs::read_to_string(Path::new(&path)).expect("just written");
    let changed = text.replacen("\"chosen\":\"a\"", "\"chosen\":\"b\"", 1);
    assert_ne!(changed, text);
    std::fs::write(&path, changed).expect("a file");
    let wrong = run(&["replay", &path, "--verify"]);
    assert_eq!(wrong.code, Some(4), "{}", wrong.stdout);
    assert!(
        wrong.stderr.contains("1 of 480 decisions differ"),
        "{}",
        wrong.stderr
    );
}
