//! The whole, and what concerns the process.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::cluster::Cluster;
use super::discovery::EtcdPlace;
use super::listener::Listener;
use crate::value::url::HookUrl;

/// The resolved configuration of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The admin API; none: off.
    pub admin: Option<Admin>,
    /// The log on stderr.
    pub log: Log,
    /// The process.
    pub runtime: Runtime,
    /// The gateways that this one shares with; none: it is alone.
    pub fleet: Option<Fleet>,
    /// Who is told what happens, in the order of the file.
    pub notify: Vec<Notify>,
    /// The sockets, in the order of the file; at least one. Names and addresses are unique.
    pub listeners: Vec<Listener>,
    /// The clusters, in the order of the file. Names are unique.
    pub clusters: Vec<Cluster>,
}

impl Config {
    /// The cluster of that name.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| &*cluster.name == name)
    }
}

/// Gateways that share what operators change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// Where they share it.
    pub etcd: EtcdPlace,
    /// What the keys of this fleet begin with; it ends with a slash.
    pub prefix: Arc<str>,
    /// Whether they share what operators change.
    pub shares_admin: bool,
    /// Whether they share which endpoints they hold out.
    pub shares_health: bool,
}

impl Fleet {
    /// The prefix of a fleet that names none.
    pub const PREFIX: &'static str = "/evenkeel/fleet/";
}

/// The words for what happens, as notifications may ask for it.
pub const EVENTS: &[&str] = &[
    "healthy",
    "suspect",
    "unhealthy",
    "ejected",
    "recovering",
    "recovered",
    "panic",
    "shared_cause",
    "membership",
    "agent",
    "operator",
    "reload",
    "discovery",
    "fleet",
];

/// Somebody who is told what happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notify {
    /// Where events are posted.
    pub url: HookUrl,
    /// Which ones, in words of [`EVENTS`].
    pub events: Vec<&'static str>,
}

impl Notify {
    /// What is posted where nothing else is asked for.
    pub const EVENTS: [&str; 4] = ["unhealthy", "ejected", "panic", "recovered"];
}

/// The admin API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens.
    pub address: SocketAddr,
    /// The bearer token that calls must carry; there is one when the address is not loopback.
    pub token: Option<Token>,
}

/// A bearer token: visible ASCII, never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token out of the text of its file; space around it is cut.
    ///
    /// # Errors
    ///
    /// Why it is not a token: nothing there, or not one word of visible ASCII.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let token = text.trim();
        if token.is_empty() {
            Err("is empty")
        } else if token.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(token.to_owned()))
        } else {
            Err("does not hold one word of visible ASCII characters")
        }
    }

    /// The secret itself, for comparison in constant time.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What is written down: of the process to stderr, of requests to files.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The least urgent lines that are written to stderr.
    pub level: Level,
    /// How lines on stderr look.
    pub format: LogFormat,
    /// A line for each request; none: off.
    pub access: Option<AccessLog>,
    /// Receipts of decisions; none: no decision is written down.
    pub decision: Option<DecisionLog>,
    /// Spans of requests; none: off.
    pub trace: Option<TraceLog>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: Level::default(),
            format: LogFormat::default(),
            access: None,
            decision: Some(DecisionLog::default()),
            trace: None,
        }
    }
}

/// Receipts of decisions.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionLog {
    /// The file that they are appended to, `-` is stdout; none: they stay in memory.
    pub path: Option<PathBuf>,
    /// The share of requests that have one, 0 to 1, by hash of the request's id.
    pub sample: f64,
    /// How many of the latest stay in memory.
    pub keep: u32,
    /// The field by which a request asks for its own, in lower case.
    pub header: Option<String>,
}

impl Default for DecisionLog {
    fn default() -> Self {
        Self {
            path: None,
            sample: 0.001,
            keep: 10_000,
            header: None,
        }
    }
}

/// The log of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessLog {
    /// The file that lines are appended to; `-` is stdout.
    pub path: PathBuf,
    /// How lines look.
    pub format: AccessFormat,
    /// The share of requests that are logged, 0 to 1.
    pub sample: f64,
}

impl Default for AccessLog {
    fn default() -> Self {
        Self {
            path: "access.jsonl".into(),
            format: AccessFormat::Json,
            sample: 1.0,
        }
    }
}

/// Spans of requests, sent to a collector of traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceLog {
    /// Where they are posted (OTLP over HTTP).
    pub url: HookUrl,
    /// The share of requests that are in no trace yet for which one begins, 0 to 1, by hash of the
    /// request's id.
    pub sample: f64,
    /// The name of the service that they are of.
    pub service: String,
}

impl TraceLog {
    /// The share where none is given.
    pub const SAMPLE: f64 = 0.01;
    /// The service where none is given.
    pub const SERVICE: &str = "evenkeel";
    /// The path where the URL has none: that which collectors listen on.
    pub const PATH: &str = "/v1/traces";
}

/// How lines of the access log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessFormat {
    /// An object for each line.
    #[default]
    Json,
    /// The common log format, with more behind it.
    Common,
}

/// How urgent a line of the log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something will fail, or is not as it was meant.
    Warn,
    /// What operators want to know.
    #[default]
    Info,
    /// What happens to each connection.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The word for it in configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object for each line.
    Json,
}

/// The process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// How many workers there are.
    pub workers: Workers,
    /// How long requests in flight may take to finish after SIGTERM.
    pub drain_timeout: Duration,
    /// Who this gateway is; none: the host name.
    pub instance: Option<String>,
    /// Where this gateway stands; none: zones play no part.
    pub zone: Option<String>,
    /// A folder for what should outlive a restart; none: nothing does.
    pub state_dir: Option<PathBuf>,
}

impl Default for Runtime {
    fn default() -> Self {
        Self {
            workers: Workers::Auto,
            drain_timeout: Duration::from_secs(30),
            instance: None,
            zone: None,
            state_dir: None,
        }
    }
}

/// How many workers there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// One for each core.
    #[default]
    Auto,
    /// So many, at most [`Workers::MAX`].
    Count(NonZeroU16),
}

impl Workers {
    /// The most workers.
    pub const MAX: u16 = 1024;

    /// That many workers, when it is 1 to [`Workers::MAX`].
    #[must_use]
    pub fn new(count: u16) -> Option<Self> {
        (count <= Self::MAX).then(|| NonZeroU16::new(count).map(Self::Count))?
    }

    /// The number of them on a host of `cores`.
    #[must_use]
    pub fn count(self, cores: usize) -> usize {
        match self {
            Self::Auto => cores.clamp(1, usize::from(Self::MAX)),
            Self::Count(count) => usize::from(count.get()),
        }
    }
}
