//! How endpoints are checked.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use evenkeel_core::health::ActivePolicy;
use regex_lite::Regex;

use crate::value::statuses::Statuses;

/// How endpoints are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthCheck {
    /// What is asked, and what the answer should be.
    pub probe: Probe,
    /// How often, and what follows from the answers.
    pub policy: ActivePolicy,
}

/// What is asked of an endpoint, and what the answer should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// That it accepts a connection.
    Tcp,
    /// A request.
    Http(HttpProbe),
    /// What gRPC's health service says of this service; empty: of the whole server.
    Grpc(Arc<str>),
}

/// A request, and what the answer should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpProbe {
    /// Its method, a token.
    pub method: Arc<str>,
    /// Its target: a path, perhaps with a query.
    pub path: Arc<str>,
    /// Its fields, beside those that every request has. One may be `host`.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// The statuses that are right.
    pub statuses: Statuses,
    /// A text that the body should hold.
    pub body: Option<Arc<str>>,
    /// A pattern that should match somewhere in the body.
    pub pattern: Option<Pattern>,
}

impl Default for HttpProbe {
    /// `GET /healthz`, answered with 200 to 299.
    fn default() -> Self {
        Self {
            method: "GET".into(),
            path: "/healthz".into(),
            headers: Vec::new(),
            statuses: Statuses::default(),
            body: None,
            pattern: None,
        }
    }
}

/// A regular expression; two of the same text are equal.
#[derive(Clone)]
pub struct Pattern(Regex);

impl FromStr for Pattern {
    type Err = String;

    /// # Errors
    ///
    /// Why the text is not one, in a line.
    fn from_str(text: &str) -> Result<Self, String> {
        Regex::new(text).map(Self).map_err(|error| {
            let lines = error.to_string();
            lines.lines().last().unwrap_or_default().trim().to_owned()
        })
    }
}

impl Pattern {
    /// Whether it matches somewhere. Bytes that are not UTF-8 stand for themselves in no pattern.
    #[must_use]
    pub fn is_match(&self, bytes: &[u8]) -> bool {
        self.0.is_match(&String::from_utf8_lossy(bytes))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}
