//! A worker's end: where requests stand in traces, and their spans when they have ended.

use std::cell::RefCell;
use std::mem::take;

use evenkeel_core::Rng;
use tokio::sync::mpsc::error::TrySendError;

use super::encode::write_request;
use super::post::{Batch, Outbox};
use super::{Context, Parent};
use crate::access::Line;
use evenkeel_receipts::Sample;

/// How many bytes of spans are handed over at once, about.
const BATCH_BYTES: usize = 32 * 1024;

/// A worker's end of what collectors get: not shared, and no lock or system call for a span.
#[derive(Debug)]
pub(crate) struct SpanWriter {
    sample: Sample,
    outbox: Outbox,
    rng: RefCell<Rng>,
    batch: RefCell<Batch>,
}

impl SpanWriter {
    pub(super) fn new(sample: Sample, outbox: Outbox, seed: u64) -> Self {
        Self {
            sample,
            outbox,
            rng: RefCell::new(Rng::new(seed)),
            batch: RefCell::default(),
        }
    }

    /// The place of a request in a trace: in the one that its `traceparent` names, if that is recorded,
    /// or in one that begins here, for a share of the requests that are in none.
    pub(crate) fn enter(&self, parent: Option<&[u8]>, request_id: &str) -> Option<Context> {
        let (trace, parent) = match parent.and_then(Parent::read) {
            Some(parent) if parent.sampled => (parent.trace, Some(parent.span)),
            Some(_) => return None,
            None if self.sample.takes(request_id) => {
                let (high, low) = (self.draw(), self.draw());
                (u128::from(high) << 64 | u128::from(low), None)
            }
            None => return None,
        };
        let span = self.draw();
        Some(Context {
            trace,
            parent,
            span,
        })
    }

    /// An id: any number but 0.
    fn draw(&self) -> u64 {
        self.rng.borrow_mut().next_u64().max(1)
    }

    /// Writes the spans of a request that has ended.
    pub(crate) fn write(&self, line: &Line<'_>, context: &Context) {
        let mut batch = self.batch.borrow_mut();
        write_request(line, context, || self.draw(), &mut batch.bytes);
        batch.spans += 1 + line.attempts.len() as u64;
        if batch.bytes.len() >= BATCH_BYTES {
            self.hand_over(&mut batch);
        }
    }

    /// Hands over what has come together, to be called a few times a second.
    pub(crate) fn flush(&self) {
        self.hand_over(&mut self.batch.borrow_mut());
    }

    /// Never waits: what there is no room for is dropped, and counted.
    fn hand_over(&self, batch: &mut Batch) {
        if batch.spans == 0 {
            return;
        }
        let refused = self.outbox.sender.try_send(take(batch));
        if let Err(TrySendError::Full(batch) | TrySendError::Closed(batch)) = refused {
            self.outbox.tally.lose(batch.spans);
        }
    }
}

impl Drop for SpanWriter {
    fn drop(&mut self) {
        self.flush();
    }
}
