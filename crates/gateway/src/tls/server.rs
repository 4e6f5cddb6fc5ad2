//! What a listener proves to clients, by the name that they ask for.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use evenkeel_config::{Identity, ListenerTls, Protocol};
use evenkeel_core::Published;
use evenkeel_tls::{HTTP1, HTTP2, TlsError, Watched, certified, clients, provider};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

/// The certificates of a listener, the newest that were right.
#[derive(Debug)]
pub(crate) struct ServerTls {
    tls: Vec<ListenerTls>,
    protocol: Protocol,
    current: Published<Choice>,
    files: Watched,
}

/// What there is to choose from.
#[derive(Debug)]
struct Choice {
    /// In the order of the configuration; there is one.
    configs: Vec<Arc<ServerConfig>>,
    /// The first one for each name, in lower case; `*.` stands for one label.
    names: BTreeMap<String, usize>,
}

impl ServerTls {
    /// Reads the files of a listener that has any.
    ///
    /// # Errors
    ///
    /// When one cannot be read, or a key is not that of its certificate.
    pub(super) fn load(tls: &[ListenerTls], protocol: Protocol) -> Result<Self, TlsError> {
        let files = Watched::new(tls.iter().flat_map(paths).collect());
        let choice = Choice::load(tls, protocol)?;
        Ok(Self {
            tls: tls.to_vec(),
            protocol,
            current: Published::new(Arc::new(choice)),
            files,
        })
    }

    /// Whether it was made of this.
    pub(super) fn is_of(&self, tls: &[ListenerTls], protocol: Protocol) -> bool {
        self.tls == tls && self.protocol == protocol
    }

    /// Takes over files that have been replaced, and says whether there were any. Handshakes that
    /// begin from now on go by them.
    ///
    /// # Errors
    ///
    /// When they do not fit together; then all stays as it was.
    pub(super) fn refresh(&self) -> Result<bool, TlsError> {
        if !self.files.have_changed() {
            return Ok(false);
        }
        let choice = Choice::load(&self.tls, self.protocol)?;
        self.current.publish(Arc::new(choice));
        Ok(true)
    }

    /// What a client gets that asks for this name, or for none.
    pub(crate) fn choose(&self, name: Option<&str>) -> Arc<ServerConfig> {
        let choice = self.current.load();
        let place = name.and_then(|name| choice.place(name)).unwrap_or(0);
        Arc::clone(&choice.configs[place])
    }
}

fn paths(tls: &ListenerTls) -> impl Iterator<Item = Arc<Path>> {
    let Identity { certificate, key } = &tls.identity;
    let all = [Some(certificate), Some(key), tls.client_ca.as_ref()];
    all.map(|path| path.map(Arc::clone)).into_iter().flatten()
}

impl Choice {
    fn load(tls: &[ListenerTls], protocol: Protocol) -> Result<Self, TlsError> {
        let mut configs = Vec::with_capacity(tls.len());
        let mut names = BTreeMap::new();
        for (place, one) in tls.iter().enumerate() {
            let certified = certified(&one.identity.certificate, &one.identity.key)?;
            for name in names_of(&certified) {
                names.entry(name).or_insert(place);
            }
            configs.push(Arc::new(config(one, certified, protocol)?));
        }
        Ok(Self { configs, names })
    }

    fn place(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_lowercase();
        let below = || {
            let (_, parent) = name.split_once('.')?;
            self.names.get(&format!("*.{parent}"))
        };
        self.names.get(&name).or_else(below).copied()
    }
}

/// The names that a certificate is for.
fn names_of(certified: &CertifiedKey) -> Vec<String> {
    let Some(first) = certified.cert.first() else {
        return Vec::new();
    };
    let names = webpki::EndEntityCert::try_from(first).map(|cert| {
        cert.valid_dns_names()
            .map(str::to_ascii_lowercase)
            .collect()
    });
    // One that cannot be read for its names is still the default of those who ask for none.
    names.unwrap_or_default()
}

fn config(
    tls: &ListenerTls,
    certified: CertifiedKey,
    protocol: Protocol,
) -> Result<ServerConfig, TlsError> {
    let wrong = |error: rustls::Error| TlsError::new(&tls.identity.certificate, error);
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(wrong)?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => builder.with_client_cert_verifier(clients(ca)?),
    };
    let resolver = Arc::new(SingleCertAndKey::from(certified));
    let mut config = builder.with_cert_resolver(resolver);
    // Tickets are good for these certificates and these authorities only: another set has other keys.
    config.ticketer = Ticketer::new().map_err(wrong)?;
    if protocol == Protocol::Http {
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    }
    Ok(config)
}
