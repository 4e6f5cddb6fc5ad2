//! An authority for certificates, and the files that it hands out.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_config::Identity;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair,
    date_time_ymd,
};

/// An authority with a folder of its own, which ends with it.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Authority {
    /// A new one, which nobody believes yet.
    ///
    /// # Panics
    ///
    /// When the system gives no folder.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("evenkeel-authority-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, format!("authority {number}"));
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        std::fs::write(folder.join("ca.pem"), issuer.pem()).expect("a file");
        Self { issuer, folder }
    }

    /// The file with its own certificate.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// Its own certificate.
    #[must_use]
    pub fn der(&self) -> Vec<u8> {
        self.issuer.der().to_vec()
    }

    /// A certificate for these names, in the files `FILE.pem` and `FILE.key`, replacing what is there.
    ///
    /// # Panics
    ///
    /// When a file cannot be written.
    #[must_use]
    pub fn issue(&self, file: &str, names: &[&str]) -> Identity {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names.clone()).expect("names");
        let common = names.first().cloned().unwrap_or_default();
        params.distinguished_name.push(DnType::CommonName, common);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        self.keep(file, &certificate, &key)
    }

    /// A certificate for these names that nobody vouches for but itself, and that says it is an authority, as tools
    /// make them; good until that year.
    ///
    /// # Panics
    ///
    /// When a file cannot be written.
    #[must_use]
    pub fn self_signed(&self, file: &str, names: &[&str], until: i32) -> Identity {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        self.keep(file, &certificate, &key)
    }

    fn keep(&self, file: &str, certificate: &Certificate, key: &KeyPair) -> Identity {
        let path = |end: &str| self.folder.join(format!("{file}.{end}"));
        replace(&path("pem"), &certificate.pem());
        replace(&path("key"), &key.serialize_pem());
        Identity {
            certificate: path("pem").into(),
            key: path("key").into(),
        }
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // It lies among other things that nobody needs.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Puts a new file in the place of the old one, in one step as certificate tools do.
fn replace(path: &Path, text: &str) {
    let next = path.with_extension("next");
    std::fs::write(&next, text).expect("a file");
    std::fs::rename(&next, path).expect("the same folder");
}
