//! What came to an upstream.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use evenkeel_core::unpoisoned;

use crate::message::{Head, show};

/// A request as an upstream received it.
#[derive(Clone)]
pub struct Received {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// Its place on that connection, from 0.
    pub place: usize,
    /// Its head.
    pub head: Head,
    /// Its body, without chunk syntax.
    pub body: Vec<u8>,
    /// Its trailer fields, a line each.
    pub trailers: Vec<String>,
    /// All its bytes.
    pub raw: Vec<u8>,
}

impl Received {
    /// Its method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.word(0)
    }

    /// Its target.
    #[must_use]
    pub fn target(&self) -> &str {
        self.word(1)
    }

    /// The value of the first field of that name, in any case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.field(name)
    }

    fn word(&self, place: usize) -> &str {
        self.head.line.split(' ').nth(place).unwrap_or_default()
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}: {}", self.connection, self.place, show(&self.raw))
    }
}

/// What came to an upstream, on all its connections.
#[derive(Debug, Default)]
pub(super) struct Log {
    connections: AtomicUsize,
    received: AtomicUsize,
    sent: AtomicUsize,
    waiting: AtomicUsize,
    most_waiting: AtomicUsize,
    requests: Mutex<Vec<Received>>,
    open: Mutex<BTreeMap<usize, TcpStream>>,
    has_ended: AtomicBool,
}

impl Log {
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn open_connections(&self) -> usize {
        self.open().len()
    }

    pub(super) fn bytes_received(&self) -> usize {
        self.received.load(Ordering::SeqCst)
    }

    pub(super) fn bytes_sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    pub(super) fn most_waiting(&self) -> usize {
        self.most_waiting.load(Ordering::SeqCst)
    }

    pub(super) fn requests(&self) -> Vec<Received> {
        self.all().clone()
    }

    pub(super) fn count(&self) -> usize {
        self.all().len()
    }

    pub(super) fn opened(&self, number: usize, stream: TcpStream) {
        self.connections.fetch_add(1, Ordering::SeqCst);
        self.open().insert(number, stream);
    }

    pub(super) fn closed(&self, number: usize) {
        self.open().remove(&number);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes, Ordering::SeqCst);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Notes a request that is whole and waits for its answer.
    pub(super) fn came(&self, request: Received) {
        let waiting = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_waiting.fetch_max(waiting, Ordering::SeqCst);
        self.all().push(request);
    }

    /// Notes that one is about to be answered.
    pub(super) fn answering(&self) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Ends every connection.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        for stream in self.open().values() {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Received>> {
        unpoisoned(self.requests.lock())
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        unpoisoned(self.open.lock())
    }
}
