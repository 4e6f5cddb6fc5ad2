//! A worker's end: which receipts are kept, and how they are written.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Nanos, Outcome as Ending, Receipt};
use evenkeel_http1::RequestHead;
use evenkeel_receipts::{DecisionLine, Outcome};

use super::receipts::{Kept, Receipts};
use super::trail::Tried;
use super::watch::Watch;
use crate::clock::time_of_day;
use crate::cluster::View;
use crate::log::{Heading, LineWriter};
use evenkeel_receipts::rfc3339;

/// How many receipts a second a worker keeps that the sample did not choose.
const UNSAMPLED_MAX: u32 = 1_000;

/// In what time that many.
const SECOND: Nanos = Nanos::from_secs(1);

/// How much memory for receipts a worker keeps between requests: one for each request in flight.
const SPARE_MAX: usize = 4_096;

/// A worker's end of the receipts of a gateway.
#[derive(Debug)]
pub(crate) struct Recorder {
    receipts: Arc<Receipts>,
    writer: RefCell<Option<LineWriter>>,
    /// Receipts to be written over.
    #[expect(clippy::vec_box, reason = "they wander into trails and back")]
    spare: RefCell<Vec<Box<Receipt>>>,
    line: RefCell<Vec<u8>>,
    /// Since when how many that the sample did not choose were kept.
    unsampled: Cell<(Nanos, u32)>,
}

impl Recorder {
    pub(crate) fn new(receipts: &Arc<Receipts>) -> Self {
        let writer = receipts.file.as_ref().and_then(|file| file.writer());
        Self {
            receipts: Arc::clone(receipts),
            writer: RefCell::new(writer),
            spare: RefCell::default(),
            line: RefCell::default(),
            unsampled: Cell::default(),
        }
    }

    /// The field by which a request asks for its receipt.
    pub(crate) fn header(&self) -> Option<&str> {
        self.receipts.header.as_deref()
    }

    /// Those who wait for a request like this, as far as its head says. A look at a number while nobody
    /// waits.
    #[inline]
    pub(super) fn watches(&self, head: &RequestHead<'_, '_>) -> Vec<Arc<Watch>> {
        match self.receipts.watches.is_armed() {
            false => Vec::new(),
            true => self.receipts.watches.of(head),
        }
    }

    /// The time, to measure decisions by.
    #[inline]
    pub(super) fn now(&self) -> Nanos {
        self.receipts.clock.now()
    }

    /// A receipt to write over.
    #[inline]
    pub(super) fn blank(&self) -> Box<Receipt> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    #[inline]
    pub(super) fn recycle(&self, receipt: Box<Receipt>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(receipt);
        }
    }

    /// Whether the receipts of a request are kept.
    pub(super) fn wants(&self, request_id: &str, asked: bool, tries: &[Tried]) -> bool {
        asked
            || self.receipts.sample.takes(request_id)
            || (tries.iter().any(is_remarkable) && self.may_keep_more())
    }

    fn may_keep_more(&self) -> bool {
        let now = self.now();
        let (since, count) = self.unsampled.get();
        let next = match now.since(since) < SECOND {
            true => (since, count + 1),
            false => (now, 1),
        };
        self.unsampled.set(next);
        next.1 <= UNSAMPLED_MAX
    }

    /// Writes the receipts of a request down.
    #[cold]
    pub(super) fn keep(&self, request_id: &str, tries: &[Tried]) -> Vec<Arc<Kept>> {
        let (now, today) = (self.now(), time_of_day());
        let mut line = self.line.borrow_mut();
        let mut all = Vec::with_capacity(tries.len());
        for tried in tries {
            let view = &tried.view.view;
            let time = rfc3339(today - Duration::from(now.since(tried.chosen_at)));
            line.clear();
            write(&mut line, tried, request_id, &time, now);
            self.log(view, &line);
            let kept = self.receipts.keep(Kept {
                request_id: request_id.into(),
                cluster: view.snapshot.shared_cluster(),
                chosen: tried.shared_chosen(),
                attempt: u32::from(tried.receipt.attempt) + 1,
                // It is made of texts.
                line: String::from_utf8_lossy(&line).into(),
                of_all: tried.receipt.view == 0,
                asides: view.asides(),
            });
            all.push(kept);
        }
        all
    }

    fn log(&self, view: &Arc<View>, line: &[u8]) {
        if let Some(writer) = &mut *self.writer.borrow_mut() {
            writer.heading(&(Arc::clone(view) as Arc<dyn Heading>));
            writer.line(|out| out.extend_from_slice(line));
        }
    }

    /// Hands lines over to the log, to be called a few times a second.
    pub(crate) fn flush(&self) {
        if let Some(writer) = &mut *self.writer.borrow_mut() {
            writer.flush();
        }
    }
}

/// Whether a try is one that somebody may ask about: it failed, it was shed, or it is no ordinary choice.
fn is_remarkable(tried: &Tried) -> bool {
    let receipt = &tried.receipt;
    tried.outcome == Some(Ending::Failure) || receipt.chosen.is_none() || receipt.fallback.is_some()
}

fn write(out: &mut Vec<u8>, tried: &Tried, request_id: &str, time: &str, now: Nanos) {
    let took = tried.ended.unwrap_or(now).since(tried.chosen_at);
    let line = DecisionLine {
        time,
        request_id: Some(request_id),
        snapshot: &tried.view.view.snapshot,
        receipt: &tried.receipt,
        decision_ns: Some(tried.decision_ns),
        outcome: Some(Outcome {
            status: tried.status,
            latency_us: took.0 / 1_000,
            error: tried.error,
        }),
    };
    line.write(out);
}
