//! May this request go?

mod capacity;
mod concurrency;
mod doors;
mod queue;
mod repeat;
mod retry_budget;
mod room;
mod shed;

pub(crate) use capacity::Upto;
pub use capacity::{Levels, Watermarks};
pub use concurrency::{LearnedLimit, Samples};
pub use doors::{Ask, Doors};
pub use queue::{Line, Place as QueuePlace, QueuePolicy, Refused};
pub use repeat::{FailurePoint, Repeatable, RetryRules};
pub use retry_budget::{RequestWindow, RetryBudget, RetryPolicy};
pub use room::{Slot, Waiting, WaitingRoom};
pub use shed::{Priority, ShedReason};
