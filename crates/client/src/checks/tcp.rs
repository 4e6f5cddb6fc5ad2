//! A check by a connection.

use evenkeel_core::Endpoint;
use tokio::net::{TcpStream, UnixStream};

use super::{Check, Checking};

/// An endpoint is well if it takes a connection, which is closed at once. Its address is `HOST:PORT`, or `unix:PATH`.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Settings, TcpCheck, core::health::ActivePolicy};
///
/// let settings = Settings::new("users").checks(ActivePolicy::default(), TcpCheck);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpCheck;

impl Check for TcpCheck {
    fn check(&self, endpoint: &Endpoint) -> Checking {
        let address = endpoint.address().to_owned();
        Box::pin(async move {
            let connected = match address.strip_prefix("unix:") {
                Some(path) => UnixStream::connect(path).await.map(drop),
                None => TcpStream::connect(&*address).await.map(drop),
            };
            connected.map_err(|error| format!("no connection: {error}").into())
        })
    }
}
