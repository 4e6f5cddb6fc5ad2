//! Calls by `reqwest`.
//!
//! reqwest's client is a service already, so it is what reaches each endpoint: a request is written to a host of its own
//! choice, and goes to the address of the endpoint that was chosen for it, with that host as its `Host`.
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

use std::error::Error as StdError;
use std::sync::Arc;
use std::task::{Context, Poll};

use evenkeel_core::{Endpoint, FailurePoint, RetryRules};
use http::header::{HOST, HeaderValue};
use reqwest::{Body, Client, Request, Response, ResponseBuilderExt as _};
use tower_service::Service;

use crate::body::HeldBody;
use crate::connect::Connect;
use crate::lease::CallLease;
use crate::rules::{Judgement, Rules, is_idempotent, is_refused, judge_status};

/// Reaches endpoints by a client of reqwest, with its settings. Its own pool keeps connections, by their addresses.
///
/// Over TLS the certificate has to be one for the address of the endpoint, so endpoints should have names then.
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
        let (host, port) = match endpoint.address().rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (endpoint.address(), None),
        };
        ReqwestEndpoint {
            client: self.client.clone(),
            host: host.into(),
            port,
        }
    }
}

/// A client of reqwest that leads to one endpoint.
#[derive(Clone, Debug)]
pub struct ReqwestEndpoint {
    client: Client,
    host: Arc<str>,
    port: Option<u16>,
}

impl ReqwestEndpoint {
    /// Has a request go to the endpoint, and name the host that it was written for.
    fn direct(&self, request: &mut Request) {
        let named = request
            .url()
            .authority()
            .rsplit('@')
            .next()
            .unwrap_or_default();
        if let Ok(named) = HeaderValue::from_str(named) {
            request.headers_mut().entry(HOST).or_insert(named);
        }
        let url = request.url_mut();
        // What cannot be set is no host or no port; then connecting fails, and says so.
        let _ = url.set_host(Some(&self.host));
        let _ = url.set_port(self.port);
    }
}

impl Service<Request> for ReqwestEndpoint {
    type Response = Response;
    type Error = reqwest::Error;
    type Future = <Client as Service<Request>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), reqwest::Error>> {
        Service::<Request>::poll_ready(&mut self.client, cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        self.direct(&mut request);
        Service::<Request>::call(&mut self.client, request)
    }
}

/// Rules for requests and answers of reqwest: those of HTTP. A body that is a stream is sent once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reqwest;

impl Rules<Request, Response, reqwest::Error> for Reqwest {
    type Answer = Response;

    fn request_id<'r>(&self, call: &'r Request) -> Option<&'r str> {
        call.headers().get("x-request-id")?.to_str().ok()
    }

    fn is_idempotent(&self, call: &Request) -> bool {
        is_idempotent(call.method())
    }

    fn copy(&self, call: &Request) -> Option<Request> {
        call.try_clone()
    }

    fn judge(&self, ended: Result<&Response, &reqwest::Error>, retry: &RetryRules) -> Judgement {
        match ended {
            Ok(answer) => judge_status(answer.status(), retry),
            Err(error) if error.is_connect() => {
                let word = match is_refused(error as &(dyn StdError + 'static)) {
                    true => "connection_refused",
                    false => "connection_timeout",
                };
                Judgement::failure(FailurePoint::Connect, word)
            }
            Err(error) if error.is_builder() || error.is_redirect() => {
                Judgement::neutral("request_invalid")
            }
            Err(error) if error.is_timeout() => {
                Judgement::failure(FailurePoint::Late, "http_response_timeout")
            }
            Err(_) => Judgement::failure(FailurePoint::Silent, "connection_terminated"),
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
