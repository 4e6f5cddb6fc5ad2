//! Where endpoints come from while a gateway runs.
//!
//! A [`Source`] yields whole lists, or says why it cannot: it knows nothing of clusters, and what is made of
//! a list is decided elsewhere. [`Following`] asks it on and on. [`Guard`] holds lists that lose too much at once,
//! [`Backoff`] says when a lost source is asked again, and [`Store`] keeps the last good list on disk. All but
//! sources and the store are pure: the time is an argument.
//!
//! An entry that makes no sense is skipped and told of by its key ([`Fault`]); the rest of its list counts.

#![deny(missing_docs)]

mod backoff;
#[cfg(feature = "consul")]
mod consul;
#[cfg(feature = "dns")]
mod dns;
mod entries;
#[cfg(feature = "etcd")]
pub mod etcd;
mod file;
mod following;
mod guard;
#[cfg(feature = "registry")]
mod http;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod listing;
mod source;
mod store;

pub use backoff::Backoff;
pub use file::read_file;
pub use following::{Following, Heard};
pub use guard::{Guard, Loss, Verdict, gone};
pub use listing::{Fault, Listing, SourceError};
pub use source::Source;
pub use store::{Store, StoreError};
