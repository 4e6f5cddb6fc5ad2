//! What endpoints say of their load, on its way from the heads of answers to weights.
//!
//! A worker reads a report where it reads the head, and adds it up on its own; its pulse pours the sums
//! where the control side finds them, which works out weights from them. So a request takes no lock and
//! waits for nobody, and a cluster that does not listen pays for a look at a flag.

mod asking;
mod field;
mod follow;
mod weighing;

pub(crate) use asking::{Asking, ask};
pub(crate) use field::hear;
pub(crate) use follow::follow_weights;
pub(crate) use weighing::{Listens, Weighing, settle};
