//! TLS to clients and to endpoints. Nothing outside this folder names the library that speaks it.
//!
//! One provider of cryptography, named wherever a configuration is built: a process default would be
//! whatever some dependency chose.

mod client;
mod files;
mod hello;
mod server;
mod settings;
mod stream;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

pub(crate) use client::{ClientTls, Speaks};
pub(crate) use hello::Hello;
pub(crate) use rustls::Error as TlsFault;
pub(crate) use server::ServerTls;
pub(crate) use settings::{TlsSettings, follow_files};
pub(crate) use stream::TlsStream;

/// What the protocols inside are called, where they are negotiated.
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// Why TLS cannot be spoken as configured.
#[derive(Debug, thiserror::Error)]
#[error("the file {} {why}", path.display())]
pub struct TlsError {
    path: Arc<Path>,
    why: String,
}

impl TlsError {
    fn new(path: &Arc<Path>, why: impl std::fmt::Display) -> Self {
        Self {
            path: Arc::clone(path),
            why: why.to_string(),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
