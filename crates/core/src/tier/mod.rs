//! Which endpoints a decision begins with.

pub(crate) mod shares;
