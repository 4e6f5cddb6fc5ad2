//! What comes first on a connection, before anything is answered: the PROXY header, by which a load
//! balancer in front says who its client is, and the hello of a TLS client, with the name that it asks
//! for.
//!
//! Over byte slices and without I/O. What is read comes from strangers: it is taken in
//! one form only, lengths are limited, and a prefix that cannot become right any more is refused at once.

#![deny(missing_docs)]

mod client_hello;
mod fuzz;
mod proxy_header;

pub use client_hello::{Asked, HELLO_MAX, asked_name};
#[doc(hidden)]
pub use fuzz::{fuzz_client_hello, fuzz_proxy_header};
pub use proxy_header::{Addresses, BadProxyHeader, ProxyHeader, ProxyVersion};
