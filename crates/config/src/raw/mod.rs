//! The text as a tree of values that know their place, and the walk over it against the key table.

pub(crate) mod descend;
mod key_table;
pub(crate) mod keys;
pub(crate) mod kind;
mod scenario_keys;
pub(crate) mod section;
pub(crate) mod syntax;
pub(crate) mod values;
pub(crate) mod walk;
