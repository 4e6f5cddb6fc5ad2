//! Events that are posted to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_config::{HookUrl, Notify};
use evenkeel_gateway::{Event, EventKind, OperatorChanges};
use evenkeel_testkit::{Answer, Gateway, Received, Upstream, eventually};

use crate::{GET, ask};

fn told(receiver: &Upstream, events: &[&'static str]) -> Notify {
    let authority = receiver.address().to_string();
    Notify {
        url: HookUrl {
            address: authority.parse().expect("an address"),
            authority: authority.into(),
            target: "/hook?x=1".into(),
        },
        events: events.to_vec(),
    }
}

fn events(requests: &[Received]) -> Vec<serde_json::Value> {
    let lists = requests.iter().map(|request| {
        assert_eq!((request.method(), request.target()), ("POST", "/hook?x=1"));
        assert_eq!(request.field("content-type"), Some("application/json"));
        let list: Vec<serde_json::Value> = serde_json::from_slice(&request.body).expect("a list");
        list
    });
    lists.flatten().collect()
}

fn event(kind: EventKind, evidence: &str) -> Event {
    Event::new(kind, "test", evidence).of_cluster("web".into())
}

/// A real ejection is told, whole and once; what was not asked for is not.
#[test]
fn an_ejection_is_told() {
    let receiver = Upstream::ok("");
    let bad = Upstream::answering(|_| Answer::status(500, "bad"));
    let good = Upstream::ok("good");
    let gateway = Gateway::with([bad.endpoint("a"), good.endpoint("b")], |config| {
        config.notify = vec![told(&receiver, &["ejected"])];
    });
    eventually("it is listened to", || {
        for _ in 0..10 {
            let _ = ask(gateway.address(), GET);
        }
        receiver.count() > 0
    });
    let all = events(&receiver.requests());
    assert_eq!(all.len(), 1, "{all:?}");
    let said = |key: &str| all[0][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (said("event"), said("cluster"), said("endpoint")),
        ("ejected".into(), "web".into(), "a".into())
    );
    assert_eq!(
        (said("from"), said("to")),
        ("healthy".into(), "ejected".into())
    );
    assert_eq!(said("cause"), "consecutive_failures");
    assert!(said("evidence").contains("in a row failed") && said("until").ends_with('Z'));
}

/// What is refused is posted again, in order and with what came meanwhile; several go in one post.
#[test]
fn what_is_refused_is_posted_again() {
    let tries = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&tries);
    let receiver = Upstream::answering(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::status(503, "later"),
        1 => Answer::reset(),
        _ => Answer::status(202, ""),
    });
    let gateway = Gateway::with([], |config| {
        config.notify = vec![told(&receiver, &["panic", "reload"])];
    });
    let publish = |kind, evidence: &str| gateway.control().events().publish(event(kind, evidence));
    // The task may begin a moment after the gateway.
    eventually("it is listened to", || {
        publish(EventKind::Reload, "knock");
        tries.load(Ordering::Relaxed) > 0
    });
    for number in 0..150 {
        publish(EventKind::Panic, &number.to_string());
        publish(EventKind::Suspect, "not asked for");
    }
    let last = |requests: &[Received]| {
        let all = events(requests);
        all.last().is_some_and(|event| event["evidence"] == "149")
    };
    eventually("all are taken", || last(&receiver.requests()));
    let requests = receiver.requests();
    let taken = events(&requests[2..]);
    let numbers: Vec<u64> = taken
        .iter()
        .map(|event| event["number"].as_u64().expect("one"))
        .collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let panics = taken
        .iter()
        .filter(|event| event["event"] == "panic")
        .count();
    assert_eq!(panics, 150);
    assert!(taken.iter().all(|event| event["event"] != "suspect"));
    assert!(requests.len() < 20, "several at a time: {}", requests.len());
}

/// A reload tells others from then on; one that does not answer holds up nobody.
#[test]
fn a_reload_changes_who_is_told() {
    let (first, second) = (Upstream::answering(|_| Answer::never()), Upstream::ok(""));
    let mut config = evenkeel_testkit::config([]);
    config.notify = vec![told(&first, &["operator"])];
    let gateway = Gateway::start(&config);
    let publish = || {
        let event = event(EventKind::Operator, "x");
        gateway.control().events().publish(event);
    };
    eventually("the first is told", || {
        publish();
        first.count() > 0
    });
    config.notify = vec![told(&second, &["operator"])];
    let changes = gateway.wait(gateway.control().reload(&config, OperatorChanges::Keep));
    assert_eq!(changes.expect("it is right").settings, ["notify"]);
    eventually("the second is told", || {
        publish();
        second.count() > 0
    });
    eventually("the first is let go", || first.open_connections() == 0);
}
