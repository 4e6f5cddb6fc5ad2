//! A client of the admin API of a running gateway.

mod call;
mod stream;
mod target;

pub(crate) use call::Client;
pub(crate) use stream::Events;
pub(crate) use target::{ApiFlags, Cluster, Target};
