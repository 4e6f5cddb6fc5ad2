//! One post of events.

use std::sync::Arc;

use evenkeel_config::{Address, HookUrl};

use crate::cluster::Place;
use crate::event::Event;
use crate::probe::{call, open};

/// Posts events, with how many were lost before them, and demands a status of 200 to 299.
///
/// # Errors
///
/// Why they were not taken, in a line.
pub(super) async fn post(url: &HookUrl, events: &[Arc<Event>], lost: u64) -> Result<(), String> {
    let place = place(&url.address).await?;
    let stream = open(&place).await;
    let mut stream = stream.map_err(|error| format!("no connection: {error}"))?;
    let body = serde_json::to_string(events).map_err(|error| error.to_string())?;
    let request = request(url, &body, lost);
    let answer = call(&mut stream, request.as_bytes(), false).await?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(format!("it answered {status}")),
    }
}

fn request(url: &HookUrl, body: &str, lost: u64) -> String {
    let HookUrl {
        authority, target, ..
    } = url;
    let (version, length) = (env!("CARGO_PKG_VERSION"), body.len());
    let lost = match lost {
        0 => String::new(),
        lost => format!("x-evenkeel-lost: {lost}\r\n"),
    };
    format!(
        "POST {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: evenkeel/{version}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n{lost}Connection: close\r\n\r\n{body}"
    )
}

/// Where an address of a URL is.
///
/// # Errors
///
/// When its name has no address, in a line.
pub(crate) async fn place(address: &Address) -> Result<Place, String> {
    Ok(match address {
        Address::Ip(address) => Place::Tcp(*address),
        Address::Unix(path) => Place::Unix(path.as_path().into()),
        Address::Host(host, port) => {
            let found = tokio::net::lookup_host((&**host, *port)).await;
            let mut found = found.map_err(|error| format!("no address: {error}"))?;
            Place::Tcp(found.next().ok_or("its name has no address")?)
        }
    })
}
