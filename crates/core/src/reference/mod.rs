//! Slow and obvious versions, to hold the quick ones against: for tests and the simulator.

mod smooth;

pub use smooth::{SmoothWeightedRoundRobin, smooth_cycle};
