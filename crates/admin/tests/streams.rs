//! What happened and what happens, as it is told.

mod support;

use std::time::Duration;

use evenkeel_gateway::{Event, EventKind};
use serde_json::{Value, json};
use support::schema::mistakes;
use support::{EventStream, Host};

async fn judge(host: &Host, name: &str, value: &Value) {
    let document = host.get("/api/v1/openapi.json").await.json();
    let schema = &document["components"]["schemas"][name];
    assert!(schema.is_object(), "{name}");
    let wrong = mistakes(&document, schema, value, "value");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

async fn drain(host: &Host, id: &str) {
    let path = format!("/api/v1/clusters/web/endpoints/{id}");
    let answer = host.call("PATCH", &path, "{\"admin\":\"draining\"}").await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn events_come_while_they_happen() {
    let host = Host::start(None).await;
    let mut events = host.open("/api/v1/events", "").await;
    drain(&host, "a").await;
    let event = events.next().await;
    judge(&host, "Event", &event).await;
    let told = ["event", "cluster", "endpoint"].map(|key| event[key].as_str());
    assert_eq!(told, [Some("operator"), Some("web"), Some("a")], "{event}");
    let evidence = event["evidence"].as_str().expect("words");
    assert!(evidence.contains("draining"), "{evidence}");
    let removed = host
        .call("DELETE", "/api/v1/clusters/web/endpoints/b", "")
        .await;
    assert_eq!(removed.status, 204);
    let event = events.next().await;
    assert_eq!(
        (&event["event"], &event["cause"]),
        (&"membership".into(), &"removed".into())
    );
}

/// "What changed at 12:03?"
#[tokio::test]
async fn what_happened_before_is_known() {
    let host = Host::start(None).await;
    drain(&host, "a").await;
    let all = host.get("/api/v1/events?follow=false").await.json();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    let (number, time) = (&all[0]["number"], all[0]["time"].as_str().expect("a time"));
    tokio::time::sleep(Duration::from_millis(2)).await;
    drain(&host, "b").await;
    let list = async |query: &str| {
        let answer = host
            .get(&format!("/api/v1/events?follow=false&{query}"))
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let events = answer.json();
        let ids = events.as_array().expect("an array").iter();
        ids.map(|event| event["endpoint"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(list(&format!("since={number}")).await, ["b"]);
    assert_eq!(list(&format!("since={time}")).await, ["a", "b"]);
    assert_eq!(list("since=1h").await, ["a", "b"]);
    let minute = time.get(11..16).expect("hours and minutes");
    assert_eq!(list(&format!("since={minute}")).await, ["a", "b"]);
    assert_eq!(list("endpoint=b").await, ["b"]);
    assert_eq!(list("cluster=idle").await, [""; 0]);
    assert_eq!(list("since=2100-01-01T00:00:00Z").await, [""; 0]);
    refused(&host).await;
    for (query, ids) in [
        (format!("until={number}"), &["a"][..]),
        (format!("until={time}"), &["a"]),
        ("until=1h".to_owned(), &[]),
        ("until=2100-01-01T00:00:00Z".to_owned(), &["a", "b"]),
        (format!("since={time}&until={time}"), &["a"]),
        (format!("since={number}&until={number}"), &[]),
    ] {
        assert_eq!(list(&query).await, ids, "{query}");
    }
}

/// What makes no sense is named.
async fn refused(host: &Host) {
    for (query, part) in [
        ("since=yesterday", "since \"yesterday\" is not a time like"),
        ("until=tomorrow", "until \"tomorrow\" is not a time like"),
        ("until=1h", "until goes with follow=false"),
        ("follow=false&since=1h&until=2h", "until lies before since"),
        (
            "sinc=1",
            "unknown parameter \"sinc\", did you mean \"since\"?",
        ),
        ("follow=no", "follow \"no\" is not"),
        ("since=1&since=2", "given twice"),
    ] {
        let detail = host
            .get(&format!("/api/v1/events?{query}"))
            .await
            .problem(422);
        assert!(detail.contains(part), "{detail}");
    }
}

/// A reader that was cut off goes on behind the last event it had.
#[tokio::test]
async fn a_reader_that_comes_back_misses_nothing() {
    let host = Host::start(None).await;
    drain(&host, "a").await;
    let mut first = host.open("/api/v1/events", "").await;
    let seen = first.next().await["number"].clone();
    drop(first);
    drain(&host, "b").await;
    let mut again = host
        .open("/api/v1/events", &format!("last-event-id: {seen}\r\n"))
        .await;
    assert_eq!(again.next().await["endpoint"], "b");
}

/// Whoever does not read holds up nobody, and is told how much it lost.
#[tokio::test]
async fn a_slow_reader_is_told_what_it_lost() {
    let host = Host::start(None).await;
    let mut slow = host.open("/api/v1/events", "").await;
    let evidence = "x".repeat(60_000);
    for _ in 0..1500 {
        let event = Event::new(EventKind::Reload, "flood", evidence.as_str());
        host.control.events().publish(event);
    }
    let (mut told, mut lost) = (0, 0);
    while told + lost < 1500 {
        let event = slow.next().await;
        if event["event"] == "missed" {
            judge(&host, "Event", &event).await;
            let words = event["evidence"].as_str().expect("words");
            let count = words
                .split(' ')
                .next()
                .and_then(|count| count.parse::<u64>().ok());
            lost += count.expect("a number");
        } else {
            told += 1;
        }
    }
    assert!(lost > 0 && told > 0, "{told} {lost}");
}

#[tokio::test]
async fn streams_have_a_limit() {
    let host = Host::start(None).await;
    let mut open: Vec<EventStream> = Vec::new();
    for _ in 0..64 {
        open.push(host.open("/api/v1/events", "").await);
    }
    let detail = host.get("/api/v1/stats/stream").await.problem(503);
    assert!(detail.contains("64 streams"), "{detail}");
    drop(open);
    // That somebody is gone is noticed when something is to be sent.
    loop {
        drain(&host, "a").await;
        let stream = host.get("/api/v1/stats/stream");
        if tokio::time::timeout(Duration::from_millis(100), stream)
            .await
            .is_err()
        {
            // It is a stream, and no refusal.
            break;
        }
    }
}

#[tokio::test]
async fn figures_come_once_a_second() {
    let host = Host::start(None).await;
    let mut stats = host.open("/api/v1/stats/stream", "").await;
    let figures = stats.next().await;
    judge(&host, "Stats", &figures).await;
    let cluster = &figures["clusters"][0];
    assert_eq!(cluster["name"], "web");
    assert_eq!(cluster["endpoints"][1]["weight"], 5);
    assert_eq!(
        figures["listeners"],
        json!([{ "name": "front", "connections": 0 }])
    );
    let seconds = figures["seconds"].as_f64().expect("a number");
    assert!(seconds >= 0.9, "{seconds}");
}
