//! The PROXY protocol, versions 1 and 2
//! (<https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt>).

mod v1;
mod v2;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Which form a header is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// Who is at the ends of the connection that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The client.
    pub source: SocketAddr,
    /// Where the client connected to.
    pub destination: SocketAddr,
}

/// A PROXY header.
///
/// # Examples
///
/// ```
/// use evenkeel_preface::{Addresses, ProxyHeader};
///
/// let bytes = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\nGET /";
/// let (header, length) = ProxyHeader::parse(bytes)?.expect("it is whole");
/// assert_eq!(&bytes[length..], b"GET /");
/// let Addresses { source, .. } = header.addresses.expect("the client is known");
/// assert_eq!(source.to_string(), "192.0.2.7:56324");
/// # Ok::<(), evenkeel_preface::BadProxyHeader>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// None: the sender speaks for itself (`LOCAL`), or does not know (`UNKNOWN`, unix sockets). The
    /// peer is then who it is.
    pub addresses: Option<Addresses>,
}

/// Why bytes are no PROXY header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProxyHeader {
    /// They begin like neither version.
    #[error("it does not begin with a PROXY header")]
    Absent,
    /// A line that is not whole within 107 bytes.
    #[error("a PROXY line of more than 107 bytes")]
    LongLine,
    /// A line in another form.
    #[error("a PROXY line that is malformed")]
    Line,
    /// Version 2 with another version, command or family than there are.
    #[error("a PROXY header of an unknown version, command or family")]
    Unknown,
    /// Version 2 that is shorter than its addresses.
    #[error("a PROXY header that is shorter than its addresses")]
    Short,
    /// Version 2 that announces more than 4 KiB.
    #[error("a PROXY header of more than 4 KiB")]
    Long,
}

impl ProxyHeader {
    /// Reads a header of either version from the start of `bytes`: the header and its length. `None` means
    /// that more bytes are needed. Costs no more than the length of the header.
    ///
    /// # Errors
    ///
    /// As soon as what is there cannot become a header any more.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, BadProxyHeader> {
        if begins(bytes, v1::START) {
            v1::parse(bytes)
        } else if begins(bytes, v2::START) {
            v2::parse(bytes)
        } else {
            Err(BadProxyHeader::Absent)
        }
    }

    /// Appends the header. Addresses of two families leave as IPv6, mapped.
    pub fn write(&self, version: ProxyVersion, out: &mut Vec<u8>) {
        let addresses = self.addresses.map(Addresses::of_one_family);
        match version {
            ProxyVersion::V1 => v1::write(addresses, out),
            ProxyVersion::V2 => v2::write(addresses, out),
        }
    }
}

impl Addresses {
    /// Both as IPv4 if both are, else both as IPv6.
    pub(crate) fn of_one_family(self) -> Self {
        let plain =
            |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let (source, destination) = (plain(self.source), plain(self.destination));
        if source.is_ipv4() == destination.is_ipv4() {
            return Self {
                source,
                destination,
            };
        }
        let wide = |address: SocketAddr| SocketAddr::new(wide(address.ip()).into(), address.port());
        Self {
            source: wide(source),
            destination: wide(destination),
        }
    }
}

fn wide(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Whether `bytes` begin with `start`, as far as there are any.
fn begins(bytes: &[u8], start: &[u8]) -> bool {
    let common = bytes.len().min(start.len());
    bytes[..common] == start[..common]
}
