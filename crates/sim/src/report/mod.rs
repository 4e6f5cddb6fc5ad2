//! What people and programs read of a comparison.

mod chart;
mod figures;
mod html;
mod json;
mod pictures;
mod tables;

pub(crate) use figures::round;
pub use figures::{Figures, Imbalance};
pub use html::{Page, to_html};
pub(crate) use json::result;
pub use json::to_json;
pub use pictures::{Picture, pictures};
pub use tables::{ResultRow, ResultTable, in_ms, latency_table, spread_table, stage_tables};

/// The names of the figures that can be asserted on.
pub(crate) fn figure_names() -> &'static [&'static str] {
    &figures::NAMES
}
