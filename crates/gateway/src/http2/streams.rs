//! What the streams of a connection tell its driver.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use evenkeel_core::Nanos;

/// How many more streams may be given up than are answered. What is opened and given up costs a proxy
/// more than its client (CVE-2023-44487), and a client that does little else means no good.
const GIVEN_UP_MAX: u32 = 100;

/// How many frames that ask for nothing may come in a [`SPAN`]: pings, settings, priorities, empty ones.
/// Clients that mean well send some for each stream and each second.
const NOISE_MAX: u32 = 2_000;
const SPAN: Nanos = Nanos::from_secs(1);

/// What the streams of a connection tell its driver.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Cell<usize>,
    /// Given up and not made good for by one that was answered.
    given_up: Cell<u32>,
    /// Frames that asked for nothing, in the span that ends then.
    noise: Cell<u32>,
    span_ends: Cell<Nanos>,
    driver: RefCell<Waker>,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self {
            open: Cell::new(0),
            given_up: Cell::new(0),
            noise: Cell::new(0),
            span_ends: Cell::new(Nanos(0)),
            driver: RefCell::new(Waker::noop().clone()),
        }
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.open.get()
    }

    /// Whether so many were given up, or so much came that asks for nothing, that the client means no good.
    pub(crate) fn are_abused(&self) -> bool {
        self.given_up.get() > GIVEN_UP_MAX || self.noise.get() > NOISE_MAX
    }

    /// Counts frames that ask for nothing.
    pub(super) fn hear(&self, frames: u32) {
        self.noise.set(self.noise.get().saturating_add(frames));
    }

    /// Begins another span where one is over, unless too much came in it.
    pub(crate) fn forget(&self, now: Nanos) {
        if self.noise.get() > 0 && now >= self.span_ends.get() && !self.are_abused() {
            self.noise.set(0);
            self.span_ends.set(now + SPAN);
        }
    }

    pub(crate) fn begin(&self) {
        self.open.set(self.open.get() + 1);
    }

    /// Counts an end, in order or not. The driver is woken where it has something to do about it.
    pub(crate) fn end(&self, in_order: bool) {
        self.open.set(self.open.get() - 1);
        self.note(in_order);
        if self.open.get() == 0 || self.are_abused() {
            self.driver.borrow().wake_by_ref();
        }
    }

    /// Counts one that was answered, or given up.
    pub(crate) fn note(&self, in_order: bool) {
        let given_up = self.given_up.get();
        self.given_up.set(if in_order {
            given_up.saturating_sub(1)
        } else {
            given_up.saturating_add(1)
        });
    }

    /// Has the driver woken.
    pub(crate) fn watch(&self, cx: &Context<'_>) {
        let mut driver = self.driver.borrow_mut();
        if !driver.will_wake(cx.waker()) {
            driver.clone_from(cx.waker());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_make_good_for_streams_that_were_given_up() {
        let streams = Streams::new();
        let run = |in_order: bool, count: u32| {
            for _ in 0..count {
                streams.begin();
                streams.end(in_order);
            }
            streams.are_abused()
        };
        assert!(!run(false, GIVEN_UP_MAX));
        assert!(!run(true, 10));
        assert!(!run(false, 10));
        assert!(run(false, 1));
        assert_eq!(streams.open(), 0);
    }

    #[test]
    fn what_asks_for_nothing_is_forgotten_in_time() {
        let streams = Streams::new();
        for second in 1..10 {
            streams.hear(NOISE_MAX);
            streams.forget(Nanos::from_secs(second));
            assert!(!streams.are_abused());
        }
        streams.hear(NOISE_MAX);
        streams.forget(Nanos::from_millis(9_500));
        assert!(!streams.are_abused());
        streams.hear(1);
        streams.forget(Nanos::from_secs(11));
        assert!(streams.are_abused());
    }
}
