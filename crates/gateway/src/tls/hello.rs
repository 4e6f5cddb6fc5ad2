//! What a client begins with, by which a certificate is chosen.

use std::io;

use rustls::ServerConnection;
use rustls::server::{AcceptedAlert, Acceptor};

use super::ServerTls;
use crate::worker::buffer::Inbox;

/// The hello of a client, as far as it has come.
#[derive(Default)]
pub(crate) struct Hello(Acceptor);

/// Why there is no connection.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: io::Error,
    /// What the client is told, as it goes out.
    pub(crate) alert: Vec<u8>,
}

impl Hello {
    /// Reads on, up to the end of the hello: then the connection begins. None while more is needed.
    ///
    /// # Errors
    ///
    /// When it is none, or asks for what there is not.
    pub(crate) fn read(
        &mut self,
        inbox: &mut Inbox,
        tls: &ServerTls,
    ) -> Result<Option<ServerConnection>, Refusal> {
        while !inbox.is_empty() {
            let count = self
                .0
                .read_tls(&mut inbox.data())
                .map_err(|error| Refusal {
                    error,
                    alert: Vec::new(),
                })?;
            inbox.consume(count);
            let Some(accepted) = self.0.accept().map_err(refusal)? else {
                continue;
            };
            let config = tls.choose(accepted.client_hello().server_name());
            return accepted.into_connection(config).map(Some).map_err(refusal);
        }
        Ok(None)
    }
}

fn refusal((error, mut alert): (rustls::Error, AcceptedAlert)) -> Refusal {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = alert.write_all(&mut bytes);
    Refusal {
        error: io::Error::new(io::ErrorKind::InvalidData, error),
        alert: bytes,
    }
}
