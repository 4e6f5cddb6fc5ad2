//! Every key that is supported, and where its value arrives.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use evenkeel_config::{
    AccessFormat, Capacity, Cluster, KeyRules, KeySource, Level, Limits, Listener, LogFormat, Peak,
    ReportSource, Retry, RetryOn, SubsetRules,
};
use evenkeel_core::{
    KeyPolicy, MissingKey, Nanos, PanicThreshold, QueuePolicy, RetryPolicy, SubsetMethod,
    Watermarks, WeightLaw,
};

use super::{right, with_token};

/// Every supported key, none of them at its default.
pub(crate) const FULL: &str = r#"
[admin]
address = "0.0.0.0:9901"
token_file = "admin.token"

[log]
level = "debug"
format = "json"
access = { path = "logs/access.log", format = "common", sample = 0.25 }
decision = { path = "decisions.jsonl", sample = 0.5, keep = 7, header = "X-Why" }

[runtime]
workers = 3
drain_timeout = "5s"
instance = "gw-1"
zone = "z1"
state_dir = false

[[listener]]
name = "web"
address = "[::]:8443"
protocol = "http"
cluster = "a.b"
tls = false
proxy_protocol = false
trusted_proxies = ["10.0.0.0/8", "::1"]
half_close = "cancel"
limits = { connections = 7, header_bytes = "8KiB", headers = 256, body = "1MiB", body_rate = "2KiB", header_timeout = "1s", idle_timeout = "2s", streams = 9 }

[[listener]]
address = "127.0.0.1:0"

[[listener]]
address = "127.0.0.1:0"

[cluster.z]
strategy = "random"
endpoints = ["web.internal:80"]
panic = false
retry = false
capacity = false

[cluster."a.b"]
strategy = { name = "least_connections", choices = 3, scan = 0 }
protocol = "http1"
proxy_protocol = false
endpoints = [
  "[::1]:9001",
  { id = "b", address = "127.0.0.1:9002", weight = 2, zone = "z1", tier = 1, labels = { version = "2" }, capacity = 100 },
]

[cluster."a.b".health]
type = "http"
path = "/up?full=1"
method = "POST"
headers = { "Host" = "internal", "x-check" = "1" }
expect = { status = "200,3xx", body = "ok", body_regex = 'up: \d+' }
interval = "2s"
fast_interval = "1s"
timeout = "250ms"
rise = 1
fall = 2
hold_down = "0s"
hold_down_first = true
initial = "probe_first"

[cluster."a.b".outlier]
consecutive_failures = 3
failure_rate = 0.25
min_requests = 20
latency_factor = 4.5
interval = "5s"
base_ejection = "10s"
max_ejection = "1m"
max_ejected = 0.5

[cluster."a.b".slow_start]
window = "1m"
min = 0.25
aggression = 2
hold = "5s"

[cluster."a.b".panic]
threshold = 0.25

[cluster."a.b".capacity]
peak = 50
stop = 0.8
resume = 0.6
queue = { size = 7, timeout = "250ms" }

[cluster."a.b".dynamic_weights]
mode = "orca"
interval = "250ms"
report = "orca"
blackout = "0s"
expiry = "1m"

[cluster."a.b".retry]
attempts = 8
on = ["reset", "timeout", "429", "5xx"]
body = "1KiB"
per_try_timeout = "2s"
hedge_after = "50ms"
budget = { ratio = 0.5, per_second = 0, window = "1m" }

[cluster."a.b".timeout]
connect = "1.5s"
response = "1m"
idle = "1h"
pool_idle = "0s"

[cluster.keys]
strategy = { name = "ring_hash", points = 40, hash = "xxh64", seed = 7 }
endpoints = ["127.0.0.1:9001"]
hash = { key = ["header:x-user", "cookie:s", "query:q", "path", "source_ip"], missing = "error", bounded_load = 1.5 }
subset = { size = 12 }
"#;

#[test]
fn every_key_arrives() {
    let config = right(FULL, &with_token(" secret \n"));
    let admin = config.admin.as_ref().expect("it is on");
    assert_eq!(admin.address.to_string(), "0.0.0.0:9901");
    assert_eq!(
        admin.token.as_ref().expect("there is one").expose(),
        "secret"
    );
    assert!(!format!("{config:?}").contains("secret"));
    assert_eq!(
        (config.log.level, config.log.format),
        (Level::Debug, LogFormat::Json)
    );
    let access = config.log.access.as_ref().expect("an access log");
    assert_eq!(access.path, Path::new("logs/access.log"));
    assert_eq!((access.format, access.sample), (AccessFormat::Common, 0.25));
    let decision = config.log.decision.as_ref().expect("it is on");
    assert_eq!(decision.path.as_deref(), Some(Path::new("decisions.jsonl")));
    assert_eq!((decision.sample, decision.keep), (0.5, 7));
    assert_eq!(decision.header.as_deref(), Some("x-why"));
    assert_eq!(config.runtime.workers.count(64), 3);
    assert_eq!(config.runtime.drain_timeout, Duration::from_secs(5));
    assert_eq!(config.runtime.instance.as_deref(), Some("gw-1"));
    assert_eq!(config.runtime.zone.as_deref(), Some("z1"));
    check_listeners(&config.listeners);
    check_clusters(&config.clusters);
}

