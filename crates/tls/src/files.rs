//! The PEM files, and whether they have been replaced.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, Error, OtherError, RootCertStore};

use crate::{TlsError, provider};

/// Where systems keep the authorities that they believe.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A certificate with its key, which belong together.
///
/// # Errors
///
/// When they do not, or a file holds nothing of the kind.
pub fn certified(certificate: &Arc<Path>, key: &Arc<Path>) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| TlsError::new(key, format!("holds no private key: {error}")))?;
    CertifiedKey::from_der(chain, private, &provider()).map_err(|error| match error {
        Error::InvalidCertificate(why) => TlsError::new(certificate, unreadable(&why)),
        error => {
            let why = format!("is not the key of {}: {error}", certificate.display());
            TlsError::new(key, why)
        }
    })
}

/// Why a certificate cannot be shown; many tools make one of the first version when no extension is asked for.
fn unreadable(why: &CertificateError) -> String {
    if let CertificateError::Other(OtherError(why)) = why
        && why.downcast_ref() == Some(&webpki::Error::UnsupportedCertVersion)
    {
        return "holds a certificate of version 1 of X.509, and TLS needs version 3: make it with an extension, like subjectAltName".to_owned();
    }
    format!("holds no certificate that can be shown: {why:?}")
}

/// The authorities in a file, or those of the system.
///
/// # Errors
///
/// When the file holds none, or something else.
pub fn authorities(path: Option<&Arc<Path>>) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = path else {
        let found = SYSTEM.iter().map(Path::new).find(|path| path.exists());
        let path: Arc<Path> = found.unwrap_or(Path::new(SYSTEM[0])).into();
        // Those that nobody can read are nobody's authorities; there are always a few.
        roots.add_parsable_certificates(certificates(&path)?);
        return Ok(roots.into());
    };
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| TlsError::new(path, format!("holds no authority: {error}")))?;
    }
    Ok(roots.into())
}

pub(crate) fn certificates(path: &Arc<Path>) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |error| TlsError::new(path, format!("holds no certificate: {error}"));
    let all = CertificateDer::pem_file_iter(path).map_err(wrong)?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if all.is_empty() {
        return Err(TlsError::new(path, "holds no certificate"));
    }
    Ok(all)
}

/// What is known of a file without reading it: when it was written, its size, and which one it is.
type Stamp = Option<(SystemTime, u64, u64)>;

/// Files, as they were when they were last looked at.
#[derive(Debug)]
pub struct Watched {
    paths: Vec<Arc<Path>>,
    seen: Mutex<Vec<Stamp>>,
}

impl Watched {
    /// To be made before the files are read: what is written in between is a change then.
    #[must_use]
    pub fn new(paths: Vec<Arc<Path>>) -> Self {
        let seen = Mutex::new(stamps(&paths));
        Self { paths, seen }
    }

    /// Whether any of them has changed since this was asked last.
    pub fn have_changed(&self) -> bool {
        let now = stamps(&self.paths);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *seen != now;
        *seen = now;
        changed
    }
}

fn stamps(paths: &[Arc<Path>]) -> Vec<Stamp> {
    let stamp = |path: &Arc<Path>| -> io::Result<_> {
        let what = std::fs::metadata(path)?;
        Ok((what.modified()?, what.len(), what.ino()))
    };
    paths.iter().map(|path| stamp(path).ok()).collect()
}
