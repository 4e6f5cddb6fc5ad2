//! Calls by `reqwest`.
//!
//! reqwest's client is a service already, so it is what reaches each endpoint: a request is written to a host of its
//! own choice, and goes to the address of the endpoint that was chosen for it, with that host as its `Host`.
//!
//! # Examples
//!
//! ```no_run
//! use evenkeel_client::{Cluster, Settings, core::Endpoint, reqwest::{Reqwest, ReqwestConnect}};
//! use tower::ServiceExt;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = reqwest::Client::new();
//! let endpoints = ["127.0.0.1:9001", "127.0.0.1:9002"].map(|at| Endpoint::new(at, at));
//! let cluster = Cluster::new(Settings::new("users"), endpoints, ReqwestConnect::new(client.clone()))?;
//! let request = client.get("http://users/7").build()?;
//! let answer = cluster.balance(Reqwest).oneshot(request).await?;
//! println!("{}", answer.text().await?);
//! # Ok(())
//! # }
//! ```

mod error;

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use evenkeel_core::{Endpoint, FailurePoint, RetryRules};
use http::header::{HOST, HeaderValue};
use pin_project_lite::pin_project;
use reqwest::{Body, Client, Request, Response, ResponseBuilderExt as _};
use tower_service::Service;

use crate::body::HeldBody;
use crate::connect::Connect;
use crate::lease::CallLease;
use crate::rules::{Judgement, Rules, is_idempotent, is_refused, judge_status};

pub use error::ReqwestError;

/// Reaches endpoints by a client of reqwest, with its settings. Its own pool keeps connections, by their addresses.
///
/// Addresses are `HOST` or `HOST:PORT`; calls to an endpoint with another one, such as that of a unix socket, fail as
/// if it could not be connected to. Over TLS the certificate has to be one for the address of the endpoint, so
/// endpoints should have names then.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::Endpoint, reqwest::ReqwestConnect};
///
/// let list = [Endpoint::new("a", "127.0.0.1:9001")];
/// let connect = ReqwestConnect::new(reqwest::Client::new());
/// let cluster = Cluster::new(Settings::new("users"), list, connect)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReqwestConnect {
    client: Client,
}

impl ReqwestConnect {
    /// By this client. Its own retries and proxies should be off.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl Connect for ReqwestConnect {
    type Service = ReqwestEndpoint;

    fn connect(&self, endpoint: &Endpoint) -> ReqwestEndpoint {
        ReqwestEndpoint {
            client: self.client.clone(),
            address: endpoint.address().into(),
        }
    }
}

/// A client of reqwest that leads to one endpoint.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Connect, core::Endpoint, reqwest::{ReqwestConnect, ReqwestEndpoint}};
///
/// let connect = ReqwestConnect::new(reqwest::Client::new());
/// let service: ReqwestEndpoint = connect.connect(&Endpoint::new("a", "127.0.0.1:9001"));
/// ```
#[derive(Clone, Debug)]
pub struct ReqwestEndpoint {
    client: Client,
    address: Arc<str>,
}

impl ReqwestEndpoint {
    /// Has a request go to the endpoint, and name the host that it was written for. None: the endpoint has an address
    /// that no URL can have, and the request must not be sent, since it would go elsewhere.
    fn direct(&self, request: &mut Request) -> Option<()> {
        if !request.url().has_host() {
            // The client says what is wrong with it.
            return Some(());
        }
        let named = request
            .url()
            .authority()
            .rsplit('@')
            .next()
            .unwrap_or_default();
        if let Ok(named) = HeaderValue::from_str(named) {
            request.headers_mut().entry(HOST).or_insert(named);
        }
        let (host, port) = host_and_port(&self.address)?;
        let url = request.url_mut();
        url.set_host(Some(host)).ok()?;
        url.set_port(port).ok()
    }
}

/// The parts of an address; none: it has others.
fn host_and_port(address: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match address.rsplit_once(':') {
        Some(_) if address.ends_with(']') => (address, None),
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (address, None),
    };
    // Of a host with a colon that is not in brackets a URL would take the part before it.
    let is_whole = host.starts_with('[') || !host.contains(':');
    (is_whole && !host.is_empty()).then_some((host, port))
}

impl Service<Request> for ReqwestEndpoint {
    type Response = Response;
    type Error = ReqwestError;
    type Future = ReqwestCall;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ReqwestError>> {
        Service::<Request>::poll_ready(&mut self.client, cx).map_err(ReqwestError::from)
    }

