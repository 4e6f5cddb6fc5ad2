//! A worker: one thread, one event loop, its own pickers, pools and buffers.

pub(crate) mod alarm;
pub(crate) mod buffer;
mod cluster;
mod locals;
mod plan;
mod run;
mod shadows;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use evenkeel_core::{Nanos, Rng};

use crate::access::{AccessLog, AccessWriter, Noted};
use crate::clock::Clock;
use crate::decision::Recorder;
use crate::forward::{Desks, Hands};
use crate::lifecycle::{Plan, Shared};
use crate::report::ask;
use crate::route::PathBuffers;
use crate::span::SpanWriter;

pub(crate) use cluster::{ClusterWorker, WorkerView};
pub(crate) use plan::{Entry, WorkerPlan};
pub(crate) use run::{Command, Leave, Sockets, WorkerHandle, spawn};
pub(crate) use shadows::ShadowLeases;

/// Makes the ids of spans differ between workers, and from what else is drawn.
const SPAN_SEEDS: u64 = 0xD6E8_FEB8_6659_FD93;

/// What all connections of a worker share; nothing here is seen by another thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) clock: Clock,
    pub(crate) alarms: Rc<alarm::Alarms>,
    pub(crate) buffers: Rc<buffer::BufferPool>,
    /// Where requests are served.
    pub(crate) desks: Desks,
    /// Who serves streams.
    pub(crate) hands: Hands,
    /// The newest plan.
    pub(crate) plan: RefCell<Rc<WorkerPlan>>,
    pub(crate) shared: Arc<Shared>,
    /// Answers close their connection.
    pub(crate) draining: Cell<bool>,
    /// Connections without a request are closed.
    pub(crate) closing: Cell<bool>,
    /// Connections of clients.
    pub(crate) connections: Cell<usize>,
    number: u32,
    /// For paths that are brought into normal form, and for targets that are rewritten.
    pub(crate) paths: RefCell<PathBuffers>,
    rng: RefCell<Rng>,
    /// The log of requests, if there is one.
    pub(crate) access: Option<AccessWriter>,
    /// Where spans of requests go, if they do.
    pub(crate) spans: Option<SpanWriter>,
    /// What keeps receipts of decisions, if anything does.
    pub(crate) recorder: Option<Rc<Recorder>>,
}

impl Worker {
    fn new(number: u32, shared: &Arc<Shared>) -> Self {
        let plan = WorkerPlan::new(shared.plan.load(), number, shared.seed, &[]);
        Self {
            clock: shared.clock,
            alarms: Rc::default(),
            buffers: Rc::default(),
            desks: Desks::default(),
            hands: Hands::default(),
            plan: RefCell::new(Rc::new(plan)),
            number,
            access: shared.access.as_ref().and_then(AccessLog::writer),
            spans: shared.spans.as_ref().and_then(|spans| {
                spans.writer(shared.seed ^ u64::from(number).wrapping_mul(SPAN_SEEDS))
            }),
            recorder: shared
                .receipts
                .as_ref()
                .map(|receipts| Rc::new(Recorder::new(receipts))),
            shared: Arc::clone(shared),
            draining: Cell::new(false),
            closing: Cell::new(false),
            connections: Cell::new(0),
            paths: RefCell::default(),
            rng: RefCell::new(Rng::new(
                shared.seed ^ u64::from(number).wrapping_mul(0xA24B_AED4_963E_E407),
            )),
        }
    }

    /// Reads the clock, and sets alarms by it from now on.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        let now = self.clock.now();
        self.alarms.advance(now);
        now
    }

    /// Draws from `0..parts`.
    pub(crate) fn draw(&self, parts: u32) -> u32 {
        let bits = self.rng.borrow_mut().next_u64();
        ((u128::from(bits) * u128::from(parts)) >> 64) as u32
    }

    /// Where what happens to requests is noted, if anybody wants to know.
    pub(crate) fn notes(&self) -> Noted {
        if self.access.is_some() || self.spans.is_some() {
            Noted::on()
        } else {
            Noted::default()
        }
    }

    /// Appends a new request id: 128 random bits in hexadecimal.
    pub(crate) fn make_request_id(&self, out: &mut String) {
        let mut rng = self.rng.borrow_mut();
        let digits = [hexadecimal(rng.next_u64()), hexadecimal(rng.next_u64())];
        out.push_str(std::str::from_utf8(digits.as_flattened()).unwrap_or_default());
    }

    /// Takes over a plan: requests that come from now on go by it.
    fn adopt(&self, plan: Arc<Plan>) {
        let old = Rc::clone(&self.plan.borrow());
        let next = WorkerPlan::new(plan, self.number, self.shared.seed, &old.clusters);
        self.plan.replace(Rc::new(next));
        self.hands.let_go();
        // Connections without a request let go of the old one.
        self.alarms.wake_all();
    }

    /// Takes over what is newest of each cluster.
    fn refresh(&self) {
        for cluster in &self.plan.borrow().clusters {
            cluster.view();
        }
    }

    /// Hands the lines of its logs over.
    fn flush_logs(&self) {
        if let Some(log) = &self.access {
            log.flush();
        }
        if let Some(spans) = &self.spans {
            spans.flush();
        }
        if let Some(recorder) = &self.recorder {
            recorder.flush();
        }
    }

    /// Closes all connections to endpoints that carry no request.
    #[cold]
    pub(crate) fn close_idle(&self) {
        for cluster in &self.plan.borrow().clusters {
            cluster.close_idle();
        }
    }

    /// Sees to it that endpoints are asked for their load where a strategy wants that.
    fn ask(self: &Rc<Self>) {
        for cluster in &self.plan.borrow().clusters {
            let view = cluster.view();
            if let Some(asking) = &view.asking
                && asking.begin()
            {
                let task = ask(Rc::clone(self), Rc::downgrade(cluster), Rc::clone(asking));
                tokio::task::spawn_local(task);
            }
        }
    }

    /// Hands what was heard of endpoints to the control side.
    fn pour(&self) {
        for cluster in &self.plan.borrow().clusters {
            cluster.pour();
        }
    }

    /// Looks after those who wait for a slot, and after slots of shadows that nobody else looks at.
    fn serve_queues(&self, now: Nanos) {
        for cluster in &self.plan.borrow().clusters {
            cluster.serve_queue(now);
            cluster.release_shadows(now);
        }
    }

    /// Closes what has idled too long, and lets go of endpoints that are gone.
    fn tidy(&self, now: Nanos) {
        for cluster in &self.plan.borrow().clusters {
            cluster.close_stale(now);
        }
    }
}

/// The digits of a number, all sixteen: four bits each in a byte of their own, and what lies above
/// nine moved on to the letters.
pub(crate) fn hexadecimal(word: u64) -> [u8; 16] {
    const ONES: u128 = u128::from_ne_bytes([1; 16]);
    let mut spread = u128::from(word);
    for (shift, mask) in [
        (32, 0x0000_0000_ffff_ffff_0000_0000_ffff_ffff),
        (16, 0x0000_ffff_0000_ffff_0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff),
        (4, ONES * 0x0f),
    ] {
        spread = (spread | spread << shift) & mask;
    }
    let letters = (spread + ONES * 6) >> 4 & ONES;
    (spread + ONES * u128::from(b'0') + letters * u128::from(b'a' - b'0' - 10)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn words_are_written_in_hexadecimal() {
        for word in [0, 0x0123_4567_89ab_cdef, 0xa0b9_f000_0001_9a0f, u64::MAX] {
            assert_eq!(hexadecimal(word), format!("{word:016x}").as_bytes());
        }
    }
}