fn check_listeners(listeners: &[Listener]) {
    let [web, free, other] = listeners else {
        panic!("three listeners");
    };
    assert_eq!(
        (&*web.name, web.address.to_string().as_str()),
        ("web", "[::]:8443")
    );
    assert_eq!(web.cluster.as_deref(), Some("a.b"));
    assert!(web.trusts("10.1.2.3".parse().ok()));
    assert!(!web.trusts("192.0.2.7".parse().ok()));
    let limits = Limits {
        connections: 7,
        header_bytes: 8192,
        headers: 256,
        body: Some(1 << 20),
        body_rate: Some(2048),
        header_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(2),
        streams: 9,
    };
    assert_eq!(web.limits, limits);
    assert!(!web.half_close && free.half_close);
    assert_eq!(
        (&*free.name, &*other.name),
        ("127.0.0.1:0", "127.0.0.1:0#2")
    );
    assert_eq!(other.cluster, None);
}

fn check_retry(retry: &Retry) {
    let on = RetryOn {
        connect: false,
        reset: true,
        timeout: true,
        statuses: vec![429..=429, 500..=599],
    };
    assert_eq!((retry.attempts, &retry.on), (8, &on));
    assert_eq!(retry.body, 1024);
    assert_eq!(retry.per_try_timeout, Some(Duration::from_secs(2)));
    assert_eq!(retry.hedge_after, Some(Duration::from_millis(50)));
    let budget = RetryPolicy {
        ratio: 0.5,
        per_second: 0,
        window: Nanos::from_secs(60),
    };
    assert_eq!(retry.budget, budget);
}

fn check_keys(cluster: &Cluster) {
    assert_eq!(cluster.strategy.name(), "ring_hash");
    assert!(cluster.strategy.is_keyed());
    let hasher = cluster.strategy.build().hasher().expect("it knows keys");
    assert_eq!((hasher.algorithm().as_str(), hasher.seed()), ("xxh64", 7));
    let rules = KeyRules {
        sources: vec![
            KeySource::Header("x-user".into()),
            KeySource::Cookie("s".into()),
            KeySource::Query("q".into()),
            KeySource::Path,
            KeySource::SourceIp,
        ],
        policy: KeyPolicy {
            missing: MissingKey::Error,
            bounded_load: Some(1.5),
        },
    };
    assert_eq!(cluster.keys, rules);
    let subset = SubsetRules {
        size: 12,
        method: SubsetMethod::Rendezvous,
    };
    assert_eq!(cluster.subset, Some(subset));
}

fn check_clusters(clusters: &[Cluster]) {
    let [z, ab, keys] = clusters else {
        panic!("three clusters, in the order of the file");
    };
    check_keys(keys);
    assert_eq!((&*z.name, z.strategy.name()), ("z", "random"));
    assert_eq!(
        (z.panic, z.retry.attempts, z.capacity),
        (PanicThreshold::OFF, 1, None)
    );
    assert_eq!(z.endpoints[0].address(), "web.internal:80");

    assert_eq!((&*ab.name, ab.strategy.name()), ("a.b", "least_request"));
    let params: BTreeMap<_, _> = ab.strategy.params().iter().cloned().collect();
    assert_eq!(
        (params["choices"].to_string(), params["scan"].to_string()),
        ("3".into(), "0".into())
    );
    assert_eq!(ab.strategy.build().descriptor().name, "least_request");
    assert_eq!(ab.panic, PanicThreshold::new(0.25).expect("a share"));
    assert_eq!(
        ab.capacity,
        Some(Capacity {
            peak: Peak::Requests(50),
            watermarks: Watermarks::new(0.8, 0.6).expect("in order"),
            queue: Some(QueuePolicy {
                size: 7,
                timeout: Nanos::from_millis(250),
            }),
        })
    );
    let weights = ab.dynamic_weights.expect("they follow");
    assert_eq!(
        (weights.rules.law, weights.report, weights.interval),
        (
            WeightLaw::Orca,
            ReportSource::Orca,
            Duration::from_millis(250)
        )
    );
    assert_eq!(
        (weights.rules.blackout, weights.rules.expiry),
        (Nanos(0), Nanos::from_secs(60))
    );
    check_retry(&ab.retry);
    check_endpoints(ab);
}

fn check_endpoints(ab: &Cluster) {
    assert_eq!(ab.timeout.connect, Duration::from_millis(1500));
    assert_eq!(ab.timeout.pool_idle, Duration::ZERO);
    let [first, b] = &ab.endpoints[..] else {
        panic!("two endpoints");
    };
    assert_eq!((first.id(), first.capacity()), ("[::1]:9001", Some(50)));
    assert_eq!(
        (b.id(), b.weight(), b.zone(), b.tier()),
        ("b", 2, Some("z1"), 1)
    );
    assert_eq!(
        (b.capacity(), b.labels()["version"].as_ref()),
        (Some(100), "2")
    );
}
