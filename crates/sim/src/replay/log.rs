//! Decision logs and access logs, a JSON object a line.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::changes::Changes;
use super::taken::Taken;
use super::time::parse_time;

/// The most lines that are read; later ones are left out, and that is said.
const LINES_MAX: usize = 5_000_000;

/// A request of a log.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    /// Nanoseconds from the first one.
    pub(super) at: u64,
    /// The number of its key.
    pub(super) key: Option<u64>,
    /// From its arrival to its end.
    pub(super) took_ms: f64,
    pub(super) failed: bool,
}

/// A try of a request at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Try {
    /// Nanoseconds from the first request.
    pub(super) at: u64,
    pub(super) took_ms: f64,
    pub(super) failed: bool,
}

/// What a log holds.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    pub(super) requests: Vec<Request>,
    pub(super) tries: BTreeMap<String, Vec<Try>>,
    /// The weights of endpoints, where the log tells them.
    pub(super) weights: BTreeMap<String, u16>,
    /// The strategy that was in force last, where the log tells it.
    pub(super) strategy: Option<String>,
    /// Lines that are decisions, for which requests may have been drawn by chance.
    pub(super) decisions: usize,
    /// What share of the requests it holds, as far as their ids tell.
    pub(super) taken: Taken,
    /// How the cluster changed meanwhile.
    pub(super) changes: Changes,
    /// Lines that say nothing of an endpoint.
    pub(super) skipped: usize,
    /// Whether there were more lines than are read.
    pub(super) cut: bool,
}

impl Recorded {
    /// How many requests there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The endpoints that were tried, in the order of their ids.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.tries.keys().map(String::as_str)
    }

    /// The strategy that was in force last, where the log tells it.
    #[must_use]
    pub fn strategy(&self) -> Option<&str> {
        self.strategy.as_deref()
    }
}

/// Why a log cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogError(String);

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LogError {}

/// Reads a log: lines of the decision log, or of an access log in JSON with `time`, `endpoint` and
/// `total_ms` (or `latency_ms`). A time is RFC 3339 or a number of seconds.
///
/// # Errors
///
/// When a line is no JSON object or has no time, with its number; and when nothing in it says what an endpoint
/// did.
pub fn read_log(text: &str) -> Result<Recorded, LogError> {
    let mut recorded = Recorded::default();
    let mut first = None;
    let mut found: Vec<(i128, Line)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if number >= LINES_MAX {
            recorded.cut = true;
            break;
        }
        let wrong = |what: &str| LogError(format!("line {}: {what}", number + 1));
        let value: Value = serde_json::from_str(line).map_err(|_| wrong("it is no JSON"))?;
        if !value.is_object() {
            return Err(wrong("it is no JSON object"));
        }
        if value["kind"] == "snapshot" {
            recorded.take_snapshot(&value);
            continue;
        }
        let at = time_of(&value)
            .ok_or_else(|| wrong("it has no time like \"2026-11-30T07:24:04.050Z\""))?;
        match Line::of(&value) {
            Some(line) => {
                first = Some(first.map_or(at, |first: i128| first.min(at)));
                recorded.decisions += usize::from(value["kind"] == "decision");
                recorded.taken.note(&value);
                recorded.changes.note_line(&value);
                found.push((at, line));
            }
            None => recorded.skipped += 1,
        }
        if let Some(strategy) = value["strategy"].as_str() {
            recorded.strategy = Some(strategy.to_owned());
        }
    }
    let Some(first) = first else {
        return Err(LogError(
            "no line says what an endpoint did: a decision log, or an access log in JSON with time, endpoint and total_ms, is needed".to_owned(),
        ));
    };
    // Access logs are in the order of the ends.
    found.sort_by_key(|(at, _)| *at);
    for (at, line) in found {
        recorded.take(u64::try_from(at - first).unwrap_or(0), line);
    }
    Ok(recorded)
}

/// What a line says of a request.
struct Line {
    /// Another try of a request that is counted already.
    is_retry: bool,
    key: Option<u64>,
    took_ms: f64,
    failed: bool,
    /// By endpoint, each with how long after the request it began.
    tries: Vec<(String, Try)>,
}

impl Line {
    fn of(value: &Value) -> Option<Self> {
        let outcome = value.get("outcome").unwrap_or(value);
        let took_ms = ["total_ms", "latency_ms", "duration_ms"]
            .iter()
            .find_map(|name| outcome[*name].as_f64())?;
        let failed = failed(outcome);
        let endpoint = value["chosen"]
            .as_str()
            .or_else(|| value["endpoint"].as_str());
        let mut tries = tries(value);
        if tries.is_empty() {
            let queue = value["queue_ms"].as_f64().unwrap_or(0.0);
            let tried = Try {
                at: (queue * 1e6) as u64,
                took_ms: (took_ms - queue).max(0.0),
                failed,
            };
            tries.push((endpoint?.to_owned(), tried));
        }
        Some(Self {
            is_retry: value["attempt"].as_u64().is_some_and(|attempt| attempt > 1),
            key: value["key_hash"]
                .as_str()
                .and_then(|hash| u64::from_str_radix(hash.trim_start_matches("0x"), 16).ok()),
            took_ms,
            failed,
            tries,
        })
    }
}

