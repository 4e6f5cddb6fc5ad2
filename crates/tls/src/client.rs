//! What servers must prove, and what they are shown.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use rustls::sign::SingleCertAndKey;

use crate::believed::servers;
use crate::files::certified;
use crate::{TlsError, provider};

/// How connections are opened to servers that the authorities of a file vouch for, or those of the system; an
/// identity is a certificate and its key, shown to those who ask. No protocol inside is asked for.
///
/// # Errors
///
/// When a file cannot be read, holds nothing of the kind, or the key is not that of the certificate.
pub fn client_config(
    ca: Option<&Arc<Path>>,
    identity: Option<(&Arc<Path>, &Arc<Path>)>,
) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        // The provider has what these versions need; that is what is checked here.
        .map_err(|error| TlsError::new(&Path::new("TLS").into(), error))?
        // What is dangerous is to judge less than the library does; see there.
        .dangerous()
        .with_custom_certificate_verifier(servers(ca)?);
    Ok(match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let resolver = SingleCertAndKey::from(certified(certificate, key)?);
            builder.with_client_cert_resolver(Arc::new(resolver))
        }
    })
}

/// The name that a server must prove: of a host, or an address of IP with or without the brackets of a URL.
///
/// # Errors
///
/// When no certificate could have it.
pub fn server_name(name: &str) -> Result<ServerName<'static>, InvalidDnsNameError> {
    ServerName::try_from(name.trim_matches(['[', ']']).to_owned())
}
