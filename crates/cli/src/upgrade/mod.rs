//! Another process in the place of this one: on SIGUSR2 the program is started again, takes over the sockets and
//! what is known, and this one finishes what it has begun. Or this one begins with sockets that the system's
//! manager holds.
//!
//! ```text
//!  this process                      the next one
//!    starts it ────────────────────▶ stdin is one end of a pair of sockets
//!    offer, listening sockets ─────▶ reads its configuration, binds what is new
//!                     ◀───────────── prepared
//!    what is known and counted ────▶ begins to accept
//!                     ◀───────────── ready
//!    accepts nothing more
//!    what was counted since ───────▶ opens the admin API
//!    the same, until it ends ──────▶
//! ```
//!
//! Until it hears `ready` the old process does what it always does, and goes on if that does not come.

mod activation;
mod arrival;
mod channel;
mod program;
mod successor;
mod supervisor;

use serde::{Deserialize, Serialize};

pub(crate) use arrival::Arrival;
pub(crate) use program::Program;
pub(crate) use successor::Successor;
pub(crate) use supervisor::notify;

/// What tells a process that another one started it to take its place.
const MARK: &str = "EVENKEEL_UPGRADE";

/// What processes of different versions have to agree on before they understand each other.
const VERSION: u32 = 1;

/// What the old process offers first; the sockets follow, in this order.
#[derive(Debug, Serialize, Deserialize)]
struct Offer {
    version: u32,
    /// When its clock stood at zero, by the system's monotonic clock, in nanoseconds.
    clock_zero: u64,
    sockets: Vec<Offered>,
}

/// A listening socket.
#[derive(Debug, Serialize, Deserialize)]
struct Offered {
    /// Its listener; none: it is the admin API's.
    listener: Option<String>,
    owns_file: bool,
}

/// What the next process answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Answer {
    /// All that can fail has been tried.
    Prepared,
    /// It accepts.
    Ready,
}

/// The system's monotonic clock, which all processes share, in nanoseconds.
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Since the system started, so neither is negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
