//! Files that are right, and what they come to.

#[path = "files/every_key.rs"]
mod every_key;

use std::io;
use std::path::Path;
use std::time::Duration;

use evenkeel_config::{
    Cluster, Config, Environment, Level, Limits, LoadError, LogFormat, Probe, ReportSource, Retry,
    Runtime, Timeouts, Workers, load, parse,
};
use evenkeel_core::health::{ActivePolicy, Initial, OutlierPolicy, SlowStart};
use evenkeel_core::{Nanos, PanicThreshold, WeightLaw};

use every_key::FULL;

const SHORTEST: &str = r#"
[[listener]]
address = "127.0.0.1:8080"
cluster = "web"

[cluster.web]
endpoints = ["127.0.0.1:9001", "127.0.0.1:9002"]
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
    check_ejection_and_warm_up(cluster);
}

fn check_ejection_and_warm_up(cluster: &Cluster) {
    let ms = Nanos::from_millis;
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
