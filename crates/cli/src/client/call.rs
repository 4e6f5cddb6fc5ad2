//! One call: a connection, a request, an answer in JSON.

use std::time::Duration;

use evenkeel_config::Token;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::exit::Failure;

/// How long a gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most bytes of an answer: 10,000 endpoints take about 5 MiB.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Calls the admin API of one gateway.
#[derive(Debug)]
pub(crate) struct Client {
    /// Host and port.
    authority: String,
    token: Option<Token>,
}

impl Client {
    pub(super) fn new(authority: String, token: Option<Token>) -> Self {
        Self { authority, token }
    }

    /// The gateway's host and port.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Calls `path`, which begins with a slash, below `/api/v1`.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let request = self.request(method, path, body)?;
        let answered = tokio::time::timeout(PATIENCE, self.exchange(request)).await;
        let (status, bytes) = answered.map_err(|_| {
            let seconds = PATIENCE.as_secs();
            Failure::runtime(format!("{} did not answer in {seconds} s", self.name()))
        })??;
        if status.is_success() && bytes.is_empty() {
            return Ok(Value::Null);
        }
        let value = serde_json::from_slice::<Value>(&bytes);
        match value {
            Ok(value) if status.is_success() => Ok(value),
            Ok(problem) => Err(refused(status, &problem)),
            Err(_) => Err(Failure::runtime(format!(
                "{} answered {status} without JSON; is this the admin address of a gateway?",
                self.name()
            ))),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(HOST, &self.authority);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        let bytes = match body {
            Some(body) => {
                request = request.header(CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        request
            .body(Full::new(bytes))
            .map_err(|error| Failure::usage(format!("cannot ask for {path}: {error}")))
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let answer = self.send(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
        let body = body.collect().await.map_err(|error| self.broken(&error))?;
        Ok((status, body.to_bytes()))
    }

    /// Calls `path`, and returns the body of the answer when all is well.
    pub(super) async fn open(&self, method: Method, path: &str) -> Result<Incoming, Failure> {
        let answer = self.send(self.request(method, path, None)?).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer.into_body());
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
        let body = body.collect().await.map_err(|error| self.broken(&error))?;
        let problem = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        Err(refused(status, &problem))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        let stream = TcpStream::connect(&self.authority).await.map_err(|error| {
            Failure::runtime(format!(
                "cannot connect to {}: {error}; does a gateway run there, with [admin] or --admin?",
                self.name()
            ))
        })?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream))
                .await
                .map_err(|error| self.broken(&error))?;
        tokio::spawn(connection);
        let answer = sender.send_request(request).await;
        answer.map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::runtime(format!("{} broke off: {error}", self.name()))
    }

    fn name(&self) -> String {
        format!("the admin API at {}", self.authority)
    }
}

/// The detail of a problem document, and what a user of the command line can do about it.
fn refused(status: StatusCode, problem: &Value) -> Failure {
    let text = |key: &str| problem.get(key).and_then(Value::as_str);
    let detail = text("detail")
        .or_else(|| text("title"))
        .unwrap_or("no reason given");
    if status == StatusCode::UNAUTHORIZED {
        return Failure::runtime(format!("{detail} (give it with --token-file)"));
    }
    // What was typed is wrong, and only the gateway could know.
    let wrong = [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::BAD_REQUEST];
    if wrong.contains(&status) {
        return Failure::usage(detail);
    }
    Failure::runtime(detail)
}
