//! What people read of simulations.

mod progress;
mod sweep;
mod text;

pub(crate) use progress::Progress;
pub(crate) use sweep::sweep_text;
pub(crate) use text::Text;