    fn call(&mut self, mut request: Request) -> ReqwestCall {
        let state = match self.direct(&mut request) {
            Some(()) => CallState::Sent {
                sent: Service::<Request>::call(&mut self.client, request),
            },
            None => CallState::Nowhere {
                address: Arc::clone(&self.address),
            },
        };
        ReqwestCall { state }
    }
}

pin_project! {
    /// A call at one endpoint.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_client::{Connect, core::Endpoint, reqwest::{ReqwestCall, ReqwestConnect}};
    /// use tower::Service;
    ///
    /// let client = reqwest::Client::new();
    /// let mut service = ReqwestConnect::new(client.clone()).connect(&Endpoint::new("a", "127.0.0.1:9001"));
    /// let call: ReqwestCall = service.call(client.get("http://users/7").build()?);
    /// # Ok::<(), reqwest::Error>(())
    /// ```
    pub struct ReqwestCall {
        #[pin]
        state: CallState,
    }
}

pin_project! {
    #[project = CallStateProjected]
    enum CallState {
        Sent { #[pin] sent: <Client as Service<Request>>::Future },
        Nowhere { address: Arc<str> },
    }
}

impl Future for ReqwestCall {
    type Output = Result<Response, ReqwestError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            CallStateProjected::Sent { sent } => Poll::Ready(Ok(ready!(sent.poll(cx))?)),
            CallStateProjected::Nowhere { address } => {
                Poll::Ready(Err(ReqwestError::address(Arc::clone(address))))
            }
        }
    }
}

impl std::fmt::Debug for ReqwestCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReqwestCall").finish_non_exhaustive()
    }
}

/// Rules for requests and answers of reqwest: those of HTTP. A body that is a stream is sent once.
///
/// # Examples
///
/// ```no_run
/// use evenkeel_client::{Cluster, Settings, core::Endpoint, reqwest::{Reqwest, ReqwestConnect}};
/// use tower::ServiceExt;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let client = reqwest::Client::new();
/// let list = [Endpoint::new("a", "127.0.0.1:9001")];
/// let cluster = Cluster::new(Settings::new("users"), list, ReqwestConnect::new(client.clone()))?;
/// let request = client.get("http://users/7").build()?;
/// let answer = cluster.balance(Reqwest).oneshot(request).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Reqwest;

impl Rules<Request, Response, ReqwestError> for Reqwest {
    type Answer = Response;
    type Kept = Request;

    fn request_id<'r>(&self, call: &'r Request) -> Option<&'r str> {
        call.headers().get("x-request-id")?.to_str().ok()
    }

    fn is_idempotent(&self, call: &Request) -> bool {
        is_idempotent(call.method())
    }

    fn keep(&self, call: &Request) -> Option<Request> {
        // What was not sent is not given back by reqwest, so calls that are not idempotent are kept too.
        call.try_clone()
    }

    fn again(&self, kept: &Request) -> Option<Request> {
        kept.try_clone()
    }

    fn judge(&self, ended: Result<&Response, &ReqwestError>, retry: &RetryRules) -> Judgement {
        match ended.map_err(ReqwestError::of_reqwest) {
            Ok(answer) => judge_status(answer.status(), retry),
            Err(None) => Judgement::failure(FailurePoint::Connect, "connection_refused"),
            Err(Some(error)) => judge_error(error),
        }
    }

    fn answer(&self, answer: Response, lease: CallLease) -> Response {
        let url = answer.url().clone();
        let (mut parts, body) = http::Response::<Body>::from(answer).into_parts();
        // A response is made with its URL through a builder only.
        if let Ok(carrier) = http::Response::builder().url(url).body(()) {
            parts.extensions.extend(carrier.into_parts().0.extensions);
        }
        let body = Body::wrap(HeldBody::new(body, lease));
        Response::from(http::Response::from_parts(parts, body))
    }
}

fn judge_error(error: &reqwest::Error) -> Judgement {
    if error.is_connect() {
        let word = match is_refused(error as &(dyn StdError + 'static)) {
            true => "connection_refused",
            false => "connection_timeout",
        };
        return Judgement::failure(FailurePoint::Connect, word);
    }
    if error.is_builder() || error.is_redirect() {
        return Judgement::neutral("request_invalid");
    }
    if error.is_timeout() {
        return Judgement::failure(FailurePoint::Late, "http_response_timeout");
    }
    Judgement::failure(FailurePoint::Silent, "connection_terminated")
}
