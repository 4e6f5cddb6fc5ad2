//! The line of the agent beside an endpoint.

use evenkeel_config::{Address, parse_address};
use evenkeel_core::Nanos;
use tokio::io::AsyncReadExt as _;

use super::ask::{Asked, asked};
use super::wire::open;
use crate::cluster::Place;
use crate::lifecycle::Shared;

/// What an agent says fits into a line of this length.
const LINE_MAX: usize = 1024;

/// Asks an agent by connecting to it; nothing when that could not be tried.
///
/// # Cancel safety
///
/// Dropped, it closes its connection.
pub(super) async fn ask(agent: &str, timeout: Nanos, shared: &Shared) -> Option<Asked> {
    asked(agent, timeout, shared, line(agent)).await
}

/// Its first line, or what it sent until it closed.
async fn line(agent: &str) -> Result<Vec<u8>, String> {
    let place = place(agent).await?;
    let stream = open(&place).await;
    let mut stream = stream.map_err(|error| format!("no connection: {error}"))?;
    let mut line = Vec::new();
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    while !line.iter().any(is_end) {
        if line.len() > LINE_MAX {
            return Err(format!("its line is longer than {LINE_MAX} bytes"));
        }
        let read = stream.read_buf(&mut line).await;
        if read.map_err(|error| format!("the connection broke off: {error}"))? == 0 {
            break;
        }
    }
    Ok(line)
}

/// Where it is: a name is looked up each time, as agents are few and asked seldom.
async fn place(agent: &str) -> Result<Place, String> {
    match parse_address(agent) {
        Ok(Address::Ip(address)) => Ok(Place::Tcp(address)),
        Ok(Address::Unix(path)) => Ok(Place::Unix(path.into())),
        Ok(Address::Host(..)) | Err(_) => {
            let found = tokio::net::lookup_host(agent).await;
            let mut found = found.map_err(|error| format!("its name does not resolve: {error}"))?;
            let first = found.next();
            first
                .map(Place::Tcp)
                .ok_or_else(|| "its name has no address".to_owned())
        }
    }
}
