//! Connections to endpoints by hyper: HTTP/1.1 and HTTP/2.
//!
//! # Examples
//!
//! ```no_run
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use evenkeel_client::{Cluster, Http, Settings, core::Endpoint, http::HttpConnect};
//! use tower::{Service, ServiceExt};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoints = ["127.0.0.1:9001", "127.0.0.1:9002"].map(|at| Endpoint::new(at, at));
//! let cluster = Cluster::new(Settings::new("web"), endpoints, HttpConnect::http1())?;
//! let mut service = cluster.balance(Http::new());
//! let request = http::Request::get("/users/7").body(Full::<Bytes>::default())?;
//! let answer = service.ready().await?.call(request).await?;
//! # Ok(())
//! # }
//! ```

mod connecting;
#[cfg(feature = "tls")]
mod either;
mod error;
mod one;
mod pooled;
#[cfg(feature = "tls")]
mod tls;
mod two;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use evenkeel_core::{Endpoint, Nanos};
use http::header::{HOST, HeaderValue};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body::Body;
use tower_service::Service;

use self::connecting::Offer;
use crate::connect::Connect;
use crate::error::BoxError;
use crate::long::Boxed;

pub use error::HttpError;
pub use pooled::PooledBody;
#[cfg(feature = "tls")]
pub use tls::{BadServerName, Tls};

/// How endpoints are connected to.
#[derive(Clone, Debug)]
struct Options {
    connect_timeout: Duration,
    idle_timeout: Nanos,
    idle_max: usize,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Reaches endpoints by connections of hyper. Needs a tokio runtime with I/O and time.
///
/// The address of an endpoint is `HOST:PORT`, or `unix:PATH`. HTTP/1.1 keeps connections for the next calls; HTTP/2 has
/// one connection for each endpoint, and all calls are streams on it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use bytes::Bytes;
/// use evenkeel_client::http::HttpConnect;
/// use http_body_util::Full;
///
/// let connect: HttpConnect<Full<Bytes>> = HttpConnect::http1()
///     .connect_timeout(Duration::from_millis(250))
///     .idle_timeout(Duration::from_secs(4));
/// ```
pub struct HttpConnect<B> {
    offer: Offer,
    options: Options,
    bodies: PhantomData<fn(B)>,
}

impl Options {
    /// The name that all endpoints go by, if they do.
    fn common_name(&self) -> Option<&str> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.common_name();
        }
        None
    }

    fn scheme(&self) -> Scheme {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return Scheme::HTTPS;
        }
        Scheme::HTTP
    }
}

impl<B> HttpConnect<B> {
    /// HTTP/1.1.
    #[must_use]
    pub fn http1() -> Self {
        Self::new(Offer::One)
    }

    /// HTTP/2: in the clear with prior knowledge.
    #[must_use]
    pub fn http2() -> Self {
        Self::new(Offer::Two)
    }

    /// HTTP/2 with those endpoints that agree to it in their handshake of TLS, HTTP/1.1 with the others.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn negotiated(tls: Tls) -> Self {
        Self::new(Offer::Either).tls(tls)
    }

    /// Over TLS.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.options.tls = Some(tls);
        self
    }

    fn new(offer: Offer) -> Self {
        let options = Options {
            connect_timeout: Duration::from_secs(1),
            idle_timeout: Nanos::from_secs(30),
            idle_max: 256,
            #[cfg(feature = "tls")]
            tls: None,
        };
        Self {
            offer,
            options,
            bodies: PhantomData,
        }
    }

    /// For a connection to stand, with its handshake; 1 s by default.
    #[must_use]
    pub fn connect_timeout(mut self, most: Duration) -> Self {
        self.options.connect_timeout = most;
        self
    }

    /// For a connection of HTTP/1.1 without a call; 30 s by default. Should be less than what endpoints allow.
    #[must_use]
    pub fn idle_timeout(mut self, most: Duration) -> Self {
        self.options.idle_timeout = most.into();
        self
    }

    /// The most connections of HTTP/1.1 without a call that are kept for an endpoint; 256 by default.
    #[must_use]
    pub fn idle_max(mut self, most: usize) -> Self {
        self.options.idle_max = most;
        self
    }
}

impl<B> Connect for HttpConnect<B>
where
    B: RequestBody,
{
    type Service = HttpEndpoint<B>;

    fn connect(&self, endpoint: &Endpoint) -> HttpEndpoint<B> {
        let target = || Target::new(endpoint.address(), self.options.clone());
        HttpEndpoint(match self.offer {
            Offer::One => Kind::One(Arc::new(one::Pool::new(target()))),
            Offer::Two => Kind::Two(Arc::new(two::Shared::new(target()))),
            #[cfg(feature = "tls")]
            Offer::Either => Kind::Either(Arc::new(either::Either::new(target))),
        })
    }

    fn retire(&self, service: &HttpEndpoint<B>) {
        match &service.0 {
            Kind::One(pool) => pool.retire(),
            Kind::Two(shared) => shared.retire(),
            #[cfg(feature = "tls")]
            Kind::Either(either) => either.retire(),
        }
    }
}

impl<B> Clone for HttpConnect<B> {
    fn clone(&self) -> Self {
        Self {
            offer: self.offer,
            options: self.options.clone(),
            bodies: PhantomData,
        }
    }
}

