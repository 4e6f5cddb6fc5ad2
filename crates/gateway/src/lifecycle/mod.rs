//! Start, readiness, drain.

mod control;
mod shared;
mod start;

pub use control::{Control, EndpointExists};
pub(crate) use shared::Shared;
pub use start::{Gateway, StartError};
