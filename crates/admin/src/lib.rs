//! The control plane of Evenkeel: the admin API, the metrics, and whether the gateway is ready.
//!
//! It runs on the control thread, beside the workers: it answers while they are saturated, and
//! nothing it does is on the path of a request. Every change goes through
//! [`evenkeel_gateway::Control`], so what a call answers is in force when it has answered.
//!
//! What is not here: balancing (the core), reading configuration (the API takes its rules from
//! `evenkeel-config`, so that a value is right or wrong in both for the same reason).

#![deny(missing_docs)]

mod api;
mod auth;
mod guests;
mod metrics;
mod page;
mod path;
mod probes;
mod problem;
mod reloader;
mod server;

pub use page::HAS_DASHBOARD;
pub use path::path_segment;
pub use reloader::{Fingerprint, ReloadFailure, Reloaded, Reloader};
pub use server::{router, serve, serve_with};
