//! A small client of HTTP/1.1 for registries: a connection for each request, in the clear or over TLS.
//!
//! Registries are asked every few seconds, or for minutes at a time; a pool would save nothing that
//! anybody could measure.

#[cfg(any(feature = "etcd", feature = "kubernetes"))]
mod lines;
mod secured;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::{Address, ClusterTls, RegistryUrl};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

#[cfg(any(feature = "etcd", feature = "kubernetes"))]
pub(crate) use lines::Lines;
use secured::Secured;

/// How long a connection may take, with its handshake.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// What we are called.
const AGENT: &str = concat!("evenkeel/", env!("CARGO_PKG_VERSION"));

/// A server that is asked by HTTP.
#[derive(Debug)]
pub(crate) struct Http {
    authority: Arc<str>,
    address: String,
    secured: Option<Secured>,
}

/// Why nothing was answered.
#[derive(Debug)]
pub(crate) struct HttpError(String);

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Http {
    /// The server at a URL. No file is read and nothing asked yet.
    pub(crate) fn new(url: &RegistryUrl, tls: &ClusterTls) -> Self {
        let host = match &url.address {
            Address::Ip(address) => address.ip().to_string(),
            Address::Host(host, _) => host.clone(),
            Address::Unix(_) => String::new(),
        };
        Self {
            authority: Arc::clone(&url.authority),
            address: url.address.to_string(),
            secured: url.is_secured.then(|| Secured::new(tls, host)),
        }
    }

    /// Sends a request, and returns with the head of its answer, which may take so long.
    pub(crate) async fn send(
        &mut self,
        mut request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<Response<Incoming>, HttpError> {
        let host = HeaderValue::from_str(&self.authority)
            .map_err(|_| HttpError(format!("{:?} is no host", self.authority)))?;
        request.headers_mut().insert(HOST, host);
        let agent = HeaderValue::from_static(AGENT);
        request.headers_mut().insert(USER_AGENT, agent);
        let connect = timeout(CONNECT_MAX, self.connect()).await;
        let connection = connect.map_err(|_| HttpError("no connection in time".to_owned()))??;
        let answered = match connection {
            Connection::Plain(stream) => timeout(patience, exchange(stream, request)).await,
            Connection::Secured(stream) => timeout(patience, exchange(*stream, request)).await,
        };
        answered.map_err(|_| HttpError("no answer in time".to_owned()))?
    }

    async fn connect(&mut self) -> Result<Connection, HttpError> {
        let stream = TcpStream::connect(&self.address).await;
        let stream = stream.map_err(|error| HttpError(told(&error)))?;
        // Requests are small, and waited for.
        let _ = stream.set_nodelay(true);
        match &mut self.secured {
            None => Ok(Connection::Plain(stream)),
            Some(secured) => {
                let stream = secured.begin(stream).await.map_err(HttpError)?;
                Ok(Connection::Secured(Box::new(stream)))
            }
        }
    }
}

enum Connection {
    Plain(TcpStream),
    Secured(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let broken = |error: hyper::Error| HttpError(format!("it broke off: {}", deepest(&error)));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    // It ends with the answer, or when nobody reads that any more.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(broken)
}

/// The whole body of an answer, of at most so many bytes and in at most so long.
pub(crate) async fn whole(
    body: Incoming,
    most: usize,
    patience: Duration,
) -> Result<Bytes, HttpError> {
    let body = Limited::new(body, most).collect();
    match timeout(patience, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(HttpError(format!(
            "its answer is larger than {} MiB: it has more than the endpoints of a cluster",
            most.div_ceil(1 << 20)
        ))),
        Ok(Err(error)) => Err(HttpError(format!("its answer broke off: {error}"))),
        Err(_) => Err(HttpError("its answer did not end in time".to_owned())),
    }
}

/// An error of the system without its number, which would say the same again.
fn told(error: &std::io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

fn deepest(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(below) = error.source() {
        error = below;
    }
    error.to_string()
}

/// A text as a part of a URL.
#[cfg(any(feature = "consul", feature = "kubernetes"))]
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}
