//! What can happen.

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
