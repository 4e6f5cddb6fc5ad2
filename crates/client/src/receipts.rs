//! Decisions written down: the gateway's decision log, by a client.
//!
//! `evenkeel replay --verify` makes every decision of it again, and `evenkeel replay` tells what other strategies
//! would have done.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use evenkeel_core::{Nanos, Outcome as Ending, unpoisoned};
use evenkeel_receipts::{DecisionLine, Outcome, Sample, SnapshotLine, rfc3339};

use crate::clock::time_of_day;
use crate::observe::{Decided, Decision, Observe};

/// How many lines a second are written that the sample did not choose.
const UNSAMPLED_MAX: u32 = 1_000;

/// In what time that many.
const SECOND: Nanos = Nanos::from_secs(1);

/// Writes decisions down with all that they follow from, a line of JSON for each.
///
/// Calls are chosen by the hash of their `x-request-id`, as gateways do it, so that all who see a call write it down or
/// none does; calls without one by their number. Failures, and calls that found nobody or not the one that was
/// proposed, are always written, up to a thousand a second. A line is written by the thread on which its call ends:
/// give it a writer that does not wait long, such as a [`BufWriter`](std::io::BufWriter) on a file.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_client::{Settings, receipts::DecisionLog};
///
/// let log = Arc::new(DecisionLog::new(Vec::new(), 0.001));
/// let settings = Settings::new("web").observe(log.clone());
/// # let _ = settings;
/// ```
pub struct DecisionLog<W> {
    sample: Sample,
    calls: AtomicU64,
    inside: Mutex<Inside<W>>,
}

struct Inside<W> {
    writer: W,
    known: Known,
    line: Vec<u8>,
    /// Since when how many were written that the sample did not choose.
    unsampled: (Nanos, u32),
    /// What went wrong last.
    error: Option<io::Error>,
}

/// The snapshots whose lines stand in the log, by their serials: those that were decided on last, since there are ever
/// new ones. The line of one that is forgotten is written again when it is decided on once more.
#[derive(Debug, Default)]
struct Known {
    recent: BTreeSet<u64>,
    before: BTreeSet<u64>,
}

/// How many snapshots are known for certain.
const KNOWN: usize = 256;

impl Known {
    /// Takes one in, and says whether it was not known.
    fn insert(&mut self, serial: u64) -> bool {
        if self.recent.contains(&serial) {
            return false;
        }
        let is_new = !self.before.remove(&serial);
        if self.recent.len() == KNOWN {
            self.before = std::mem::take(&mut self.recent);
        }
        self.recent.insert(serial);
        is_new
    }
}

impl<W: Write + Send> DecisionLog<W> {
    /// A log with this share of calls, from 0 to 1.
    #[must_use]
    pub fn new(writer: W, share: f64) -> Self {
        Self {
            sample: Sample::new(share),
            calls: AtomicU64::new(0),
            inside: Mutex::new(Inside {
                writer,
                known: Known::default(),
                line: Vec::new(),
                unsampled: (Nanos(0), 0),
                error: None,
            }),
        }
    }

    /// Has the writer hand over what it holds.
    ///
    /// # Errors
    ///
    /// When that fails, or a line could not be written since this was asked last.
    pub fn flush(&self) -> io::Result<()> {
        let mut inside = self.inside();
        if let Some(error) = inside.error.take() {
            return Err(error);
        }
        inside.writer.flush()
    }

    /// Does something with the writer, such as begin another file. The lines of all generations are written again after
    /// it, so that each file can be read for itself.
    pub fn with_writer<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        let mut inside = self.inside();
        inside.known = Known::default();
        change(&mut inside.writer)
    }

    fn wants(&self, call: &Decided<'_>) -> bool {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let chosen = match call.request_id {
            Some(id) => self.sample.takes(id),
            None => self.sample.takes(&number.to_string()),
        };
        chosen || call.decisions.iter().any(is_remarkable) && self.inside().may_write_more(call.now)
    }

    // A line is whole or is cut off by an error of the writer, so a poisoned lock guards nothing half done.
    fn inside(&self) -> MutexGuard<'_, Inside<W>> {
        unpoisoned(self.inside.lock())
    }
}

impl<W: Write> Inside<W> {
    fn may_write_more(&mut self, now: Nanos) -> bool {
        let (since, count) = self.unsampled;
        self.unsampled = match now.since(since) < SECOND {
            true => (since, count + 1),
            false => (now, 1),
        };
        self.unsampled.1 <= UNSAMPLED_MAX
    }

    fn write(
        &mut self,
        request_id: Option<&str>,
        decision: &Decision,
        now: Nanos,
    ) -> io::Result<()> {
        let (snapshot, today) = (decision.snapshot(), time_of_day());
        self.line.clear();
        if self.known.insert(snapshot.serial()) {
            let (time, record) = (rfc3339(today), snapshot.record());
            let line = SnapshotLine {
                time: &time,
                record: &record,
            };
            line.write(&mut self.line);
            self.line.push(b'\n');
        }
        let time = rfc3339(today - Duration::from(now.since(decision.chosen_at)));
        let took = decision.ended_at.unwrap_or(now).since(decision.chosen_at);
        let line = DecisionLine {
            time: &time,
            request_id,
            snapshot,
            receipt: &decision.receipt,
            decision_ns: Some(decision.decision_ns),
            outcome: Some(Outcome {
                status: decision.status,
                latency_us: took.0 / 1_000,
                error: decision.error,
            }),
        };
        line.write(&mut self.line);
        self.line.push(b'\n');
        self.writer.write_all(&self.line)
    }
}

impl<W: Write + Send> Observe for DecisionLog<W> {
    fn wants_receipts(&self) -> bool {
        true
    }

    fn decided(&self, call: &Decided<'_>) {
        if !self.wants(call) {
            return;
        }
        let mut inside = self.inside();
        for decision in call.decisions {
            if let Err(error) = inside.write(call.request_id, decision, call.now) {
                inside.error = Some(error);
            }
        }
    }
}

/// Whether a decision is one that somebody may ask about.
fn is_remarkable(decision: &Decision) -> bool {
    let receipt = &decision.receipt;
    decision.outcome == Some(Ending::Failure)
        || receipt.chosen.is_none()
        || receipt.fallback.is_some()
}

impl<W> fmt::Debug for DecisionLog<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionLog")
            .field("sample", &self.sample)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_that_nobody_decides_on_are_forgotten_and_others_are_not() {
        let mut known = Known::default();
        assert!(known.insert(0));
        for serial in 1..10_000 {
            assert!(known.insert(serial));
            assert!(!known.insert(serial));
            assert!(!known.insert(0), "a quiet cluster's, at {serial}");
            assert!(known.recent.len() + known.before.len() <= 2 * KNOWN);
        }
        assert!(known.insert(1), "long ago");
    }
}
