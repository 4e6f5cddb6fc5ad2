//! Start, readiness, drain.

mod control;
mod median;
mod plan;
mod prepared;
mod restart;
mod shared;
mod start;

pub use control::{Control, EndpointExists, NothingHeld};
pub(crate) use plan::Plan;
pub use prepared::Prepared;
pub(crate) use prepared::bind_listener;
pub use restart::Task;
pub(crate) use shared::Shared;
pub use start::{Gateway, StartError};
