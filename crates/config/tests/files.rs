//! Files that are right, and what they come to.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use evenkeel_config::{
    AccessFormat, Capacity, Cluster, Config, Environment, KeyRules, KeySource, Level, Limits,
    LoadError, LogFormat, Peak, Probe, ReportSource, Retry, RetryOn, Runtime, SubsetRules,
    Timeouts, Workers, load, parse,
};
use evenkeel_core::health::{ActivePolicy, Initial, OutlierPolicy, SlowStart};
use evenkeel_core::{
    KeyPolicy, MissingKey, Nanos, PanicThreshold, QueuePolicy, RetryPolicy, SubsetMethod,
    Watermarks, WeightLaw,
};

const SHORTEST: &str = r#"
[[listener]]
address = "127.0.0.1:8080"
cluster = "web"

[cluster.web]
endpoints = ["127.0.0.1:9001", "127.0.0.1:9002"]
"#;

/// Every supported key, none of them at its default.
const FULL: &str = r#"
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

fn right(text: &str, environment: &Environment<'_>) -> Config {
    let (config, report) = parse("f.toml", text, environment);
    assert_eq!(report.to_string(), "");
    config.expect("no mistakes")
}

fn with_token(token: &'static str) -> Environment<'static> {
    Environment::new(
        |_| None,
        move |path| {
            assert_eq!(path, Path::new("admin.token"));
            Ok(token.to_owned())
        },
    )
}

#[test]
fn dynamic_weights_have_defaults() {
    let text = format!("{SHORTEST}dynamic_weights = {{}}\n");
    let config = right(&text, &Environment::empty());
    let weights = config.clusters[0].dynamic_weights.expect("they follow");
    assert_eq!(
        (weights.rules.law, weights.report),
        (WeightLaw::Utilization, ReportSource::Orca)
    );
    let times = [
        weights.interval.into(),
        weights.rules.blackout,
        weights.rules.expiry,
    ];
    assert_eq!(times, [1, 10, 180].map(Nanos::from_secs));
}

#[test]
fn health_is_read_as_it_is_written() {
    let config = right(FULL, &with_token("secret"));
    let cluster = config.cluster("a.b").expect("the cluster");
    let check = cluster.health.as_ref().expect("it is on");
    let Probe::Http(probe) = &check.probe else {
        panic!("{check:?}");
    };
    assert_eq!((&*probe.method, &*probe.path), ("POST", "/up?full=1"));
    let headers: Vec<_> = probe
        .headers
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert_eq!(headers, [("Host", "internal"), ("x-check", "1")]);
    assert!(probe.statuses.contain(302) && !probe.statuses.contain(201));
    assert_eq!(probe.body.as_deref(), Some("ok"));
    let pattern = probe.pattern.as_ref().expect("it is given");
    assert!(pattern.is_match(b"up: 3") && !pattern.is_match(b"up: x"));
    let ms = Nanos::from_millis;
    assert_eq!(
        check.policy,
        ActivePolicy {
            interval: ms(2000),
            fast_interval: ms(1000),
            timeout: ms(250),
            rise: 1,
            fall: 2,
            hold_down: Nanos(0),
            hold_down_first: true,
            initial: Initial::ProbeFirst,
        }
    );
    let outlier = OutlierPolicy {
        consecutive_failures: 3,
        failure_rate: 0.25,
        min_requests: 20,
        latency_factor: Some(4.5),
        interval: ms(5000),
        base_ejection: ms(10_000),
        max_ejection: ms(60_000),
        max_ejected: 0.5,
    };
    assert_eq!(cluster.outlier, Some(outlier));
    let slow = SlowStart {
        window: ms(60_000),
        min: 0.25,
        aggression: 2.0,
        hold: ms(5000),
    };
    assert_eq!(cluster.slow_start, Some(slow));
}

#[test]
fn the_shortest_file_has_defaults_in_all_things() {
    let config = right(SHORTEST, &Environment::empty());
    assert_eq!(config.admin, None);
    assert_eq!(
        (config.log.level, config.log.format),
        (Level::Info, LogFormat::Text)
    );
    assert_eq!(config.log.access, None);
    let decision = config.log.decision.as_ref().expect("on by default");
    assert_eq!((decision.sample, decision.keep), (0.001, 10_000));
    assert_eq!((&decision.path, &decision.header), (&None, &None));
    assert_eq!(config.runtime, Runtime::default());
    let [listener] = &config.listeners[..] else {
        panic!("one listener");
    };
    assert_eq!(&*listener.name, "127.0.0.1:8080");
    assert_eq!(listener.limits, Limits::default());
    assert_eq!(listener.trusted_proxies, []);
    let cluster = config.cluster("web").expect("the cluster");
    assert_eq!(cluster.strategy.name(), "least_request");
    assert_eq!(cluster.health, None);
    assert_eq!(
        (cluster.outlier, cluster.slow_start),
        (Some(OutlierPolicy::default()), Some(SlowStart::default()))
    );
    assert_eq!(
        (&cluster.retry, cluster.timeout),
        (&Retry::default(), Timeouts::default())
    );
    assert_eq!(
        (cluster.panic, cluster.capacity),
        (PanicThreshold::default(), None)
    );
    let endpoints: Vec<_> = cluster
        .endpoints
        .iter()
        .map(|endpoint| {
            (
                endpoint.id(),
                endpoint.address(),
                endpoint.weight(),
                endpoint.tier(),
            )
        })
        .collect();
    let expected = ["127.0.0.1:9001", "127.0.0.1:9002"].map(|address| (address, address, 1, 0));
    assert_eq!(endpoints, expected);
}

/// The figures of the reference page, written down once more: a changed default is a changed promise.
#[test]
fn defaults_are_those_that_were_promised() {
    let seconds = Duration::from_secs;
    let limits = Limits::default();
    assert_eq!(
        (limits.connections, limits.header_bytes, limits.headers),
        (10_000, 65_536, 100)
    );
    assert_eq!((limits.body, limits.header_timeout), (None, seconds(10)));
    assert_eq!((limits.idle_timeout, limits.streams), (seconds(60), 128));
    let timeouts = Timeouts::default();
    assert_eq!(
        (timeouts.connect, timeouts.response),
        (seconds(1), seconds(60))
    );
    assert_eq!(
        (timeouts.idle, timeouts.pool_idle),
        (seconds(60), seconds(30))
    );
    assert_eq!(Retry::default().attempts, 2);
    assert_eq!(
        PanicThreshold::default(),
        PanicThreshold::new(0.5).expect("a share")
    );
    assert_eq!(Runtime::default().drain_timeout, seconds(30));
    assert_eq!(Runtime::default().workers, Workers::Auto);
}

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

    let [web, free, other] = &config.listeners[..] else {
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
    check_clusters(&config.clusters);
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

/// Line ends of other systems and a byte order mark are no mistakes, and do not shift places.
#[test]
fn a_file_from_elsewhere_is_read() {
    let text = format!("\u{feff}{}", SHORTEST.replace('\n', "\r\n"));
    right(&text, &Environment::empty());
    let text = "\u{feff}listener = 1";
    let (_, report) = parse("f.toml", text, &Environment::empty());
    assert_eq!(report.diagnostics()[0].column, 12);
}

#[test]
fn variables_are_taken_from_the_environment() {
    let text = SHORTEST
        .replace("127.0.0.1:8080", "127.0.0.1:${PORT}")
        .replace("127.0.0.1:9002", "${HOST:-localhost}:9002");
    let variable = |name: &str| (name == "PORT").then(|| "8081".to_owned());
    let environment = Environment::new(variable, |_| Err(io::ErrorKind::NotFound.into()));
    let config = right(&text, &environment);
    assert_eq!(config.listeners[0].address.to_string(), "127.0.0.1:8081");
    assert_eq!(config.clusters[0].endpoints[1].address(), "localhost:9002");

    let (_, report) = parse("f.toml", &text, &Environment::empty());
    let missing = &report.diagnostics()[0];
    assert_eq!((missing.line, missing.column), (3, 22));
    assert_eq!(missing.message, "the environment variable PORT is not set");
}

#[test]
fn a_token_file_must_hold_a_token() {
    for (token, why) in [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("two words", "one word of visible ASCII"),
        ("grün", "one word of visible ASCII"),
    ] {
        let (config, report) = parse("f.toml", FULL, &with_token(token));
        assert!(config.is_none());
        assert_eq!(report.errors(), 1, "{report}");
        assert!(report.to_string().contains(why), "{report}");
    }
    let off = FULL.replace("\"admin.token\"", "false");
    let (_, report) = parse("f.toml", &off, &Environment::empty());
    assert!(report.to_string().contains("needs a token"), "{report}");
}

#[test]
fn many_mistakes_are_reported_at_once() {
    let text = SHORTEST.replace("127.0.0.1", "127.0.0.300");
    let (_, report) = parse("f.toml", &text, &Environment::empty());
    assert_eq!(report.errors(), 3, "{report}");
    let endpoints: Vec<String> = (0..10_000).map(|_| "\"a\"".to_owned()).collect();
    let text = format!("[cluster.web]\nendpoints = [{}]\n", endpoints.join(",\n"));
    let (_, report) = parse("f.toml", &text, &Environment::empty());
    assert_eq!(report.errors(), 10_001);
    assert!(report.render_text(false).ends_with("... and 9901 more\n"));
}

/// A folder for a test's files, gone when the test ends.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Self(folder)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file for the test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_loaded_with_the_files_beside_it() {
    let folder = Folder::new("load");
    folder.write("admin.token", b"secret\n");
    let path = folder.write(
        "evenkeel.toml",
        format!("[admin]\ntoken_file = \"admin.token\"\n{SHORTEST}").as_bytes(),
    );
    let loaded = load(&path).expect("right");
    assert!(loaded.config.admin.expect("it is on").token.is_some());
    assert_eq!(loaded.report.warnings(), 0);

    std::fs::remove_file(folder.0.join("admin.token")).expect("it was there");
    let error = load(&path).expect_err("the token is gone");
    let LoadError::Invalid(report) = &error else {
        panic!("{error}");
    };
    assert_eq!((report.errors(), report.diagnostics()[0].line), (1, 2));
    assert!(
        error
            .to_string()
            .contains("evenkeel.toml:2:14: error: the token file"),
        "{error}"
    );
}

#[test]
fn an_unreadable_file_is_one_line_with_its_path() {
    let folder = Folder::new("unreadable");
    for (path, why) in [
        (folder.0.join("missing.toml"), "No such file"),
        (folder.0.clone(), "directory"),
        (
            folder.write("binary.toml", b"a = 1\n\xff\xfe"),
            "not UTF-8 text, see line 2",
        ),
        (
            folder.write("large.toml", &vec![b'#'; (16 << 20) + 1]),
            "larger than 16 MiB",
        ),
    ] {
        let error = load(&path).expect_err(why);
        let line = error.to_string();
        assert!(matches!(error, LoadError::Unreadable(_)));
        assert!(
            line.contains(&path.display().to_string()) && line.contains(why),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
    }
}
