//! May this request go?

mod capacity;
mod retry_budget;

pub(crate) use capacity::Upto;
pub use capacity::{Levels, Watermarks};
pub use retry_budget::{RequestWindow, RetryBudget, RetryPolicy};
