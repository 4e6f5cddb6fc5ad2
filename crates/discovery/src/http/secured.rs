//! TLS to registries. The files are read again after a connection has failed, so they may be replaced.

use std::sync::Arc;

use evenkeel_config::ClusterTls;
use evenkeel_tls::{TlsError, client_config, server_name};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// What a server must prove, and what it is shown.
#[derive(Debug)]
pub(super) struct Secured {
    tls: ClusterTls,
    host: String,
    config: Option<Arc<ClientConfig>>,
}

impl Secured {
    pub(super) fn new(tls: &ClusterTls, host: String) -> Self {
        Self {
            tls: tls.clone(),
            host,
            config: None,
        }
    }

    /// Makes the handshake.
    pub(super) async fn begin(
        &mut self,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        // Gone until it is known to work: what may be wrong with it is read anew.
        let config = match self.config.take() {
            Some(config) => config,
            None => Arc::new(config(&self.tls).map_err(|error| error.to_string())?),
        };
        let name = self.tls.server_name.as_deref().unwrap_or(&self.host);
        let name = server_name(name)
            .map_err(|_| format!("{name:?} is no name that a certificate could have"))?;
        let connector = TlsConnector::from(Arc::clone(&config));
        let secured = connector.connect(name, stream).await;
        let secured = secured.map_err(|error| format!("no TLS: {error}"))?;
        self.config = Some(config);
        Ok(secured)
    }
}

fn config(tls: &ClusterTls) -> Result<ClientConfig, TlsError> {
    let identity = tls.identity.as_ref();
    let identity = identity.map(|identity| (&identity.certificate, &identity.key));
    client_config(tls.ca.as_ref(), identity)
}
