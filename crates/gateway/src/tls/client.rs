//! What endpoints must prove.

use std::sync::Arc;

use evenkeel_config::ClusterTls;
use evenkeel_core::Published;
use evenkeel_tls::{HTTP1, HTTP2, TlsError, Watched, client_config, server_name};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::cluster::{Host, Target};

/// What one connection is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
}

/// How a cluster's endpoints are spoken to, by the newest files that were right.
#[derive(Debug)]
pub(crate) struct ClientTls {
    tls: ClusterTls,
    /// What is spoken is HTTP/2.
    http2: bool,
    current: Published<ClientConfig>,
    files: Watched,
}

/// The same settings with the same files are one.
impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for ClientTls {}

impl ClientTls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// When one cannot be read, or the key is not that of the certificate.
    pub(super) fn load(tls: &ClusterTls, http2: bool) -> Result<Self, TlsError> {
        let identity = tls.identity.as_ref();
        let pair = identity.map(|identity| [&identity.certificate, &identity.key]);
        let paths = pair.into_iter().flatten().chain(&tls.ca);
        let files = Watched::new(paths.map(Arc::clone).collect());
        let config = config(tls, http2)?;
        Ok(Self {
            tls: tls.clone(),
            http2,
            current: Published::new(Arc::new(config)),
            files,
        })
    }

    /// Whether it was made of this.
    pub(super) fn is_of(&self, tls: &ClusterTls, http2: bool) -> bool {
        self.tls == *tls && self.http2 == http2
    }

    /// As that of listeners; for connections that are opened from now on.
    pub(super) fn refresh(&self) -> Result<bool, TlsError> {
        if !self.files.have_changed() {
            return Ok(false);
        }
        let config = config(&self.tls, self.http2)?;
        self.current.publish(Arc::new(config));
        Ok(true)
    }

    /// Our side of a connection to an endpoint.
    ///
    /// # Errors
    ///
    /// When there is no name that the endpoint could prove.
    pub(crate) fn begin(&self, target: &Target) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.current.load(), self.name_of(target)?)
    }

    /// As [`ClientTls::begin`], for something that is spoken by one connection: a check.
    pub(crate) fn begin_speaking(
        &self,
        target: &Target,
        speaks: Speaks,
    ) -> Result<ClientConnection, rustls::Error> {
        let protocol = match speaks {
            Speaks::Http1 => HTTP1,
            Speaks::Http2 => HTTP2,
        };
        let name = self.name_of(target)?;
        ClientConnection::new_with_alpn(self.current.load(), name, vec![protocol.to_vec()])
    }

    fn name_of(&self, target: &Target) -> Result<ServerName<'static>, rustls::Error> {
        let name = match (&self.tls.server_name, &target.host) {
            (Some(name), _) => name.to_string(),
            (None, Host::Socket(address)) => address.ip().to_string(),
            (None, Host::Name(name)) => {
                let host = name.rsplit_once(':').map_or(&**name, |(host, _)| host);
                host.to_owned()
            }
            (None, Host::Unix(_)) => {
                let why = "an endpoint on a unix socket needs tls.server_name";
                return Err(rustls::Error::General(why.to_owned()));
            }
        };
        server_name(&name).map_err(|error| rustls::Error::General(error.to_string()))
    }
}

fn config(tls: &ClusterTls, http2: bool) -> Result<ClientConfig, TlsError> {
    let identity = tls.identity.as_ref();
    let identity = identity.map(|identity| (&identity.certificate, &identity.key));
    let mut config = client_config(tls.ca.as_ref(), identity)?;
    let protocol = if http2 { HTTP2 } else { HTTP1 };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}
