//! Networks: `"10.0.0.0/8"`, or one address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use super::mistake::Mistake;

/// A range of addresses that share a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of that prefix, when `address` has no bits set behind it.
    #[must_use]
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let network = Self { address, prefix };
        let fits = prefix <= width(address);
        (fits && bits(address) & network.mask() == bits(address)).then_some(network)
    }

    /// The first address.
    #[must_use]
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// How many leading bits the addresses share.
    #[must_use]
    pub fn prefix(self) -> u8 {
        self.prefix
    }

    /// Whether `peer` lies in it. An IPv4 address that came in as `::ffff:a.b.c.d` is that IPv4
    /// address.
    #[must_use]
    pub fn contains(self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        width(peer) == width(self.address) && bits(peer) & self.mask() == bits(self.address)
    }

    fn mask(self) -> u128 {
        let behind = width(self.address).saturating_sub(self.prefix);
        u128::MAX.checked_shl(u32::from(behind)).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Network {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        parse_network(text)
    }
}

/// Reads a network, or an address, which is a network of one.
///
/// # Errors
///
/// When it does not parse, or the address has bits set behind the prefix.
pub fn parse_network(text: &str) -> Result<Network, Mistake> {
    const HELP: &str = "write a network like \"10.0.0.0/8\" or \"fd00::/8\", or one address";
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return Err(Mistake::new(format!("{text:?} is not a network"), HELP));
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = match prefix {
        None => Some(width(address)),
        Some(prefix) if digits(prefix) => prefix.parse().ok().filter(|p| *p <= width(address)),
        Some(_) => None,
    };
    let Some(prefix) = prefix else {
        let most = width(address);
        return Err(Mistake::new(
            format!("{text:?} has no prefix length from 0 to {most}"),
            HELP,
        ));
    };
    Network::new(address, prefix).ok_or_else(|| {
        let mask = Network { address, prefix }.mask();
        let first = from_bits(address, bits(address) & mask);
        Mistake::new(
            format!("{text:?} has bits set behind its prefix"),
            format!("write \"{first}/{prefix}\" for the network or \"{address}\" for one address"),
        )
    })
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn from_bits(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::from((bits as u32).to_be_bytes()),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::from_bits(bits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, peer: &str) -> bool {
        parse_network(network)
            .expect(network)
            .contains(peer.parse().expect(peer))
    }

    #[test]
    fn a_network_holds_what_shares_its_prefix() {
        assert!(contains("10.0.0.0/8", "10.255.1.2"));
        assert!(!contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("192.0.2.7", "192.0.2.7"));
        assert!(!contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("0.0.0.0/0", "203.0.113.9"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("::/0", "2001:db8::1"));
        assert!(contains("fd00::/8", "fdff::1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
    }

    #[test]
    fn what_is_not_a_network_is_said_in_words() {
        for (text, part) in [
            ("10.0.0.1/8", "write \"10.0.0.0/8\""),
            ("fd00::1/8", "write \"fd00::/8\""),
            ("10.0.0.0/33", "no prefix length from 0 to 32"),
            ("10.0.0.0/", "no prefix length"),
            ("10.0.0.0/+8", "no prefix length"),
            ("::/129", "from 0 to 128"),
            ("localhost", "is not a network"),
            ("10.0.0.0/8/8", "no prefix length"),
            ("", "is not a network"),
        ] {
            let words = parse_network(text).expect_err(text).to_string();
            assert!(words.contains(part), "{text}: {words}");
        }
    }
}
