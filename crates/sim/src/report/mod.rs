//! What people and programs read of a comparison.

mod figures;
mod json;

pub use figures::{Figures, Imbalance};
pub(crate) use json::result;
pub use json::to_json;

/// The names of the figures that can be asserted on.
pub(crate) fn figure_names() -> &'static [&'static str] {
    &figures::NAMES
}
