//! TLS to clients and to endpoints. Nothing outside this folder names the library that speaks it.

mod client;
mod hello;
mod server;
mod settings;
mod stream;

pub(crate) use client::{ClientTls, Speaks};
pub use evenkeel_tls::TlsError;
pub(crate) use hello::Hello;
pub(crate) use rustls::Error as TlsFault;
pub(crate) use server::ServerTls;
pub(crate) use settings::{TlsSettings, follow_files};
pub(crate) use stream::TlsStream;
