//! What comes first on a connection, before anything is answered: the PROXY header, by which a load
//! balancer in front says who its client is.
//!
//! Both directions, over byte slices and without I/O. What is read comes from strangers: it is taken in
//! one form only, lengths are limited, and a prefix that cannot become right any more is refused at once.

#![deny(missing_docs)]

mod fuzz;
mod proxy_header;

#[doc(hidden)]
pub use fuzz::fuzz_proxy_header;
pub use proxy_header::{Addresses, BadProxyHeader, ProxyHeader, ProxyVersion};
