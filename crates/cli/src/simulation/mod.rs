//! What people read of simulations.

mod answer;
mod claims;
mod progress;
mod sweep;
mod text;

pub(crate) use answer::answer_text;
pub(crate) use claims::claims_text;
pub(crate) use progress::Progress;
pub(crate) use sweep::sweep_text;
pub(crate) use text::comparison_text;
