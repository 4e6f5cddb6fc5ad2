//! TLS to endpoints: what they must prove, and what they are shown.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_core::{Nanos, Published};
use evenkeel_tls::{HTTP1, HTTP2, TlsError, Watched, client_config, server_name};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Version;
use super::connecting::{Offer, Stream};
use crate::clock;

/// How often it is looked at most whether files have been replaced.
const LOOK_INTERVAL: Nanos = Nanos::from_secs(2);

/// What endpoints must prove, and what they are shown: TLS 1.2 and 1.3 by rustls.
///
/// Files that are replaced count for connections that are opened from two seconds later on; while what replaces them
/// does not fit together, those before stay in force. Copies share what was read.
///
/// # Examples
///
/// ```no_run
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use evenkeel_client::http::{HttpConnect, Tls};
///
/// // By the authorities of the system; each endpoint proves the host of its address.
/// let public = HttpConnect::http1().tls(Tls::system()?);
/// # let _: HttpConnect<String> = public;
/// // By those of a file; all endpoints prove one name, and are shown a certificate.
/// let tls = Tls::by("ca.pem")?.server_name("users.internal")?.identity("me.pem", "me.key")?;
/// // HTTP/2 with endpoints that can do that, HTTP/1.1 with the others.
/// let internal = HttpConnect::negotiated(tls);
/// # let _: HttpConnect<String> = internal;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tls {
    files: Arc<Files>,
    server_name: Option<(Arc<str>, ServerName<'static>)>,
}

/// Files, and what was made of them.
struct Files {
    ca: Option<Arc<Path>>,
    identity: Option<(Arc<Path>, Arc<Path>)>,
    current: Published<ClientConfig>,
    watched: Watched,
    /// When it was looked at last whether they have been replaced.
    looked: AtomicU64,
}

impl Tls {
    /// Endpoints prove themselves by the authorities of the system.
    ///
    /// # Errors
    ///
    /// When the system has no file of them.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let tls = evenkeel_client::http::Tls::system()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn system() -> Result<Self, TlsError> {
        Files::load(None, None).map(Self::new)
    }

    /// Endpoints prove themselves by the authorities in this file, in PEM.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or holds something else.
    ///
    /// # Examples
    ///
    /// ```
    /// let error = evenkeel_client::http::Tls::by("/no/such.pem").expect_err("there is none");
    /// assert!(error.to_string().starts_with("the file /no/such.pem holds no certificate"));
    /// ```
    pub fn by(ca: impl AsRef<Path>) -> Result<Self, TlsError> {
        Files::load(Some(ca.as_ref().into()), None).map(Self::new)
    }

    fn new(files: Files) -> Self {
        Self {
            files: Arc::new(files),
            server_name: None,
        }
    }

    /// Endpoints that ask for it are shown this certificate, in PEM with those between it and its authority; and its
    /// key.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or the key is not that of the certificate.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let tls = evenkeel_client::http::Tls::system()?.identity("me.pem", "me.key")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn identity(
        mut self,
        certificate: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Self, TlsError> {
        let identity = (certificate.as_ref().into(), key.as_ref().into());
        self.files = Arc::new(Files::load(self.files.ca.clone(), Some(identity))?);
        Ok(self)
    }

    /// The name that all endpoints must prove; else each one proves the host of its address. Requests that name no
    /// host name this one.
    ///
    /// # Errors
    ///
    /// When no certificate could have this name.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let tls = evenkeel_client::http::Tls::system()?.server_name("users.internal")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn server_name(mut self, name: &str) -> Result<Self, BadServerName> {
        let proved = server_name(name).map_err(|_| BadServerName(name.into()))?;
        self.server_name = Some((name.into(), proved));
        Ok(self)
    }

    /// The name that all endpoints go by, if they do.
    pub(super) fn common_name(&self) -> Option<&str> {
        self.server_name.as_ref().map(|(name, _)| &**name)
    }

    /// Makes the handshake, and says what both sides speak.
    pub(super) async fn secure(
        &self,
        stream: Stream,
        address: &str,
        offer: Offer,
    ) -> io::Result<(Box<TlsStream<Stream>>, Version)> {
        let protocols: &[&[u8]] = match offer {
            Offer::One => &[HTTP1],
            Offer::Two => &[HTTP2],
            Offer::Either => &[HTTP2, HTTP1],
        };
        let connector = TlsConnector::from(self.files.config());
        let connector = connector.with_alpn(protocols.iter().map(|one| one.to_vec()).collect());
        let secured = connector.connect(self.name_of(address)?, stream).await?;
        let version = match secured.get_ref().1.alpn_protocol() {
            Some(HTTP2) => Version::Two,
            None if offer == Offer::Two => {
                let refused = rustls::Error::NoApplicationProtocol;
                return Err(io::Error::new(io::ErrorKind::InvalidData, refused));
            }
            _ => Version::One,
        };
        Ok((Box::new(secured), version))
    }

    fn name_of(&self, address: &str) -> io::Result<ServerName<'static>> {
        if let Some((_, proved)) = &self.server_name {
            return Ok(proved.clone());
        }
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        if address.starts_with("unix:") {
            let why = "an endpoint on a unix socket needs a server name";
            return Err(wrong(why.to_owned()));
        }
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        server_name(host).map_err(|_| wrong(BadServerName(host.into()).to_string()))
    }
}

