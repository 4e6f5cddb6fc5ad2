//! What is told of calls, and lists that change by themselves.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenkeel_client::core::{Endpoint, Outcome};
use evenkeel_client::discovery::{Follow, Trouble};
use evenkeel_client::prometheus::Metrics;
use evenkeel_client::receipts::DecisionLog;
use evenkeel_client::sources::{DiscoverySource, Source};
use evenkeel_client::{Cluster, Plain, Settings};
use evenkeel_receipts::Verifier;
use futures_core::Stream;
use prometheus_client::registry::Registry;
use tower::ServiceExt;

use crate::endpoints::{Endpoints, Manner, eventually, listed};

/// Under every strategy, over changes of the list, and with failures: the gateway's own reader makes each decision of
/// it again.
#[tokio::test]
async fn a_log_of_decisions_is_one_that_can_be_verified() {
    let log = Arc::new(DecisionLog::new(Vec::new(), 1.0));
    let mut names = 0;
    for strategy in evenkeel_client::core::strategy::registry::STRATEGIES {
        let endpoints = Endpoints::default();
        endpoints.set("c", Manner::Refuses);
        let settings = Settings::new(format!("web-{}", strategy.name))
            .strategy(strategy.name, &[])
            .expect("registered")
            .outlier(None)
            .observe(log.clone());
        let cluster = Cluster::new(settings, listed(&["a", "b", "c"]), endpoints).expect("unique");
        for call in 0..40 {
            if call == 20 {
                cluster.upsert(Endpoint::new("d", "10.0.0.4:80").with_weight(3));
            }
            cluster
                .balance(Plain)
                .oneshot(call)
                .await
                .expect("an answer");
        }
        cluster.set_endpoints([]).expect("unique");
        cluster.balance(Plain).oneshot(0).await.expect_err("nobody");
        names += 1;
    }
    log.flush().expect("a vector");
    let text = log.with_writer(|text| String::from_utf8(std::mem::take(text)).expect("text"));
    let mut verifier = Verifier::new();
    for line in text.lines() {
        if let Err(difference) = verifier.line(line) {
            panic!("{difference}: {line}");
        }
    }
    assert_eq!(verifier.strategies().len(), names);
    let count = verifier.count();
    assert_eq!(count.differ, 0);
    assert!(count.decisions >= 41 * names as u64, "{count:?}");
    assert!(text.contains(r#""nobody":"empty""#));
    assert!(
        text.contains(r#""attempt":2"#),
        "a call that was refused went elsewhere"
    );
}

#[tokio::test]
async fn failures_are_written_whatever_the_sample() {
    let log = Arc::new(DecisionLog::new(Vec::new(), 0.0));
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Fails);
    let settings = Settings::new("web")
        .strategy("round_robin", &[])
        .expect("known")
        .outlier(None)
        .observe(log.clone());
    let cluster = Cluster::new(settings, listed(&["a", "b"]), endpoints).expect("unique");
    for call in 0..10 {
        let _ = cluster.balance(Plain).oneshot(call).await;
    }
    let text = log.with_writer(|text| String::from_utf8(std::mem::take(text)).expect("text"));
    let decisions = text
        .lines()
        .filter(|line| line.contains(r#""kind":"decision""#));
    let lines: Vec<&str> = decisions.collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(
        lines
            .iter()
            .all(|line| line.contains(r#""chosen":"a""#) && line.contains(r#""error":"error""#))
    );
}

#[tokio::test]
async fn metrics_say_what_calls_came_to() {
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Refuses);
    let settings = Settings::new("web")
        .strategy("round_robin", &[])
        .expect("known")
        .outlier(None);
    let cluster = Cluster::new(settings, listed(&["a", "b"]), endpoints).expect("unique");
    let metrics = Metrics::default();
    metrics.add(&cluster);
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics.clone()));
    for call in 0..10 {
        cluster
            .balance(Plain)
            .oneshot(call)
            .await
            .expect("an answer");
    }
    let text = || {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
        text
    };
    let written = text();
    for line in [
        r#"evenkeel_client_calls_total{cluster="web",endpoint="b",outcome="success"} 10"#,
        r#"evenkeel_client_call_duration_seconds_count{cluster="web",endpoint="b"} 10"#,
        r#"evenkeel_client_in_flight{cluster="web",endpoint="a"} 0"#,
        r#"evenkeel_client_endpoint_up{cluster="web",endpoint="a"} 1"#,
        r#"evenkeel_client_decisions_total{cluster="web",strategy="round_robin",outcome="none"} 0"#,
        r#"evenkeel_client_queue_length{cluster="web"} 0"#,
    ] {
        assert!(written.contains(line), "{line} is not in\n{written}");
    }
    assert!(
        !written.contains(r#"endpoint="a",outcome="failure"} 0"#),
        "{written}"
    );
    drop(cluster);
    eventually("a cluster that has ended is told of no more", || {
        !text().contains("web")
    });
}

/// A stream of what is put in.
struct Lists(tokio::sync::mpsc::Receiver<Vec<Endpoint>>);

impl Stream for Lists {
    type Item = Vec<Endpoint>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Vec<Endpoint>>> {
        self.0.poll_recv(cx)
    }
}

fn ids<C: evenkeel_client::Connect>(cluster: &Cluster<C>) -> Vec<String> {
    let stats = cluster.stats();
    stats
        .endpoints
        .iter()
        .map(|endpoint| endpoint.endpoint.id().to_owned())
        .collect()
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..4000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never holds");
}

#[tokio::test]
async fn a_stream_of_lists_is_followed_and_keeps_no_cluster_alive() {
    let (sender, receiver) = tokio::sync::mpsc::channel(4);
    let cluster =
        Cluster::new(Settings::new("web"), listed(&["a"]), |_: &Endpoint| ()).expect("unique");
    let following = tokio::spawn(cluster.follow(Lists(receiver)));
    sender.send(listed(&["b", "c"])).await.expect("followed");
    until(|| ids(&cluster) == ["b", "c"]).await;
    sender.send(listed(&["x", "x"])).await.expect("followed");
    sender.send(listed(&["d"])).await.expect("followed");
    until(|| ids(&cluster) == ["d"]).await;
    drop(cluster);
    // Whoever looks after the cluster may hold it for a moment more.
    while !following.is_finished() {
        let _ = sender.send(listed(&["e"])).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    following.await.expect("it ends with the cluster");
}

/// A refresh of nothing counts as the shortest one.
#[tokio::test]
async fn a_source_is_not_read_without_a_pause() {
    static READS: AtomicU32 = AtomicU32::new(0);
    let path = std::env::temp_dir().join(format!("evenkeel-skips-{}.toml", std::process::id()));
    // An entry that is skipped is told at each read.
    std::fs::write(&path, "endpoints = [\"127.0.0.1:1\", \"nonsense\"]\n").expect("a file");
    let source = Source::new(&DiscoverySource::File(path.clone())).expect("a file");
    let cluster = Cluster::new(Settings::new("web"), [], |_: &Endpoint| ()).expect("unique");
    let how = Follow {
        refresh: Duration::ZERO,
        on_trouble: |_| {
            READS.fetch_add(1, Ordering::Relaxed);
        },
        ..Follow::default()
    };
    let began = tokio::time::Instant::now();
    let following = tokio::spawn(cluster.follow_source(source, how));
    until(|| READS.load(Ordering::Relaxed) >= 6).await;
    // Rests of 100 ms lie between six reads; the source may tell of the file by itself in the beginning.
    assert!(began.elapsed() >= Duration::from_millis(300));
    following.abort();
    std::fs::remove_file(&path).expect("it is there");
}

static TROUBLE: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[tokio::test]
async fn a_file_is_followed_and_one_that_is_emptied_is_not_believed_at_once() {
    let path = std::env::temp_dir().join(format!("evenkeel-client-{}.toml", std::process::id()));
    let write = |text: &str| std::fs::write(&path, text).expect("a file");
    write("endpoints = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n");
    let source = Source::new(&DiscoverySource::File(path.clone())).expect("a file");
    let cluster = Cluster::new(Settings::new("web"), [], |_: &Endpoint| ()).expect("unique");
    let how = Follow {
        on_trouble: |trouble: &Trouble<'_>| {
            TROUBLE.lock().expect("whole").push(format!("{trouble:?}"))
        },
        ..Follow::default()
    };
    let following = tokio::spawn(cluster.follow_source(source, how));
    until(|| ids(&cluster) == ["127.0.0.1:1", "127.0.0.1:2"]).await;
    write("endpoints = [\"127.0.0.1:1\", \"127.0.0.1:2\", \"127.0.0.1:3\"]\n");
    until(|| ids(&cluster).len() == 3).await;
    write("endpoints = []\n");
    until(|| {
        TROUBLE
            .lock()
            .expect("whole")
            .iter()
            .any(|trouble| trouble.contains("Held"))
    })
    .await;
    assert_eq!(ids(&cluster).len(), 3);
    following.abort();
    std::fs::remove_file(&path).expect("it is there");
}

/// A caller without a runtime has its receipts too.
#[test]
fn callers_that_block_are_written_down_too() {
    let log = Arc::new(DecisionLog::new(Vec::new(), 1.0));
    let settings = Settings::new("web").observe(log.clone());
    let cluster = Cluster::new(settings, listed(&["a", "b"]), |_: &Endpoint| ()).expect("unique");
    for _ in 0..5 {
        cluster
            .tries()
            .next()
            .expect("one of two")
            .finish(Outcome::Success);
    }
    let text = log.with_writer(|text| String::from_utf8(std::mem::take(text)).expect("text"));
    assert_eq!(
        text.lines().count(),
        6,
        "a snapshot and five decisions: {text}"
    );
}
