//! A file of lines, and the thread that writes it.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use evenkeel_core::{Nanos, unpoisoned};

use super::line_writer::LineWriter;
use super::sink::Sink;
use crate::clock::Clock;

/// How many batches may wait for the thread, over all workers: with their usual size some 2 MiB.
const WAITING_MAX: usize = 64;

/// How often the thread looks whether its file has been replaced.
const LOOK: Duration = Duration::from_millis(100);

/// How often the operator is told of dropped lines, at most.
const TELL_EVERY: Nanos = Nanos::from_secs(10);

/// How many headings are remembered as written; an older one may be written again.
const HEADINGS_MAX: usize = 1024;

/// How long the end of a gateway waits for its last lines.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// A line that must stand in a file before others: written once to each file.
pub(crate) trait Heading: Debug + Send + Sync {
    /// Another one for each heading of a process.
    fn key(&self) -> u64;

    /// Appends the line, without its line feed.
    fn write(&self, out: &mut Vec<u8>);
}

/// Lines that are handed over together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Each with its line feed.
    pub(super) bytes: Vec<u8>,
    pub(super) lines: u64,
    pub(super) headings: Vec<Arc<dyn Heading>>,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.lines = 0;
        self.headings.clear();
    }
}

/// A file of whole lines that workers write to without waiting.
#[derive(Debug)]
pub struct LineFile {
    state: Arc<State>,
    sender: Mutex<Option<SyncSender<Batch>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What workers and the thread share.
#[derive(Debug)]
struct State {
    /// The label of the log in metrics.
    name: &'static str,
    dropped: AtomicU64,
    reopen: AtomicBool,
    /// Memory to use again.
    spare: Mutex<Vec<Batch>>,
}

impl LineFile {
    /// Opens the file to append to it, or standard output for `-`, and starts its thread. `name` is
    /// what the log is called in metrics and messages.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or the system gives no thread.
    pub(crate) fn open(path: &Path, name: &'static str, clock: Clock) -> io::Result<Self> {
        let sink = Sink::open(path)?;
        let (sender, inbox) = sync_channel(WAITING_MAX);
        let state = Arc::new(State {
            name,
            dropped: AtomicU64::new(0),
            reopen: AtomicBool::new(false),
            spare: Mutex::default(),
        });
        let mut writing = Writing {
            sink,
            state: Arc::clone(&state),
            clock,
            headed: VecDeque::new(),
            told: (Nanos(0), 0),
            failing: false,
        };
        let thread = std::thread::Builder::new()
            .name(format!("log-{name}"))
            .spawn(move || writing.run(&inbox))?;
        Ok(Self {
            state,
            sender: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// A worker's end; none once the file is closed.
    pub(crate) fn writer(&self) -> Option<LineWriter> {
        let sender = unpoisoned(self.sender.lock()).clone()?;
        Some(LineWriter::new(Post {
            sender,
            state: Arc::clone(&self.state),
        }))
    }

    /// Counts lines that the process before this one dropped.
    pub(crate) fn add_dropped(&self, lines: u64) {
        self.state.dropped.fetch_add(lines, Ordering::Relaxed);
    }

    /// How many lines were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.state.dropped.load(Ordering::Relaxed)
    }

    /// What the log is called in metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.state.name
    }

    /// Opens the file of that name again, soon: the one that was open has been moved away. The
    /// thread notices that by itself too.
    pub fn reopen(&self) {
        self.state.reopen.store(true, Ordering::Relaxed);
    }

    /// Waits for the lines of workers that have ended, not for long.
    pub(crate) async fn close(&self) {
        drop(unpoisoned(self.sender.lock()).take());
        let Some(thread) = unpoisoned(self.thread.lock()).take() else {
            return;
        };
        let ended = async {
            while !thread.is_finished() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(CLOSE_MAX, ended).await.is_err() {
            tracing::warn!(log = self.state.name, "the last lines could not be written");
        }
    }
}

/// Where a worker hands over its lines.
#[derive(Debug)]
pub(super) struct Post {
    sender: SyncSender<Batch>,
    state: Arc<State>,
}

impl Post {
    /// Hands a batch over, or drops it and counts its lines; gives memory for the next one.
    pub(super) fn send(&self, batch: Batch) -> Batch {
        let Err(refused) = self.sender.try_send(batch) else {
            // Whoever holds it is about to let go; a fresh one will do as well.
            let spare = self.state.spare.try_lock().ok();
            return spare.and_then(|mut spare| spare.pop()).unwrap_or_default();
        };
        let mut batch = match refused {
            std::sync::mpsc::TrySendError::Full(batch)
            | std::sync::mpsc::TrySendError::Disconnected(batch) => batch,
        };
        self.state.dropped.fetch_add(batch.lines, Ordering::Relaxed);
        batch.clear();
        batch
    }
}

/// The thread's own.
struct Writing {
    sink: Sink,
    state: Arc<State>,
    clock: Clock,
    /// The headings that this file has.
    headed: VecDeque<u64>,
    /// When the operator was told of how many dropped lines.
    told: (Nanos, u64),
    failing: bool,
}

impl Writing {
    fn run(&mut self, inbox: &Receiver<Batch>) {
        let mut looked = self.clock.now();
        loop {
            match inbox.recv_timeout(LOOK) {
                Ok(batch) => {
                    // A file that is moved away while much is written is noticed as soon.
                    let now = self.clock.now();
                    if now.since(looked) >= Nanos::from(LOOK) {
                        looked = now;
                        self.look();
                    }
                    self.write(batch);
                }
                Err(RecvTimeoutError::Timeout) => {
                    looked = self.clock.now();
                    self.look();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.tell(true);
    }

    /// Opens the file again if it was moved away, and tells of what was dropped.
    fn look(&mut self) {
        let asked = self.state.reopen.swap(false, Ordering::Relaxed);
        if asked || self.sink.was_moved() {
            match self.sink.reopen() {
                Ok(()) => self.headed.clear(),
                Err(error) => self.fail(&error),
            }
        }
        self.tell(false);
    }

    fn write(&mut self, mut batch: Batch) {
        let written = self.write_headings(&batch);
        let result = written.and_then(|()| self.sink.write(&batch.bytes));
        match result {
            Ok(()) => self.failing = false,
            Err(error) => {
                let left = error.lines_left(&batch.bytes);
                self.state.dropped.fetch_add(left, Ordering::Relaxed);
                self.fail(&error.error);
            }
        }
        batch.clear();
        let mut spare = unpoisoned(self.state.spare.lock());
        if spare.len() < WAITING_MAX {
            spare.push(batch);
        }
    }

    fn write_headings(&mut self, batch: &Batch) -> Result<(), super::sink::Torn> {
        for heading in &batch.headings {
            let key = heading.key();
            if self.headed.contains(&key) {
                continue;
            }
            let mut line = Vec::new();
            heading.write(&mut line);
            line.push(b'\n');
            // None of the lines that need it is written without it.
            self.sink.write(&line).map_err(super::sink::Torn::before)?;
            if self.headed.len() >= HEADINGS_MAX {
                self.headed.pop_front();
            }
            self.headed.push_back(key);
        }
        Ok(())
    }

    /// Tells of an error once, until something has been written again.
    fn fail(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(log = self.state.name, %error, "the log cannot be written");
        }
    }

    fn tell(&mut self, at_once: bool) {
        let (when, before) = self.told;
        let dropped = self.state.dropped.load(Ordering::Relaxed);
        let now = self.clock.now();
        if dropped > before && (at_once || before == 0 || now.since(when) >= TELL_EVERY) {
            let lines = dropped - before;
            tracing::warn!(
                log = self.state.name,
                lines,
                "lines of the log were dropped"
            );
            self.told = (now, dropped);
        }
    }
}

#[cfg(test)]
mod tests;
