//! Another configuration for a gateway that runs: as a whole or not at all.
//!
//! What stays is known again by its name, listeners by the address they bind, and keeps all that it
//! has been through: sockets, connections, counters, records of endpoints. `diff` says what becomes
//! of what, and is a pure function; `apply` binds what is new before anything is changed, so that
//! what can fail has failed by then.

mod apply;
mod changes;
mod diff;
mod endpoints;

pub use apply::{OperatorChanges, ReloadError};
pub use changes::{Changes, Difference};
pub use endpoints::EndpointChanges;
