//! What a strategy may compare between endpoints.

mod in_flight;

pub use in_flight::{InFlight, Load};
