//! Which endpoints a decision begins with.

mod aperture;
pub(crate) mod balance;
pub(crate) mod labels;
mod rocksteadier;
pub(crate) mod shares;
pub(crate) mod subset;
pub(crate) mod zone;
