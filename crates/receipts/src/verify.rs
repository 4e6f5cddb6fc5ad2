//! Makes every decision of a log again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use evenkeel_core::{Snapshot, SnapshotRecord};
use serde_json::Value;

use crate::decision::{DecisionLine, Outcome};
use crate::read::{LineError, RecordedDecision, RecordedSnapshot, json};
use crate::snapshot::SnapshotLine;

/// How many generations are kept ready to decide on; tables may be large.
const READY_MAX: usize = 16;

/// Why a line does not hold.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] LineError),
    /// No line before it has its generation.
    #[error("no snapshot line of cluster {cluster:?} generation {generation} stands before it")]
    NoSnapshot {
        /// The cluster.
        cluster: String,
        /// The generation.
        generation: u64,
    },
    /// The snapshot line of its generation does not hold.
    #[error("the snapshot line of cluster {cluster:?} generation {generation} does not hold")]
    BadSnapshot {
        /// The cluster.
        cluster: String,
        /// The generation.
        generation: u64,
    },
    /// Deciding again leads to something else.
    #[error("{field} is {recorded}, and deciding again leads to {derived}")]
    Derivation {
        /// What differs first.
        field: String,
        /// What the line says.
        recorded: String,
        /// What it should say.
        derived: String,
    },
    /// It leads to its choice, but it is not as it was written.
    #[error(
        "the line is not as it was written: its checksum is {recorded}, and should be {derived}"
    )]
    Checksum {
        /// What the line says.
        recorded: String,
        /// What it should say.
        derived: String,
    },
}

/// How many decisions of a strategy there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrategyCount {
    /// All of them.
    pub decisions: u64,
    /// Those that do not hold.
    pub differ: u64,
}

/// Makes every decision of a log again, line by line.
#[derive(Debug, Default)]
pub struct Verifier {
    generations: BTreeMap<(String, u64), Generation>,
    ready: VecDeque<((String, u64), Arc<Snapshot>)>,
    strategies: BTreeMap<String, StrategyCount>,
    /// Snapshot lines, and those of them that do not hold.
    snapshots: [u64; 2],
}

/// A generation as its line has it; none when the line does not hold.
type Generation = Option<SnapshotRecord>;

impl Verifier {
    /// Nothing read so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next line of the log. O(endpoints), and the cost of a table for each generation.
    ///
    /// # Errors
    ///
    /// When the line does not hold; it is counted then.
    pub fn line(&mut self, line: &str) -> Result<(), Difference> {
        let parsed = json(line);
        let kind = parsed
            .as_ref()
            .ok()
            .and_then(|line| line.get("kind")?.as_str());
        if kind == Some("snapshot") {
            self.snapshots[0] += 1;
            let result = parsed
                .map_err(Into::into)
                .and_then(|line| self.snapshot(&line));
            self.snapshots[1] += u64::from(result.is_err());
            return result;
        }
        let strategy = parsed
            .as_ref()
            .ok()
            .and_then(|line| line.get("strategy")?.as_str());
        let strategy = strategy.unwrap_or("unknown").to_owned();
        let result = match kind {
            Some("decision") => parsed
                .map_err(Into::into)
                .and_then(|line| self.decision(line)),
            _ => Err(parsed.err().unwrap_or(LineError::Field("kind")).into()),
        };
        let count = self.strategies.entry(strategy).or_default();
        count.decisions += 1;
        count.differ += u64::from(result.is_err());
        result
    }

    /// The decisions read so far, by strategy.
    #[must_use]
    pub fn strategies(&self) -> &BTreeMap<String, StrategyCount> {
        &self.strategies
    }

    /// The decisions read so far, and those that do not hold.
    #[must_use]
    pub fn count(&self) -> StrategyCount {
        let sum = |sum: StrategyCount, count: &StrategyCount| StrategyCount {
            decisions: sum.decisions + count.decisions,
            differ: sum.differ + count.differ,
        };
        self.strategies.values().fold(StrategyCount::default(), sum)
    }

    /// The snapshot lines read so far, and those that do not hold.
    #[must_use]
    pub fn snapshots(&self) -> [u64; 2] {
        self.snapshots
    }

    fn snapshot(&mut self, line: &Value) -> Result<(), Difference> {
        let cluster = line.get("cluster").and_then(Value::as_str);
        let generation = line.get("generation").and_then(Value::as_u64);
        let key = (
            cluster.unwrap_or_default().to_owned(),
            generation.unwrap_or_default(),
        );
        self.ready.retain(|(known, _)| *known != key);
        let result = RecordedSnapshot::of(line).map_err(Difference::from);
        let result = result.and_then(|read| {
            let (time, record) = (read.time.as_str(), &read.record);
            let mut derived = Vec::new();
            SnapshotLine { time, record }.write(&mut derived);
            compare(line, &derived)?;
            Ok(read.record)
        });
        match result {
            Ok(record) => {
                self.generations.insert(key, Some(record));
                Ok(())
            }
            Err(difference) => {
                self.generations.insert(key, None);
                Err(difference)
            }
        }
    }

    fn decision(&mut self, line: Value) -> Result<(), Difference> {
        let read = RecordedDecision::of(line)?;
        let snapshot = self.ready(&read.cluster, read.generation)?;
        let receipt = read.receipt(&snapshot)?.rederived(&snapshot);
        let outcome = read.latency_us.map(|latency_us| Outcome {
            status: read.status,
            latency_us,
            error: read.error.as_deref(),
        });
        let mut derived = Vec::new();
        DecisionLine {
            time: &read.time,
            request_id: read.request_id.as_deref(),
            snapshot: &snapshot,
            receipt: &receipt,
            decision_ns: read.decision_ns,
            outcome,
        }
        .write(&mut derived);
        compare(read.line(), &derived)
    }

    /// The generation, ready to decide on.
    fn ready(&mut self, cluster: &str, generation: u64) -> Result<Arc<Snapshot>, Difference> {
        let key = (cluster.to_owned(), generation);
        if let Some((_, snapshot)) = self.ready.iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(snapshot));
        }
        let (cluster, bad) = (key.0.clone(), key.0.clone());
        let known = self.generations.get(&key);
        let known = known.ok_or(Difference::NoSnapshot {
            cluster,
            generation,
        })?;
        let rebuilt = known.as_ref().and_then(|record| record.rebuild().ok());
        let snapshot = rebuilt.map(Arc::new).ok_or(Difference::BadSnapshot {
            cluster: bad,
            generation,
        })?;
        if self.ready.len() >= READY_MAX {
            self.ready.pop_front();
        }
        self.ready.push_back((key, Arc::clone(&snapshot)));
        Ok(snapshot)
    }
}

/// Compares a line with what was derived of it: each field of the latter, and the checksum last.
fn compare(recorded: &Value, derived: &[u8]) -> Result<(), Difference> {
    let derived: Value = serde_json::from_slice(derived).unwrap_or_default();
    let fields = derived.as_object().into_iter().flatten();
    let (checks, fields): (Vec<_>, Vec<_>) = fields.partition(|(name, _)| *name == "check");
    for (name, value) in fields {
        let said = recorded.get(name).unwrap_or(&Value::Null);
        if said != value {
            return Err(Difference::Derivation {
                field: name.clone(),
                recorded: said.to_string(),
                derived: value.to_string(),
            });
        }
    }
    for (name, value) in checks {
        if let Some(said) = recorded.get(name).filter(|said| *said != value) {
            return Err(Difference::Checksum {
                recorded: said.to_string(),
                derived: value.to_string(),
            });
        }
    }
    Ok(())
}
