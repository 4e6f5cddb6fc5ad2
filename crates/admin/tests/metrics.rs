//! `/metrics`, read by a strict reader.

mod support;

use support::Host;
use support::exposition::{self, Family};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn value(family: &Family, labels: &[(&str, &str)]) -> f64 {
    let found: Vec<f64> = family
        .samples
        .iter()
        .filter(|sample| sample.has(labels) && !sample.name.ends_with("_bucket"))
        .map(|sample| sample.value)
        .collect();
    assert_eq!(found.len(), 1, "{labels:?}");
    found[0]
}

#[tokio::test]
async fn every_series_is_there_from_the_start() {
    let host = Host::start(None).await;
    let answer = host.get("/metrics").await;
    assert_eq!(
        answer.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let families = exposition::read(&answer.text);
    let kinds: Vec<(&str, &str, usize)> = families
        .iter()
        .map(|(name, family)| (name.as_str(), family.kind.as_str(), family.samples.len()))
        .collect();
    assert_eq!(kinds, SERIES);
    let named = [
        "evenkeel_build_info",
        "evenkeel_endpoint_up",
        "evenkeel_endpoint_weight",
    ];
    for (name, family) in families
        .iter()
        .filter(|(name, _)| !named.contains(&name.as_str()))
    {
        let is_zero = family.samples.iter().all(|sample| sample.value == 0.0);
        assert!(is_zero, "{name}");
    }
    let weights = &families["evenkeel_endpoint_weight"];
    for kind in ["configured", "effective"] {
        assert_eq!(value(weights, &[("endpoint", "b"), ("kind", kind)]), 5.0);
    }
    let build = &families["evenkeel_build_info"].samples[0];
    assert_eq!(build.labels["version"], env!("CARGO_PKG_VERSION"));
}

/// Families, their kinds and how many lines each has at the start: two endpoints of one cluster, none of the other,
/// and each cluster's own answers.
const SERIES: [(&str, &str, usize); 23] = [
    ("evenkeel_build_info", "gauge", 1),
    ("evenkeel_config_reloads_total", "counter", 2),
    ("evenkeel_connections", "gauge", 1),
    ("evenkeel_connections_rejected_total", "counter", 5),
    (
        "evenkeel_decision_duration_seconds",
        "histogram",
        2 * (13 + 2),
    ),
    ("evenkeel_decisions_total", "counter", 2 * 4),
    ("evenkeel_ejections_total", "counter", 2 * 3),
    ("evenkeel_endpoint_transitions_total", "counter", 2 * 5),
    ("evenkeel_endpoint_up", "gauge", 2),
    ("evenkeel_endpoint_weight", "gauge", 2 * 2),
    ("evenkeel_in_flight", "gauge", 2),
    ("evenkeel_load_reports_total", "counter", 2 * 2),
    ("evenkeel_log_dropped_total", "counter", 3),
    ("evenkeel_panic", "gauge", 2),
    ("evenkeel_probe_duration_seconds", "histogram", 2 * (19 + 2)),
    ("evenkeel_queue_length", "gauge", 2),
    ("evenkeel_queue_wait_seconds", "histogram", 2 * (19 + 2)),
    (
        "evenkeel_request_duration_seconds",
        "histogram",
        4 * (19 + 2),
    ),
    ("evenkeel_requests_total", "counter", (4 + 1) * 6),
    ("evenkeel_retries_total", "counter", 2 * 3),
    ("evenkeel_shed_total", "counter", 2 * 3 * 5),
    ("evenkeel_task_restarts_total", "counter", 9),
    ("evenkeel_upstream_connections", "gauge", 2 * 2),
];

/// An endpoint that has nothing to say, for as long as the test lasts.
async fn answering_204() -> std::net::SocketAddr {
    let upstream = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = upstream.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = upstream.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {
                    let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                    stream.write_all(answer).await.expect("written");
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn requests_are_counted_by_who_answered() {
    let host = Host::start(None).await;
    let address = answering_204().await;
    for id in ["a", "b"] {
        let path = format!("/api/v1/clusters/web/endpoints/{id}");
        host.send("DELETE", &path, &[], b"").await;
    }
    let all = "/api/v1/clusters/web/endpoints";
    let odd = "c\\\"d";
    let sent = serde_json::json!({"id": odd, "address": address.to_string()});
    assert_eq!(host.call("POST", all, &sent.to_string()).await.status, 201);
    let front = host.control.listeners()[0].address().ip().expect("a port");
    assert_eq!(get(front).await, 204);
    assert_eq!(get(front).await, 204);
    let path = "/api/v1/clusters/web/endpoints/c%5C%22d";
    host.call("PATCH", path, r#"{"admin": "draining"}"#).await;
    assert_eq!(get(front).await, 503);

    let families = exposition::read(&host.get("/metrics").await.text);
    let requests = &families["evenkeel_requests_total"];
    let of = |endpoint, class| {
        [
            ("cluster", "web"),
            ("endpoint", endpoint),
            ("code_class", class),
        ]
    };
    assert_eq!(value(requests, &of(odd, "2xx")), 2.0);
    assert_eq!(value(requests, &of("", "5xx")), 1.0);
    let decisions = &families["evenkeel_decisions_total"];
    let outcome = |word| [("cluster", "web"), ("outcome", word)];
    assert_eq!(value(decisions, &outcome("picked")), 2.0);
    assert_eq!(value(decisions, &outcome("none")), 1.0);
    let durations = &families["evenkeel_request_duration_seconds"];
    let count = durations
        .samples
        .iter()
        .find(|sample| sample.name.ends_with("_count") && sample.has(&[("endpoint", odd)]));
    assert_eq!(count.map(|sample| sample.value), Some(2.0));

    let web = host.get("/api/v1/clusters/web").await.json();
    assert_eq!(web["totals"]["requests"], 3);
    assert_eq!(web["totals"]["gateway_answers"], 1);
    assert_eq!(web["totals"]["codes"]["2xx"], 2);
    assert_eq!(web["endpoints"][0]["requests"], 2);
}

/// Whatever clients think of: hosts, paths and methods make no series.
#[tokio::test]
async fn ten_thousand_hosts_and_paths_make_no_series() {
    const AT_ONCE: usize = 100;
    let host = Host::start(None).await;
    let series = async || {
        let families = exposition::read(&host.get("/metrics").await.text);
        let samples = families.into_values().flat_map(|family| family.samples);
        let names = samples.map(|sample| (sample.name, sample.labels));
        names.collect::<std::collections::BTreeSet<_>>()
    };
    // Nobody answers, so that each request costs little.
    for id in ["a", "b"] {
        let path = format!("/api/v1/clusters/web/endpoints/{id}");
        let drained = host.call("PATCH", &path, "{\"admin\":\"draining\"}").await;
        assert_eq!(drained.status, 200);
    }
    let before = series().await;
    let address = host.control.listeners()[0]
        .address()
        .ip()
        .expect("an IP address");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    for batch in 0..10_000 / AT_ONCE {
        let requests: String = (0..AT_ONCE)
            .map(|number| {
                let name = batch * AT_ONCE + number;
                format!(
                    "M{number} /p{name}?q={name} HTTP/1.1\r\nhost: h{name}.example\r\nuser-agent: u{name}\r\n\r\n"
                )
            })
            .collect();
        stream
            .write_all(requests.as_bytes())
            .await
            .expect("written");
        let (mut answered, mut rest) = (0, String::new());
        while answered < AT_ONCE {
            let mut bytes = [0; 65_536];
            let count = stream.read(&mut bytes).await.expect("an answer");
            assert!(count > 0, "the connection goes on");
            rest.push_str(std::str::from_utf8(&bytes[..count]).expect("text"));
            answered += rest.matches("HTTP/1.1 503").count();
            // What may be the beginning of the next one stays.
            rest = rest.split_off(rest.len() - rest.len().min(11));
        }
    }
    assert_eq!(series().await, before);
    let web = host.get("/api/v1/clusters/web").await.json();
    assert_eq!(web["totals"]["requests"], 10_000);
}

#[tokio::test]
async fn open_metrics_are_for_those_who_ask() {
    let host = Host::start(None).await;
    let accept = [(
        "accept",
        "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
    )];
    let answer = host.send("GET", "/metrics", &accept, b"").await;
    assert!(
        answer
            .header("content-type")
            .starts_with("application/openmetrics-text")
    );
    assert!(answer.text.ends_with("# EOF\n"));
}

async fn get(address: std::net::SocketAddr) -> u16 {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.expect("written");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("an answer");
    text.get(9..12)
        .and_then(|code| code.parse().ok())
        .expect("a status")
}

#[tokio::test]
async fn the_reference_lists_every_metric_as_it_is() {
    let host = Host::start(None).await;
    let page = include_str!("../../../docs/reference/metrics.md");
    let metrics = host.get("/metrics").await.text;
    for (name, family) in exposition::read(&metrics) {
        let labels = family.samples[0].labels.keys();
        let labels: Vec<String> = labels.filter(|label| *label != "le").cloned().collect();
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` | {} |", family.kind)));
        let row = row.unwrap_or_else(|| panic!("no row for {name}, a {}", family.kind));
        let told = row.split('|').nth(3).expect("a cell of labels");
        let mut told: Vec<&str> = told
            .split(',')
            .map(|label| label.trim().trim_matches('`'))
            .collect();
        told.sort_unstable();
        assert_eq!(told, labels, "{name}");
    }
}

/// Those that alerts and the dashboard look at before the gateway has them.
const AWAITED: [&str; 1] = ["evenkeel_discovery_age_seconds"];

/// An alert on a metric that is not there never fires.
#[test]
fn alerts_and_the_dashboard_look_at_metrics_that_are_there() {
    let page = include_str!("../../../docs/reference/metrics.md");
    for text in [
        include_str!("../../../deploy/prometheus/evenkeel.rules.yml"),
        include_str!("../../../deploy/grafana/evenkeel.json"),
    ] {
        let word = |c: char| c.is_ascii_lowercase() || c == '_';
        let names = text
            .split(|c| !word(c))
            .filter(|name| name.starts_with("evenkeel_"));
        let names: std::collections::BTreeSet<&str> = names.collect();
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            let base = name.strip_suffix("_bucket").unwrap_or(name);
            let is_there = page.contains(&format!("| `{base}` |"));
            let is_awaited = AWAITED.contains(&base);
            assert!(
                is_there || is_awaited,
                "{name} is in no row of the reference"
            );
        }
    }
}