impl<B> fmt::Debug for HttpConnect<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConnect")
            .field("offer", &self.offer)
            .field("options", &self.options)
            .finish()
    }
}

/// The connections to an endpoint.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use evenkeel_client::{Connect, core::Endpoint, http::{HttpConnect, HttpEndpoint}};
/// use http_body_util::Full;
///
/// // No connection is made before it is needed.
/// let connect = HttpConnect::http1();
/// let service: HttpEndpoint<Full<Bytes>> = connect.connect(&Endpoint::new("a", "127.0.0.1:9001"));
/// ```
pub struct HttpEndpoint<B>(Kind<B>);

enum Kind<B> {
    One(Arc<one::Pool<B>>),
    Two(Arc<two::Shared<B>>),
    #[cfg(feature = "tls")]
    Either(Arc<either::Either<B>>),
}

impl<B> Clone for HttpEndpoint<B> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kind::One(pool) => Kind::One(Arc::clone(pool)),
            Kind::Two(shared) => Kind::Two(Arc::clone(shared)),
            #[cfg(feature = "tls")]
            Kind::Either(either) => Kind::Either(Arc::clone(either)),
        })
    }
}

impl<B> fmt::Debug for HttpEndpoint<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match &self.0 {
            Kind::One(pool) => &pool.target,
            Kind::Two(shared) => &shared.target,
            #[cfg(feature = "tls")]
            Kind::Either(either) => &either.one.target,
        };
        f.debug_tuple("HttpEndpoint")
            .field(&target.address)
            .finish()
    }
}

impl<B> Service<Request<B>> for HttpEndpoint<B>
where
    B: RequestBody,
{
    type Response = Response<PooledBody<B>>;
    type Error = HttpError<B>;
    type Future = Boxed<Result<Self::Response, HttpError<B>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpError<B>>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match &self.0 {
            Kind::One(pool) => one::call(pool, request),
            Kind::Two(shared) => Box::pin(two::call(Arc::clone(shared), request)),
            #[cfg(feature = "tls")]
            Kind::Either(either) => either::call(either, request),
        }
    }
}

/// Where an endpoint is, and how it is named to itself.
#[derive(Debug)]
struct Target {
    address: Arc<str>,
    host: Option<HeaderValue>,
    authority: Option<Authority>,
    options: Options,
}

impl Target {
    fn new(address: &str, options: Options) -> Self {
        let name = match options.common_name() {
            Some(name) => name,
            // A socket of the file system has no name of its own.
            None if address.starts_with("unix:") => "localhost",
            None => address,
        };
        Self {
            host: HeaderValue::from_str(name).ok(),
            authority: name.parse().ok(),
            address: address.into(),
            options,
        }
    }

    /// Makes a request one that HTTP/1.1 can carry: a path, and a field for the host.
    fn prepare_one<B>(&self, request: &mut Request<B>) -> Prepared {
        let mut prepared = Prepared::AsItWas;
        if !request.headers().contains_key(HOST) {
            let named = request.uri().authority().map(Authority::as_str);
            let named = named.and_then(|named| HeaderValue::from_str(named).ok());
            if named.is_none() {
                prepared = Prepared::Host;
            }
            if let Some(host) = named.or_else(|| self.host.clone()) {
                request.headers_mut().insert(HOST, host);
            }
        }
        if request.uri().authority().is_some() {
            let path = request.uri().path_and_query().cloned();
            *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        }
        *request.version_mut() = http::Version::HTTP_11;
        prepared
    }

    /// Makes a request one that HTTP/2 can carry: with an authority.
    fn prepare_two<B>(&self, request: &mut Request<B>) -> Prepared {
        let mut prepared = Prepared::AsItWas;
        let (uri, scheme) = (request.uri(), self.options.scheme());
        // Over TLS endpoints refuse what claims to be in the clear.
        if uri.authority().is_none() || uri.scheme() != Some(&scheme) {
            let mut parts = uri.clone().into_parts();
            if parts.authority.is_none() {
                prepared = Prepared::Authority;
                parts.authority = self.authority.clone();
            }
            parts.scheme = Some(scheme);
            if let Ok(uri) = Uri::from_parts(parts) {
                *request.uri_mut() = uri;
            }
        }
        *request.version_mut() = http::Version::HTTP_2;
        prepared
    }
}

/// Where a request was given the name of this endpoint, which is not that of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prepared {
    AsItWas,
    Host,
    Authority,
}

impl Prepared {
    /// A request that comes back unsent, without that name.
    fn undo<B>(self, mut request: Request<B>) -> Request<B> {
        match self {
            Self::AsItWas => {}
            Self::Host => {
                request.headers_mut().remove(HOST);
            }
            Self::Authority => {
                let path = request.uri().path_and_query().cloned();
                *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
            }
        }
        request
    }
}

/// A body that a request may have here: its data and errors may go to another thread. Nothing implements it by hand.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use evenkeel_client::http::RequestBody;
/// use http_body_util::Full;
///
/// fn is_one<B: RequestBody>() {}
/// is_one::<Full<Bytes>>();
/// ```
pub trait RequestBody: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static {}

impl<B> RequestBody for B where B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static {}
