//! Why an endpoint gave no answer to a client of reqwest.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// Why an endpoint gave no answer.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Error, reqwest::ReqwestError};
///
/// fn is_down(error: Error) -> bool {
///     let error = error.into_endpoint().and_then(|error| error.downcast::<ReqwestError>().ok());
///     error.is_some_and(|error| error.is_connect())
/// }
/// ```
#[derive(Debug)]
pub struct ReqwestError(Kind);

#[derive(Debug)]
enum Kind {
    Address(Arc<str>),
    Call(reqwest::Error),
}

impl ReqwestError {
    /// The endpoint has an address that is none for reqwest.
    pub(super) fn address(address: Arc<str>) -> Self {
        Self(Kind::Address(address))
    }

    /// Whether there was no connection.
    #[must_use]
    pub fn is_connect(&self) -> bool {
        self.of_reqwest().is_none_or(reqwest::Error::is_connect)
    }

    /// What reqwest says; none when it was not called, since the address of the endpoint is none for it.
    #[must_use]
    pub fn of_reqwest(&self) -> Option<&reqwest::Error> {
        match &self.0 {
            Kind::Address(_) => None,
            Kind::Call(error) => Some(error),
        }
    }
}

impl From<reqwest::Error> for ReqwestError {
    fn from(error: reqwest::Error) -> Self {
        Self(Kind::Call(error))
    }
}

impl fmt::Display for ReqwestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Address(address) => write!(
                f,
                "the endpoint cannot be connected to: {address:?} is not HOST or HOST:PORT, as reqwest needs it"
            ),
            Kind::Call(_) => f.write_str("reqwest got no answer from the endpoint"),
        }
    }
}

impl StdError for ReqwestError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Kind::Address(_) => None,
            Kind::Call(error) => Some(error),
        }
    }
}
