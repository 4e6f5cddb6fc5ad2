//! Version 2: binary.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Addresses, BadProxyHeader, ProxyHeader};

pub(super) const START: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Up to the length and with it.
const FIXED: usize = 16;

/// How much may follow that, addresses and extensions together. Extensions carry names and
/// certificates' subjects; what they say is not looked at.
const REST_MAX: usize = 4096;

/// The version, and who speaks: the sender itself, or somebody else through it.
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// Families, each over a stream.
const UNSPECIFIED: u8 = 0x00;
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;
const UNIX: u8 = 0x31;

pub(super) fn parse(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, BadProxyHeader> {
    let Some(&command) = bytes.get(12) else {
        return Ok(None);
    };
    let is_local = match command {
        LOCAL => true,
        PROXY => false,
        _ => return Err(BadProxyHeader::Unknown),
    };
    let Some(&family) = bytes.get(13) else {
        return Ok(None);
    };
    let least = match family {
        UNSPECIFIED => 0,
        TCP4 => 12,
        TCP6 => 36,
        UNIX => 216,
        // For itself a sender may say whatever it likes.
        _ if is_local => 0,
        _ => return Err(BadProxyHeader::Unknown),
    };
    let Some(length) = bytes.get(14..FIXED) else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    if length > REST_MAX {
        return Err(BadProxyHeader::Long);
    }
    if length < least && !is_local {
        return Err(BadProxyHeader::Short);
    }
    let Some(rest) = bytes.get(FIXED..FIXED + length) else {
        return Ok(None);
    };
    let addresses = match family {
        _ if is_local => None,
        TCP4 => read::<4>(rest),
        TCP6 => read::<16>(rest),
        _ => None,
    };
    Ok(Some((ProxyHeader { addresses }, FIXED + length)))
}

/// Two addresses of `N` bytes and two ports, which are there.
fn read<const N: usize>(rest: &[u8]) -> Option<Addresses>
where
    IpAddr: From<[u8; N]>,
{
    let (source, rest) = rest.split_first_chunk::<N>()?;
    let (destination, rest) = rest.split_first_chunk::<N>()?;
    let (from, rest) = rest.split_first_chunk::<2>()?;
    let (to, _) = rest.split_first_chunk::<2>()?;
    Some(Addresses {
        source: SocketAddr::new((*source).into(), u16::from_be_bytes(*from)),
        destination: SocketAddr::new((*destination).into(), u16::from_be_bytes(*to)),
    })
}

pub(super) fn write(addresses: Option<Addresses>, out: &mut Vec<u8>) {
    out.extend_from_slice(START);
    let Some(Addresses {
        source,
        destination,
    }) = addresses
    else {
        out.extend_from_slice(&[LOCAL, UNSPECIFIED, 0, 0]);
        return;
    };
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let [source, destination] = [source, destination].map(|ip: Ipv4Addr| ip.octets());
            write_both(TCP4, &source, &destination, out);
        }
        (source, destination) => {
            let [source, destination] =
                [source, destination].map(|ip| Ipv6Addr::octets(&super::wide(ip)));
            write_both(TCP6, &source, &destination, out);
        }
    }
    out.extend_from_slice(&source.port().to_be_bytes());
    out.extend_from_slice(&destination.port().to_be_bytes());
}

fn write_both(family: u8, source: &[u8], destination: &[u8], out: &mut Vec<u8>) {
    let length = source.len() + destination.len() + 4;
    // 12 or 36.
    out.extend_from_slice(&[PROXY, family, 0, length as u8]);
    out.extend_from_slice(source);
    out.extend_from_slice(destination);
}
