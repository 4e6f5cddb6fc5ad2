//! From those who publish events to those who listen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use evenkeel_core::unpoisoned;
use tokio::sync::broadcast::{self, error::RecvError};

use super::Event;
use crate::clock::time_of_day;

/// How many events a listener may be behind before it loses the oldest.
const BACKLOG: usize = 1024;

/// How many of the last events are kept for those who come later.
const KEPT: usize = 1000;

/// The events of a gateway. Nothing on the path of a request publishes.
#[derive(Debug)]
pub struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    events: VecDeque<Arc<Event>>,
    number: u64,
}

/// A listener was too slow, and so many events are lost to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed(pub u64);

/// A listener's end of the feed.
#[derive(Debug)]
pub struct Subscription {
    receiver: broadcast::Receiver<Arc<Event>>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            sender: broadcast::Sender::new(BACKLOG),
            recent: Mutex::default(),
        }
    }
}

impl Events {
    /// Numbers an event, notes the time, and hands it to whoever listens.
    pub fn publish(&self, mut event: Event) {
        let mut recent = self.recent();
        recent.number += 1;
        event.number = recent.number;
        event.time = time_of_day();
        let event = Arc::new(event);
        if recent.events.len() == KEPT {
            recent.events.pop_front();
        }
        recent.events.push_back(Arc::clone(&event));
        // Within the lock, so that listeners get them in the order of their numbers. That nobody
        // listens is no mistake.
        let _ = self.sender.send(event);
    }

    /// Listens from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        Subscription {
            receiver: self.sender.subscribe(),
        }
    }

    /// The last events, at most 1,000, the oldest first, and everything that comes behind them.
    #[must_use]
    pub fn subscribe_with_recent(&self) -> (Vec<Arc<Event>>, Subscription) {
        let recent = self.recent();
        let subscription = self.subscribe();
        (recent.events.iter().cloned().collect(), subscription)
    }

    // Nothing panics while it holds this lock.
    fn recent(&self) -> MutexGuard<'_, Recent> {
        unpoisoned(self.recent.lock())
    }
}

impl Subscription {
    /// The next event; `None` once the gateway has ended.
    ///
    /// # Errors
    ///
    /// When events were lost since this listener was too slow; it goes on with the oldest that is left.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it loses nothing.
    pub async fn next(&mut self) -> Result<Option<Arc<Event>>, Missed> {
        match self.receiver.recv().await {
            Ok(event) => Ok(Some(event)),
            Err(RecvError::Lagged(count)) => Err(Missed(count)),
            Err(RecvError::Closed) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;

    fn event(cause: &'static str) -> Event {
        Event::new(EventKind::Reload, cause, "")
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("an event loop").block_on(future)
    }

    #[test]
    fn listeners_hear_what_comes_and_latecomers_what_was() {
        let events = Events::default();
        events.publish(event("before"));
        let (recent, mut listener) = events.subscribe_with_recent();
        events.publish(event("after"));
        assert_eq!((recent.len(), recent[0].number), (1, 1));
        let next = run(listener.next()).expect("none lost").expect("it runs");
        assert_eq!((next.cause, next.number), ("after", 2));
        drop(events);
        assert_eq!(run(listener.next()), Ok(None));
    }

    #[test]
    fn a_slow_listener_is_told_how_many_it_lost() {
        let events = Events::default();
        let mut slow = events.subscribe();
        for _ in 0..BACKLOG + 10 {
            events.publish(event("flood"));
        }
        assert_eq!(run(slow.next()), Err(Missed(10)));
        let next = run(slow.next()).expect("none lost").expect("it runs");
        assert_eq!(next.number, 11);
        assert_eq!(events.subscribe_with_recent().0.len(), KEPT);
    }
}
