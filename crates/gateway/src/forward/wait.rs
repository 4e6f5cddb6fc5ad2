//! Waiting for a slot when all endpoints are full, and what a request is told that gets none.

use std::future::poll_fn;
use std::task::{Poll, ready};

use evenkeel_core::{Nanos, NoEndpoint, Refused, ShedReason, Slot};

use super::client::Client;
use super::tries::{Tries, Try};
use crate::route::Way;

/// Why there is no endpoint for a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unserved {
    /// The client has gone in the meantime.
    Gone,
    /// Nobody can be chosen, and waiting would not help.
    Nobody(NoEndpoint),
    /// It was turned away, or its time in the queue was over.
    Shed(Refused),
}

impl Unserved {
    pub(super) fn shed(reason: ShedReason) -> Self {
        Self::Shed(Refused { reason, wait: None })
    }

    /// What is said of it.
    pub(super) fn details(self) -> String {
        match self {
            Self::Gone => String::new(),
            Self::Nobody(reason) => reason.to_string(),
            Self::Shed(Refused { reason, wait }) => match (reason, wait) {
                (ShedReason::Capacity, _) => NoEndpoint::AllFull.to_string(),
                (ShedReason::Deadline, Some(wait)) => format!(
                    "it would have waited {:.1} s in the queue, which is longer than it may",
                    wait.0 as f64 / 1e9
                ),
                (ShedReason::Deadline, None) => {
                    "it would have waited in the queue longer than it may".to_owned()
                }
                (ShedReason::Priority, _) => {
                    "a more important request has its place in the queue".to_owned()
                }
                (ShedReason::QueueFull, _) => {
                    "every endpoint is at its capacity, and the queue is full".to_owned()
                }
                (ShedReason::QueueTimeout, _) => {
                    "no endpoint had a slot for it in its time in the queue".to_owned()
                }
            },
        }
    }
}

/// What one who waits is told.
enum Told {
    Gone,
    Late,
    Shed(ShedReason),
    Slot(Slot),
}

/// Waits until an endpoint has a slot, the client goes away, or `due` is past. Dropped, it leaves its
/// place at once.
///
/// To be boxed: most requests never wait.
///
/// # Errors
///
/// When there will be no slot, with the reason.
pub(super) async fn wait<'v>(
    client: &mut Client,
    way: &Way,
    tries: &Tries<'v>,
    due: Nanos,
) -> Result<Try<'v>, Unserved> {
    let began = client.worker.now();
    let mut waiting = tries.enter(way, due, began).map_err(Unserved::Shed)?;
    let due = due.min(began + tries.queue_timeout());
    client.alarm.set(due.since(began));
    loop {
        // A slot may have opened before anybody saw that somebody waits.
        match tries.look_again(way, client.worker.now()) {
            Ok(at) => return Ok(at),
            Err(NoEndpoint::AllFull) => {}
            Err(reason) => return Err(Unserved::Nobody(reason)),
        }
        let told = poll_fn(|cx| {
            if let Poll::Ready(told) = waiting.poll(cx) {
                return Poll::Ready(told.map_or_else(Told::Shed, Told::Slot));
            }
            if client.poll_gone(cx).is_ready() {
                return Poll::Ready(Told::Gone);
            }
            ready!(client.alarm.poll_due(cx));
            Poll::Ready(Told::Late)
        })
        .await;
        let now = client.worker.now();
        match told {
            Told::Slot(slot) => match tries.bind(way, slot, now) {
                Ok(at) => {
                    tries.waited(now.since(began));
                    return Ok(at);
                }
                // Its endpoint is not there any more, or not for this request.
                Err(useless) => waiting.wait_on(useless, tries.ask(way)),
            },
            Told::Shed(reason) => return Err(Unserved::shed(reason)),
            Told::Late => return Err(Unserved::shed(ShedReason::QueueTimeout)),
            Told::Gone => return Err(Unserved::Gone),
        }
    }
}
