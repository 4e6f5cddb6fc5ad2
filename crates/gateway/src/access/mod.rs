//! The access log: a line for each request, with every try that was made for it.
//!
//! What happens to a request is noted while it is carried out ([`Notes`]) and written when it has
//! ended (`line`), by the worker that carried it, into memory of its own. Without an access log there
//! are no notes, and no clock is read for them.

mod combined;
mod escape;
mod json;
mod line;
mod notes;
mod writer;

#[cfg(feature = "otlp")]
pub(crate) use line::Attempt;
pub(crate) use line::{Line, Source};
pub(crate) use notes::{Ending, Noted, Notes};
pub(crate) use writer::{AccessLog, AccessWriter};