impl Files {
    fn load(
        ca: Option<Arc<Path>>,
        identity: Option<(Arc<Path>, Arc<Path>)>,
    ) -> Result<Self, TlsError> {
        let pair = identity.iter().flat_map(|(one, other)| [one, other]);
        let watched = Watched::new(pair.chain(&ca).map(Arc::clone).collect());
        let config = client_config(
            ca.as_ref(),
            identity.as_ref().map(|(one, other)| (one, other)),
        );
        Ok(Self {
            current: Published::new(Arc::new(config?)),
            looked: AtomicU64::new(clock::now().0),
            ca,
            identity,
            watched,
        })
    }

    /// How a connection is opened now.
    fn config(&self) -> Arc<ClientConfig> {
        let (looked, now) = (self.looked.load(Ordering::Relaxed), clock::now());
        let is_due = now.since(Nanos(looked)) >= LOOK_INTERVAL;
        let relaxed = Ordering::Relaxed;
        // One of those who connect at the same time looks.
        if is_due
            && self
                .looked
                .compare_exchange(looked, now.0, relaxed, relaxed)
                .is_ok()
            && self.watched.have_changed()
        {
            let identity = self.identity.as_ref().map(|(one, other)| (one, other));
            match client_config(self.ca.as_ref(), identity) {
                Ok(config) => self.current.publish(Arc::new(config)),
                Err(_error) => {
                    #[cfg(feature = "tracing")]
                    tracing::warn!("{_error}; the TLS files before stay in force");
                }
            }
        }
        self.current.load()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("ca", &self.files.ca)
            .field("identity", &self.files.identity)
            .field("server_name", &self.common_name())
            .finish()
    }
}

/// A name that no certificate could have.
///
/// # Examples
///
/// ```no_run
/// let tls = evenkeel_client::http::Tls::system()?;
/// let error = tls.server_name("two words").expect_err("no name");
/// assert_eq!(error.to_string(), r#""two words" is no name that a certificate could have"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadServerName(Box<str>);

impl fmt::Display for BadServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no name that a certificate could have", self.0)
    }
}

impl std::error::Error for BadServerName {}

/// What it is called in receipts when a handshake fails; none: the connection failed otherwise.
pub(super) fn word_of(error: &io::Error) -> Option<&'static str> {
    Some(match fault(error)? {
        rustls::Error::InvalidCertificate(_) => "tls_certificate_error",
        _ => "tls_protocol_error",
    })
}

/// Whether the other side speaks nothing of what it was offered.
pub(super) fn is_refused_offer(error: &io::Error) -> bool {
    use rustls::{AlertDescription, Error};
    matches!(
        fault(error),
        Some(
            Error::NoApplicationProtocol
                | Error::AlertReceived(AlertDescription::NoApplicationProtocol)
        )
    )
}

fn fault(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
