//! Deadlines without timers: one coarse sweep for all connections of a worker.
//!
//! Two timers for each request would cost more than the decision does. A connection sets a due time
//! in a cell; a sweep every [`TICK`] wakes those that are late. A deadline is met within one tick of
//! when it is due.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use evenkeel_core::Nanos;

/// How often the sweep looks.
pub(crate) const TICK: Nanos = Nanos::from_millis(50);

/// Never.
const NEVER: Nanos = Nanos(u64::MAX);

/// All alarms of one worker.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    all: RefCell<Vec<Weak<Bell>>>,
    now: Cell<Nanos>,
}

impl Alarms {
    /// A new alarm that is not set.
    pub(crate) fn alarm(self: &Rc<Self>) -> Alarm {
        let bell = Rc::new(Bell {
            due: Cell::new(NEVER),
            waker: RefCell::new(Waker::noop().clone()),
        });
        self.all.borrow_mut().push(Rc::downgrade(&bell));
        Alarm {
            bell,
            due: Cell::new(NEVER),
            alarms: Rc::clone(self),
        }
    }

    /// The time of the last sweep or reading.
    pub(crate) fn now(&self) -> Nanos {
        self.now.get()
    }

    /// Tells the time, so that alarms are set from a fresh one.
    #[inline]
    pub(crate) fn advance(&self, now: Nanos) {
        self.now.set(self.now.get().max(now));
    }

    /// Wakes whoever is late, and forgets alarms that are gone. O(alarms).
    pub(crate) fn sweep(&self, now: Nanos) {
        self.advance(now);
        self.all.borrow_mut().retain(|bell| {
            let Some(bell) = bell.upgrade() else {
                return false;
            };
            if bell.due.get() <= now {
                bell.waker.borrow().wake_by_ref();
            }
            true
        });
    }
}

impl Alarms {
    /// Wakes everybody to look at what has changed.
    pub(crate) fn wake_all(&self) {
        for bell in self.all.borrow().iter().filter_map(Weak::upgrade) {
            bell.waker.borrow().wake_by_ref();
        }
    }
}

#[derive(Debug)]
struct Bell {
    /// When it rings next: when the alarm is due, or earlier for a look at something.
    due: Cell<Nanos>,
    waker: RefCell<Waker>,
}

/// The deadline of one connection.
#[derive(Debug)]
pub(crate) struct Alarm {
    bell: Rc<Bell>,
    due: Cell<Nanos>,
    alarms: Rc<Alarms>,
}

impl Alarm {
    /// Sets it to go off `span` from now, replacing what was set.
    #[inline]
    pub(crate) fn set(&self, span: Nanos) {
        let due = self.alarms.now() + span;
        self.due.set(due);
        self.bell.due.set(due);
    }

    /// Takes back what was set.
    pub(crate) fn rest(&self) {
        self.due.set(NEVER);
        self.bell.due.set(NEVER);
    }

    /// Wakes its task in `span` too, for a look at something; whether the time for a look has come.
    ///
    /// [`Self::poll_due`] is to follow. Setting the alarm takes back what was asked for.
    pub(crate) fn looks_in(&self, span: Nanos) -> bool {
        let (now, ring) = (self.alarms.now(), self.bell.due.get());
        let is_due = ring <= now;
        let next = if is_due { self.due.get() } else { ring };
        self.bell.due.set(next.min(now + span));
        is_due
    }

    /// Whether it is due.
    pub(crate) fn is_due(&self) -> bool {
        self.due.get() <= self.alarms.now()
    }

    /// Ready once it is due, until it is set again.
    #[inline]
    pub(crate) fn poll_due(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_due() {
            return Poll::Ready(());
        }
        let mut waker = self.bell.waker.borrow_mut();
        if !waker.will_wake(cx.waker()) {
            waker.clone_from(cx.waker());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_goes_off_when_it_is_due_and_not_before() {
        let alarms = Rc::new(Alarms::default());
        let alarm = alarms.alarm();
        let mut cx = Context::from_waker(Waker::noop());
        alarms.sweep(Nanos::from_secs(5));
        assert!(alarm.poll_due(&mut cx).is_pending());
        alarm.set(Nanos::from_secs(1));
        alarms.sweep(Nanos::from_millis(5_950));
        assert!(alarm.poll_due(&mut cx).is_pending());
        alarms.sweep(Nanos::from_millis(6_000));
        assert!(alarm.poll_due(&mut cx).is_ready());
        alarm.set(Nanos::from_secs(1));
        assert!(alarm.poll_due(&mut cx).is_pending());
    }

    #[test]
    fn looks_come_again_and_again_until_the_alarm_is_set() {
        let alarms = Rc::new(Alarms::default());
        let alarm = alarms.alarm();
        alarm.set(Nanos::from_millis(2_500));
        let second = Nanos::from_secs(1);
        let looks = |millis| {
            alarms.sweep(Nanos::from_millis(millis));
            alarm.looks_in(second)
        };
        let times = [0, 500, 1_000, 1_500, 2_000, 2_100];
        assert_eq!(times.map(looks), [false, false, true, false, true, false]);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(alarm.poll_due(&mut cx).is_pending());
        alarm.set(second);
        assert!(!looks(2_200), "something has happened since");
        assert!(!looks(2_900));
        alarms.sweep(Nanos::from_millis(3_100));
        assert!(alarm.poll_due(&mut cx).is_ready());
    }

    #[test]
    fn alarms_that_are_gone_are_forgotten() {
        let alarms = Rc::new(Alarms::default());
        drop(alarms.alarm());
        let kept = alarms.alarm();
        alarms.sweep(Nanos(1));
        assert_eq!(alarms.all.borrow().len(), 1);
        drop(kept);
    }
}
