//! Requests that wait for a slot: the gateway's own waiting room, whose bells ring on virtual time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use evenkeel_core::{
    Ask, Nanos, NoEndpoint, PickContext, Priority, ShedReason, Slot, Waiting, unpoisoned,
};

use super::Engine;
use super::deadlines::QUEUE;
use super::flow::Verdict;

/// Waits that were told something: the place of the request, and the number of its wait.
type Rung = Mutex<VecDeque<(u32, u32)>>;

/// The bells of all that wait.
#[derive(Debug, Default)]
pub(super) struct Bells(Arc<Rung>);

impl Bells {
    fn bell(&self, place: u32, number: u32) -> Waker {
        let rung = Arc::clone(&self.0);
        let bell = (place, number);
        Arc::new(Bell { bell, rung }).into()
    }

    /// The next one that rang.
    fn next(&self) -> Option<(u32, u32)> {
        unpoisoned(self.0.lock()).pop_front()
    }
}

struct Bell {
    bell: (u32, u32),
    rung: Arc<Rung>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        unpoisoned(self.rung.lock()).push_back(self.bell);
    }
}

/// A request's wait for a slot.
#[derive(Debug)]
pub(super) struct Wait {
    waiting: Waiting,
    bell: Waker,
    number: u32,
    since: Nanos,
    /// What becomes of it without a slot, and when a retry was paid for it.
    without: Verdict,
    paid: Option<Nanos>,
}

impl Wait {
    fn poll(&mut self) -> Poll<Result<Slot, ShedReason>> {
        self.waiting.poll(&mut Context::from_waker(&self.bell))
    }
}

impl Engine<'_> {
    /// Nobody can take a request that has come: it waits if that would help, or is turned away.
    pub(super) fn wait_or_shed(&mut self, place: u32, reason: NoEndpoint) {
        if reason != NoEndpoint::AllFull || !self.enter(place, Verdict::Shed, None) {
            self.answer(place, Verdict::Shed);
        }
    }

    /// Has a request wait for a slot. Whether it may; if so, all else about it is taken care of.
    pub(super) fn enter(&mut self, place: u32, without: Verdict, paid: Option<Nanos>) -> bool {
        let Some(request) = self.requests.get(place) else {
            return false;
        };
        let balancer = &self.balancers[request.balancer as usize];
        let (Some(room), Some(span)) = (&balancer.room, self.queue_timeout()) else {
            return false;
        };
        let ask = Ask {
            attempts: request.tried.attempts(),
            ..Ask::default()
        };
        let response = Nanos::from(self.cluster.timeout.response);
        let due = (request.arrived + response).min(self.now + span);
        let Ok(waiting) = room.enter(ask, Priority::Default, due, self.now) else {
            return false;
        };
        let counts = request.counts;
        let number = self.next_number();
        let wait = Wait {
            bell: self.bells.bell(place, number),
            waiting,
            number,
            since: self.now,
            without,
            paid,
        };
        if let Some(request) = self.requests.get_mut(place) {
            request.wait = Some(Box::new(wait));
        }
        self.await_by(QUEUE, place);
        self.record.waits += u64::from(counts);
        self.look_again(place);
        true
    }

    /// How long a request waits at most; none where none does.
    fn queue_timeout(&self) -> Option<Nanos> {
        let queue = self.cluster.capacity?.queue?;
        Some(queue.timeout)
    }

    /// Answers the bells that rang.
    #[inline]
    pub(super) fn answer_bells(&mut self) {
        if !self.has_rooms {
            return;
        }
        while let Some((place, number)) = self.bells.next() {
            let wait = self.requests.get(place).and_then(|r| r.wait.as_ref());
            if wait.is_some_and(|wait| wait.number == number) {
                self.hear_bell(place);
            }
        }
    }

    /// Looks for a slot as if nobody waited, and then whether the wait is over: in the gateway's order,
    /// which finds a slot that was released before anybody saw that somebody waits.
    fn look_again(&mut self, place: u32) {
        match self.try_somewhere(place) {
            Ok(()) => self.stop_waiting(place),
            Err(NoEndpoint::AllFull) => self.hear_bell(place),
            Err(_) => self.unserved(place),
        }
    }

    /// Takes what a wait is told.
    fn hear_bell(&mut self, place: u32) {
        let wait = |request: &mut super::request::Request| request.wait.as_mut().map(|w| w.poll());
        match self.requests.get_mut(place).and_then(wait) {
            None | Some(Poll::Pending) => {}
            Some(Poll::Ready(Ok(slot))) => self.take_slot(place, slot),
            Some(Poll::Ready(Err(_))) => self.unserved(place),
        }
    }

    /// A request was given a slot.
    fn take_slot(&mut self, place: u32, slot: Slot) {
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        let attempts = request.tried.attempts();
        let ctx = PickContext {
            attempts: attempts.clone(),
            ..PickContext::at(self.now)
        };
        let balancer = &mut self.balancers[request.balancer as usize];
        match balancer.bind(&ctx, slot) {
            Ok(lease) => {
                self.stop_waiting(place);
                self.begin_try(place, lease);
            }
            // Its endpoint is not there any more, or not for this request.
            Err(useless) => {
                let ask = Ask {
                    attempts,
                    ..Ask::default()
                };
                if let Some(wait) = &mut request.wait {
                    wait.waiting.wait_on(useless, ask);
                }
                self.look_again(place);
            }
        }
    }

    /// A wait is over. Whether it was for a retry.
    fn stop_waiting(&mut self, place: u32) {
        self.deadlines[usize::from(QUEUE)].remove(place);
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        let Some(wait) = request.wait.take() else {
            return;
        };
        if request.counts {
            self.record.waited.add(self.now.since(wait.since));
            self.record.retries += u64::from(wait.paid.is_some());
        }
    }

    /// A request waited for nothing.
    pub(super) fn unserved(&mut self, place: u32) {
        self.deadlines[usize::from(QUEUE)].remove(place);
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        let number = request.balancer as usize;
        let Some(wait) = request.wait.take() else {
            return;
        };
        if let Some(paid) = wait.paid {
            self.balancers[number].give_back_retry(paid);
        }
        let without = wait.without;
        drop(wait);
        self.answer(place, without);
    }
}
