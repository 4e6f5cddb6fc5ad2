//! One decision: what is asked, how it is made, what holds it, and what explains it.

pub(crate) mod context;
pub(crate) mod decide;
pub(crate) mod inputs;
pub(crate) mod lease;
pub(crate) mod picker;
pub(crate) mod receipt;
pub(crate) mod scratch;
pub(crate) mod search;
pub(crate) mod tape;
