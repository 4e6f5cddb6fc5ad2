//! Start, readiness, drain.

mod control;
mod median;
mod plan;
mod shared;
mod start;

pub use control::{Control, EndpointExists};
pub(crate) use plan::Plan;
pub(crate) use shared::Shared;
pub(crate) use start::bind_listener;
pub use start::{Gateway, StartError};
