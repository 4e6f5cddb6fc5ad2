//! TLS to registries. The files are read again after a connection has failed, so they may be replaced.

use std::path::Path;
use std::sync::Arc;

use evenkeel_config::{ClusterTls, Identity};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Where systems keep the authorities that they believe.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Why a file of TLS cannot be used, in a line.
type PemError = String;

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
            None => Arc::new(config(&self.tls)?),
        };
        let name = self.tls.server_name.as_deref().unwrap_or(&self.host);
        let name = name.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|_| format!("{name:?} is no name that a certificate could have"))?;
        let connector = TlsConnector::from(Arc::clone(&config));
        let secured = connector.connect(name, stream).await;
        let secured = secured.map_err(|error| format!("no TLS: {error}"))?;
        self.config = Some(config);
        Ok(secured)
    }
}

fn config(tls: &ClusterTls) -> Result<ClientConfig, PemError> {
    let provider: Arc<CryptoProvider> = aws_lc_rs::default_provider().into();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(authorities(tls.ca.as_deref())?);
    match &tls.identity {
        None => Ok(builder.with_no_client_auth()),
        Some(Identity { certificate, key }) => {
            let chain = certificates(certificate)?;
            let private = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| unusable(key, &format!("holds no private key: {error}")))?;
            let config = builder.with_client_auth_cert(chain, private);
            config
                .map_err(|error| unusable(key, &format!("is not that of the certificate: {error}")))
        }
    }
}

fn authorities(path: Option<&Path>) -> Result<RootCertStore, PemError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = path else {
        let found = SYSTEM.iter().map(Path::new).find(|path| path.exists());
        // Those that nobody can read are nobody's authorities; there are always a few.
        roots.add_parsable_certificates(certificates(found.unwrap_or(Path::new(SYSTEM[0])))?);
        return Ok(roots);
    };
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| unusable(path, &format!("holds no authority: {error}")))?;
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let wrong = |error| unusable(path, &format!("holds no certificate: {error}"));
    let all = CertificateDer::pem_file_iter(path).map_err(wrong)?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    match all.is_empty() {
        true => Err(unusable(path, "holds no certificate")),
        false => Ok(all),
    }
}

fn unusable(path: &Path, why: &str) -> PemError {
    format!("the file {} {why}", path.display())
}
