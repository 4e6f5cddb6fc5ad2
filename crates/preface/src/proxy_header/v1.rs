//! Version 1: a line of text.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Addresses, BadProxyHeader, ProxyHeader};

pub(super) const START: &[u8] = b"PROXY ";

/// The longest line, its end included, as the specification has it.
const LINE_MAX: usize = 107;

pub(super) fn parse(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, BadProxyHeader> {
    let seen = &bytes[..bytes.len().min(LINE_MAX)];
    let Some(end) = seen.windows(2).position(|pair| pair == b"\r\n") else {
        // A lone LF, or a CR before anything else, is the end of no line of ours.
        let body = seen.strip_suffix(b"\r").unwrap_or(seen);
        return match seen.len() {
            _ if !body.iter().all(is_of_a_line) => Err(BadProxyHeader::Line),
            LINE_MAX => Err(BadProxyHeader::LongLine),
            _ => Ok(None),
        };
    };
    if !seen[..end].iter().all(is_of_a_line) {
        return Err(BadProxyHeader::Line);
    }
    let words = std::str::from_utf8(&seen[START.len()..end]).map_err(|_| BadProxyHeader::Line)?;
    let addresses = match words.split(' ').next() {
        // What is behind it has no meaning.
        Some("UNKNOWN") => None,
        _ => Some(read(words).ok_or(BadProxyHeader::Line)?),
    };
    Ok(Some((ProxyHeader { addresses }, end + 2)))
}

fn is_of_a_line(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// `TCP4 SOURCE DESTINATION PORT PORT`, with one space between.
fn read(words: &str) -> Option<Addresses> {
    let mut words = words.split(' ');
    let family = words.next()?;
    let mut address = || -> Option<IpAddr> {
        let word = words.next()?;
        Some(match family {
            "TCP4" => word.parse::<Ipv4Addr>().ok()?.into(),
            "TCP6" => word.parse::<Ipv6Addr>().ok()?.into(),
            _ => return None,
        })
    };
    let (source, destination) = (address()?, address()?);
    let addresses = Addresses {
        source: SocketAddr::new(source, port(words.next()?)?),
        destination: SocketAddr::new(destination, port(words.next()?)?),
    };
    words.next().is_none().then_some(addresses)
}

/// Digits without a sign and without zeros in front.
fn port(word: &str) -> Option<u16> {
    let is_short = word.len() == 1 || !word.starts_with('0');
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    (digits && is_short).then(|| word.parse().ok()).flatten()
}

pub(super) fn write(addresses: Option<Addresses>, out: &mut Vec<u8>) {
    let Some(Addresses {
        source,
        destination,
    }) = addresses
    else {
        out.extend_from_slice(b"PROXY UNKNOWN\r\n");
        return;
    };
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    let (from_port, to_port) = (source.port(), destination.port());
    // Writing to memory does not fail.
    let _ = write!(out, "PROXY {family} {from} {to} {from_port} {to_port}\r\n");
}
