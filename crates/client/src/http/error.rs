//! Why an endpoint gave no answer.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Mutex;

use evenkeel_core::{FailurePoint, unpoisoned};
use http::Request;

#[cfg(feature = "tls")]
use super::tls::word_of;
use crate::rules::Judgement;

/// Why an endpoint gave no answer; with the request, where not a byte of it was sent.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use evenkeel_client::{Error, http::HttpError};
/// use http_body_util::Full;
///
/// fn is_down(error: Error) -> bool {
///     let error = error.into_endpoint().and_then(|error| error.downcast::<HttpError<Full<Bytes>>>().ok());
///     error.is_some_and(|error| error.is_connect())
/// }
/// ```
pub struct HttpError<B> {
    kind: Kind,
    /// Behind a lock so that an error may be shared, whatever bodies are.
    request: Mutex<Option<Request<B>>>,
}

#[derive(Debug)]
enum Kind {
    Connect(io::Error),
    Broken(hyper::Error),
}

impl<B> HttpError<B> {
    pub(super) fn connect(source: io::Error, request: Request<B>) -> Self {
        Self {
            kind: Kind::Connect(source),
            request: Mutex::new(Some(request)),
        }
    }

    pub(super) fn broken(source: hyper::Error, request: Option<Request<B>>) -> Self {
        Self {
            kind: Kind::Broken(source),
            request: Mutex::new(request),
        }
    }

    /// Whether there was no connection.
    #[must_use]
    pub fn is_connect(&self) -> bool {
        matches!(self.kind, Kind::Connect(_))
    }

    /// Takes the request, if not a byte of it was sent.
    pub fn take_request(&mut self) -> Option<Request<B>> {
        unpoisoned(self.request.get_mut()).take()
    }

    /// Whether the endpoint does not speak what it was offered in the handshake of TLS.
    #[cfg(feature = "tls")]
    pub(super) fn is_refused_offer(&self) -> bool {
        matches!(&self.kind, Kind::Connect(error) if super::tls::is_refused_offer(error))
    }

    pub(crate) fn judgement(&self) -> Judgement {
        match &self.kind {
            Kind::Connect(error) if error.kind() == io::ErrorKind::TimedOut => {
                Judgement::failure(FailurePoint::Connect, "connection_timeout")
            }
            Kind::Connect(error) => {
                let word = word_of(error).unwrap_or("connection_refused");
                Judgement::failure(FailurePoint::Connect, word)
            }
            // The caller's own body broke off: that is nobody's fault here.
            Kind::Broken(error) if error.is_user() => Judgement::neutral("request_incomplete"),
            Kind::Broken(_) => Judgement::failure(FailurePoint::Silent, "connection_terminated"),
        }
    }
}

impl<B> fmt::Display for HttpError<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Connect(_) => "the endpoint cannot be connected to",
            Kind::Broken(_) => "the connection to the endpoint ended before its answer",
        })
    }
}

impl<B> fmt::Debug for HttpError<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpError").field(&self.kind).finish()
    }
}

impl<B> StdError for HttpError<B> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(match &self.kind {
            Kind::Connect(error) => error,
            Kind::Broken(error) => error,
        })
    }
}

#[cfg(not(feature = "tls"))]
fn word_of(_: &io::Error) -> Option<&'static str> {
    None
}