/// Whether an answer was an error of the endpoint, or there was none.
fn failed(outcome: &Value) -> bool {
    let status = outcome["status"].as_u64();
    status.is_some_and(|status| status >= 500)
        || (outcome["error"].is_string() && status.is_none_or(|s| s >= 500))
}

/// The tries of a line of our own access log.
fn tries(value: &Value) -> Vec<(String, Try)> {
    let mut at = (value["queue_ms"].as_f64().unwrap_or(0.0) * 1e6) as u64;
    let all = value["attempts"].as_array().into_iter().flatten();
    all.filter_map(|attempt| {
        let took_ms = attempt["total_ms"].as_f64()?;
        let tried = Try {
            at,
            took_ms,
            failed: failed(attempt),
        };
        at += (took_ms * 1e6) as u64;
        Some((attempt["endpoint"].as_str()?.to_owned(), tried))
    })
    .collect()
}

fn time_of(value: &Value) -> Option<i128> {
    match &value["time"] {
        Value::String(text) => parse_time(text),
        Value::Number(seconds) => seconds.as_f64().map(|seconds| (seconds * 1e9) as i128),
        _ => None,
    }
}

impl Recorded {
    fn take_snapshot(&mut self, value: &Value) {
        self.changes.note_snapshot(value);
        for endpoint in value["endpoints"].as_array().into_iter().flatten() {
            let weight = endpoint["weight"]
                .as_u64()
                .and_then(|weight| u16::try_from(weight).ok());
            if let (Some(id), Some(weight)) = (endpoint["id"].as_str(), weight) {
                self.weights.insert(id.to_owned(), weight);
            }
        }
        if let Some(strategy) = value["strategy"]["name"].as_str() {
            self.strategy = Some(strategy.to_owned());
        }
    }

    fn take(&mut self, at: u64, line: Line) {
        for (endpoint, tried) in line.tries {
            let at = at + tried.at;
            self.tries
                .entry(endpoint)
                .or_default()
                .push(Try { at, ..tried });
        }
        if !line.is_retry {
            self.requests.push(Request {
                at,
                key: line.key,
                took_ms: line.took_ms,
                failed: line.failed,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_logs_are_read() {
        let decisions = concat!(
            "{\"v\":1,\"kind\":\"snapshot\",\"time\":\"2026-11-30T07:24:04Z\",\"cluster\":\"web\",\"generation\":1,\"strategy\":{\"name\":\"maglev\"},\"endpoints\":[{\"id\":\"a\",\"weight\":2}]}\n",
            "{\"v\":1,\"kind\":\"decision\",\"time\":\"2026-11-30T07:24:04.5Z\",\"attempt\":1,\"key_hash\":\"00000000000000ff\",\"chosen\":\"a\",\"outcome\":{\"status\":200,\"latency_ms\":3.5,\"error\":null}}\n",
            "{\"v\":1,\"kind\":\"decision\",\"time\":\"2026-11-30T07:24:05Z\",\"attempt\":2,\"chosen\":\"b\",\"outcome\":{\"status\":503,\"latency_ms\":1}}\n",
        );
        let log = read_log(decisions).expect("in order");
        assert_eq!((log.len(), log.strategy()), (1, Some("maglev")));
        assert_eq!(log.requests[0].key, Some(255));
        assert_eq!(log.weights["a"], 2);
        assert!(log.tries["b"][0].failed);
        let access = concat!(
            "{\"time\":\"2026-11-30T07:24:05Z\",\"status\":200,\"endpoint\":\"a\",\"queue_ms\":0,\"total_ms\":9,\"attempts\":[{\"endpoint\":\"b\",\"status\":null,\"error\":\"connection_refused\",\"total_ms\":1},{\"endpoint\":\"a\",\"status\":200,\"error\":null,\"total_ms\":8}]}\n",
            "{\"time\":1796023444.0,\"endpoint\":\"b\",\"latency_ms\":4,\"status\":200}\n",
            "{\"time\":\"2026-11-30T07:24:05Z\",\"status\":404,\"endpoint\":null,\"total_ms\":0.1}\n",
        );
        let log = read_log(access).expect("in order");
        assert_eq!((log.len(), log.skipped), (2, 1));
        assert_eq!(log.requests[0].at, 0, "sorted by time");
        assert_eq!(log.tries["a"][0].at, 1_001_000_000);
        assert!(log.tries["b"][1].failed && !log.requests[1].failed);
    }

    #[test]
    fn what_is_no_log_is_said_with_its_line() {
        for (text, said) in [
            ("", "no line says what an endpoint did"),
            ("\nnot json\n", "line 2: it is no JSON"),
            ("{\"endpoint\":\"a\"}", "line 1: it has no time"),
            ("[1]", "line 1: it is no JSON object"),
        ] {
            let error = read_log(text).expect_err(text).to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
