//! May an endpoint be used, as far as its condition goes?

pub(crate) mod panic;
