//! The balancer of Evenkeel inside a Rust service: the caller keeps the list of endpoints and chooses, one hop less.
//!
//! A [`Cluster`] is a list of endpoints with one strategy and its policies; [`Cluster::balance`] makes a
//! [`tower::Service`](tower_service::Service) of it. Each call is bound to an endpoint when it is made, counted there
//! until its answer has ended, and what it comes to decides over the next ones: endpoints that fail are ejected,
//! those that join warm up, full ones are spared, and what failed may be tried elsewhere within a budget.
//!
//! # Any service for each endpoint
//!
//! ```
//! use std::convert::Infallible;
//! use evenkeel_client::{Cluster, Plain, Settings, core::Endpoint};
//! use tower::{Service, ServiceExt, service_fn};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let endpoints = [Endpoint::new("a", "10.0.0.1:80"), Endpoint::new("b", "10.0.0.2:80")];
//! let connect = |endpoint: &Endpoint| {
//!     let id = endpoint.id().to_owned();
//!     service_fn(move |call: u32| {
//!         let answer = format!("{call} by {id}");
//!         async move { Ok::<_, Infallible>(answer) }
//!     })
//! };
//! let cluster = Cluster::new(Settings::new("numbers"), endpoints, connect)?;
//! let mut service = cluster.balance(Plain);
//! let answer = service.ready().await?.call(7).await?;
//! assert!(answer.starts_with("7 by "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a call costs
//!
//! A decision reads shared memory without a lock: a thread has its own picker, its own clones of services and its own
//! share of the cluster, and what threads write in common is each endpoint's record, its count in flight above all. A
//! call that is neither queued, hedged nor timed allocates nothing of its own but the text by which it could be sent
//! again, if the rules keep that, and is made at once where the service of its endpoint is ready.
//!
//! # Cancellation
//!
//! A call that is dropped frees its endpoint and blames nobody; so does a body of an answer that is dropped. A panic
//! in the code of a service or a caller frees it too.

#![deny(missing_docs)]

mod alone;
mod balance;
#[cfg(feature = "http")]
mod body;
mod checks;
mod clock;
mod cluster;
mod connect;
mod counters;
pub mod discovery;
mod error;
#[cfg(feature = "hyper")]
pub mod http;
mod layer;
mod lease;
mod local;
mod lock;
#[cfg(feature = "tracing")]
pub mod log;
mod long;
pub mod observe;
#[cfg(feature = "prometheus")]
pub mod prometheus;
mod race;
#[cfg(feature = "receipts")]
pub mod receipts;
#[cfg(feature = "reqwest")]
pub mod reqwest;
mod rules;
mod session;
mod settings;
mod shared;
#[cfg(feature = "discovery")]
pub mod sources;
mod stats;
mod trail;
mod tries;
mod upkeep;
mod view;

pub use balance::{Balance, Call};
#[cfg(feature = "http")]
pub use body::HeldBody;
pub use checks::{Check, Checking, TcpCheck};
#[cfg(feature = "hyper")]
pub use checks::{HttpCheck, NoBody};
pub use cluster::Cluster;
pub use connect::{Connect, EndpointService};
pub use error::{BoxError, Error};
pub use evenkeel_core as core;
pub use layer::BalanceLayer;
pub use lease::CallLease;
pub use observe::Observe;
#[cfg(feature = "http")]
pub use rules::{Copied, CopyBody, Grpc, Http, KeptRequest, RouteKey, Streamed};
pub use rules::{Judgement, Plain, Rules};
pub use settings::Settings;
pub use stats::{EndpointCalls, EndpointStats, Histogram, LATENCY_BOUNDS, Stats};
pub use tries::{At, Tries};
