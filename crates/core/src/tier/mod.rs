//! Which endpoints a decision begins with.

pub(crate) mod labels;
pub(crate) mod shares;
pub(crate) mod subset;
pub(crate) mod zone;
