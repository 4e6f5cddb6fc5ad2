//! What a strategy may compare between endpoints.

mod at_load;
mod cost;
mod in_flight;
mod peak_ewma;
mod total;

pub use at_load::LatencyAtLoad;
pub use cost::Cost;
pub use in_flight::{InFlight, Load};
pub use peak_ewma::PeakEwma;
pub(crate) use total::Total;
