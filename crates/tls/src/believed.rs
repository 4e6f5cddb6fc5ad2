//! Peers that show the very certificate that is believed.
//!
//! Tools make certificates that vouch for themselves, and call them authorities: `openssl req -x509` does unless told
//! otherwise. Whoever names such a file as `ca` means that one peer. The library lets no authority speak for itself,
//! so it is let here: for a certificate that stands in the file byte for byte, after the library has found that its
//! time is right and nothing else is wrong with it than that it may sign others too.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};

use crate::files::{authorities, certificates};
use crate::{TlsError, provider};

/// Judges as `inner` does, and lets the certificates of the file speak for themselves.
#[derive(Debug)]
struct Believed<V: ?Sized> {
    certificates: Vec<CertificateDer<'static>>,
    inner: Arc<V>,
}

/// What servers must prove to those who believe the authorities of a file, or those of the system.
///
/// # Errors
///
/// When the file holds none, or something else.
pub(crate) fn servers(ca: Option<&Arc<Path>>) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let inner = WebPkiServerVerifier::builder_with_provider(authorities(ca)?, provider());
    let inner: Arc<dyn ServerCertVerifier> = inner.build().map_err(|error| unusable(ca, error))?;
    Ok(match ca {
        Some(ca) => Arc::new(Believed {
            certificates: certificates(ca)?,
            inner,
        }),
        None => inner,
    })
}

/// What clients must prove: a certificate of one of the authorities in a file.
///
/// # Errors
///
/// When the file holds none, or something else.
pub fn clients(ca: &Arc<Path>) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let inner = WebPkiClientVerifier::builder_with_provider(authorities(Some(ca))?, provider());
    let inner = inner.build().map_err(|error| unusable(Some(ca), error))?;
    Ok(Arc::new(Believed {
        certificates: certificates(ca)?,
        inner,
    }))
}

fn unusable(ca: Option<&Arc<Path>>, error: impl std::fmt::Display) -> TlsError {
    let system = || Path::new("of the system's authorities").into();
    let path = ca.map_or_else(system, Arc::clone);
    TlsError::new(&path, format!("cannot be gone by: {error}"))
}

impl<V: ?Sized> Believed<V> {
    /// Whether all that is wrong with a certificate is that it is an authority's, and it is one of ours.
    fn is_own(&self, certificate: &CertificateDer<'_>, error: &Error) -> bool {
        let Error::InvalidCertificate(CertificateError::Other(OtherError(why))) = error else {
            return false;
        };
        // It is found after its time was looked at, and before anything that could not be said of one's own.
        let is_authority = why.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity);
        is_authority && self.certificates.contains(certificate)
    }
}

impl ServerCertVerifier for Believed<dyn ServerCertVerifier> {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = self.inner.verify_server_cert(shown, above, name, ocsp, now);
        match judged {
            Err(error) if self.is_own(shown, &error) => {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

impl ClientCertVerifier for Believed<dyn ClientCertVerifier> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let judged = self.inner.verify_client_cert(shown, above, now);
        match judged {
            Err(error) if self.is_own(shown, &error) => Ok(ClientCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
