//! Receipts: why each request went where it did.
//!
//! Every decision is traced, into memory that is used again ([`Trace`]): that costs some tens of
//! nanoseconds, and a failure, a shed or a fallback is known only afterwards. What is kept of it is
//! decided at the end of the request ([`Recorder`]). Kept receipts stand in a ring for the API
//! ([`Receipts`]) and in the decision log. Decision 13.

mod asides;
mod dry_run;
mod heading;
mod receipts;
mod recorder;
mod trail;
mod watch;

pub(crate) use asides::Asides;
pub use receipts::{Kept, Receipts, Wanted};
pub(crate) use recorder::Recorder;
pub(crate) use trail::Trace;
pub use watch::{Condition, Next, NotACondition};
