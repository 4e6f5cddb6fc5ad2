//! The resolved configuration: types that cannot be wrong.

pub(crate) mod capacity;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod discovery;
pub(crate) mod hash;
pub(crate) mod health;
pub(crate) mod listener;
pub(crate) mod retry;
pub(crate) mod route;
pub(crate) mod scenario;
pub(crate) mod strategy_choice;
pub(crate) mod tls;
