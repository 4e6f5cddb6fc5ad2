//! etcd, spoken to over its JSON gateway (`/v3/…`), which every etcd of version 3.4 or newer serves at the address
//! of its clients.

mod client;
mod feed;
mod lease;
mod message;
mod registration;
mod source;
mod watch;

pub use client::Etcd;
pub use feed::{Feed, News};
pub use lease::Lease;
pub use message::{KeyValue, Keys};
pub use registration::Registration;
pub(crate) use source::EtcdSource;
pub use watch::{Change, Changes, Watch};
