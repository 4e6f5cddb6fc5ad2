//! Peers for tests: raw clients, scripted upstreams, and a gateway between them; and the [`laws`]
//! that strategies are held to.
//!
//! Framing is tested by exact bytes, and judged by what the upstream received, never by what the
//! client was told alone. So nothing here interprets more than it must: [`RawClient`] sends what it
//! is given, [`Upstream`] plays a script and logs every byte. Both are blocking sockets and threads:
//! what a test does stands in the order in which it happens, and shares no event loop with the
//! gateway under test.
//!
//! Nothing here is fit for production: what goes wrong panics with a message, and everything that
//! waits has a [`Deadline`].

#![deny(missing_docs)]

#[cfg(feature = "gateway")]
mod async_server;
#[cfg(feature = "authority")]
mod authority;
mod client;
mod deadline;
mod etcd;
#[cfg(feature = "gateway")]
mod gateway;
mod golden;
pub mod laws;
mod message;
mod missing;
mod port;
#[cfg(feature = "registries")]
pub mod registry;
mod silent;
mod upstream;

#[cfg(feature = "gateway")]
pub use async_server::AsyncServer;
#[cfg(feature = "authority")]
pub use authority::Authority;
pub use client::RawClient;
pub use deadline::{Deadline, PATIENCE, eventually};
pub use etcd::Etcd;
#[cfg(feature = "gateway")]
pub use gateway::{Gateway, config};
pub use golden::golden;
pub use message::{Head, Response};
pub use missing::not_tested;
pub use port::free_port;
pub use silent::{Blackhole, Refusing};
pub use upstream::{Act, Answer, Gate, Received, Script, Upstream};
