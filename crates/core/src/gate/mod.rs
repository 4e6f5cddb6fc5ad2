//! May this request go?

mod retry_budget;

pub use retry_budget::{RequestWindow, RetryBudget, RetryPolicy};
