//! Start, readiness, drain.

mod control;
mod median;
mod plan;
mod restart;
mod shared;
mod start;

pub use control::{Control, EndpointExists, NothingHeld};
pub(crate) use plan::Plan;
pub use restart::Task;
pub(crate) use shared::Shared;
pub(crate) use start::bind_listener;
pub use start::{Gateway, StartError};
