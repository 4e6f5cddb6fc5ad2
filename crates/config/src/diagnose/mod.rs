//! What is wrong with a text, and where.

pub(crate) mod diagnostic;
mod render;
pub(crate) mod report;
