//! Connections to endpoints.

mod connect;
mod endpoint;
mod keeping;
mod resolve;
mod streams;

pub(crate) use connect::{Connected, Dial};
pub(crate) use endpoint::{Carrier, LocalEndpoint, Silence};
pub(crate) use resolve::{FIRST_LOOKUP, Resolver, lookup};
