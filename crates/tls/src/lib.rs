//! The files of TLS, and what is made of them: for the gateway, for whoever asks registries, and for the client
//! library.
//!
//! One provider of cryptography, named wherever a configuration is built: a process default would be
//! whatever some dependency chose.

#![deny(missing_docs)]

mod believed;
mod client;
mod files;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

pub use believed::clients;
pub use client::{client_config, server_name};
pub use files::{Watched, authorities, certified};

/// What the protocols inside are called, where they are negotiated.
pub const HTTP1: &[u8] = b"http/1.1";
/// See [`HTTP1`].
pub const HTTP2: &[u8] = b"h2";

/// Why TLS cannot be spoken as configured.
#[derive(Debug, thiserror::Error)]
#[error("the file {} {why}", path.display())]
pub struct TlsError {
    path: Arc<Path>,
    why: String,
}

impl TlsError {
    /// Says what is wrong with a file: `why` goes on where its name ends.
    pub fn new(path: &Arc<Path>, why: impl std::fmt::Display) -> Self {
        Self {
            path: Arc::clone(path),
            why: why.to_string(),
        }
    }
}

/// The one provider of cryptography.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
