//! What will happen, in the order in which it does.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use evenkeel_core::Nanos;

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A job in a backend that serves in order is done, if it is still that job.
    Done { job: u32, epoch: u32 },
    /// The next job of a backend that serves all at once is done, if nothing has changed.
    Shared { backend: u32, epoch: u32 },
    /// An answer that no work was done for arrives.
    Answer {
        request: u32,
        number: u32,
        reply: Reply,
    },
    /// The first of the requests in a list of deadlines may be late.
    Deadline { list: u8 },
    /// A user asks again.
    User { user: u32 },
    /// A fault begins or ends.
    Fault { fault: u32, begins: bool },
    /// A balancer hears of a change of the list.
    Heard {
        balancer: u32,
        backend: u32,
        joins: bool,
    },
    /// A balancer looks after itself.
    Tick { balancer: u32, chore: u8 },
    /// A balancer hears what a backend said of its load.
    Load {
        balancer: u32,
        backend: u32,
        in_flight: u32,
        latency: Nanos,
    },
    /// Time has passed for the health of a balancer's endpoints.
    Mind { balancer: u32 },
    /// A balancer begins the checks that are due.
    Check { balancer: u32 },
    /// A check has ended.
    Checked {
        balancer: u32,
        backend: u32,
        passed: bool,
        took: Nanos,
    },
    /// Backends work out how busy they have been.
    Report,
    /// The state is looked at.
    Sample,
    /// From here on things count.
    WarmedUp,
}

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// No connection was made.
    NoConnection,
    /// The connection ended before a byte of the answer.
    Reset,
    /// An error of that status.
    Status(u16),
    /// What was asked for.
    Well,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Nanos,
    /// Of two at the same moment the one that was planned first.
    number: u64,
    event: Event,
}

impl Ord for Entry {
    /// The earliest is the greatest: the heap gives that first.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at.0, other.number).cmp(&(self.at.0, self.number))
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Entry {}

/// What will happen. As large as what is under way, never as what has been.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Entry>,
    planned: u64,
}

impl Agenda {
    #[inline]
    pub(super) fn plan(&mut self, at: Nanos, event: Event) {
        self.planned += 1;
        self.heap.push(Entry {
            at,
            number: self.planned,
            event,
        });
    }

    /// When the next thing happens.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.at)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Nanos, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}
