//! The key of a request, for the strategies that keep a key on an endpoint.

use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

use evenkeel_config::KeySource;
use evenkeel_core::hash::Hasher;
use evenkeel_core::strategy::Strategy;
use evenkeel_http1::RequestHead;

use crate::affinity::cookie_values;

/// Where the key of a request comes from, and how it is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyReader {
    hasher: Hasher,
    sources: Arc<[KeySource]>,
}

/// Who sent a request, as far as a key may be made of it.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'c> {
    /// The peer's address as a text.
    pub(crate) peer: &'c str,
    /// The peer is a trusted proxy: what it says of the client is believed.
    pub(crate) trusted: bool,
    /// Whether an address is that of a trusted proxy.
    pub(crate) trusts: &'c dyn Fn(IpAddr) -> bool,
}

impl KeyReader {
    /// A reader for a strategy that chooses by key; none for others, so that requests under those pay
    /// nothing.
    pub(crate) fn new(strategy: &dyn Strategy, sources: &[KeySource]) -> Option<Self> {
        let hasher = strategy.hasher()?;
        Some(Self {
            hasher,
            sources: sources.into(),
        })
    }

    /// The hash of the first source that is present. Allocates nothing.
    pub(crate) fn key(&self, head: &RequestHead<'_, '_>, sender: &Sender<'_>) -> Option<u64> {
        let sources = self.sources.iter();
        sources
            .filter_map(|source| self.hash_of(source, head, sender))
            .next()
    }

    /// The key of a connection of which no more than its peer's address is known.
    pub(crate) fn key_of_address(&self, peer: IpAddr) -> Option<u64> {
        let mut sources = self.sources.iter();
        sources
            .any(|source| matches!(source, KeySource::SourceIp))
            .then(|| self.hash_address(peer))
            .flatten()
    }

    fn hash_address(&self, address: IpAddr) -> Option<u64> {
        let mut text = AddressText::default();
        // An address fits.
        write!(text, "{address}").ok()?;
        Some(self.hasher.hash(text.as_bytes()))
    }

    /// The hash of a key that is given as a text.
    pub(crate) fn hash_text(&self, key: &str) -> Option<u64> {
        (!key.is_empty()).then(|| self.hasher.hash(key.as_bytes()))
    }

    fn hash_of(
        &self,
        source: &KeySource,
        head: &RequestHead<'_, '_>,
        sender: &Sender<'_>,
    ) -> Option<u64> {
        let hash = |bytes: &[u8]| (!bytes.is_empty()).then(|| self.hasher.hash(bytes));
        match source {
            KeySource::Cookie(name) => cookie_values(head, name).find_map(hash),
            KeySource::Header(name) => {
                let fields = head.fields().filter(|field| field.is(name));
                let mut values = fields.map(|field| field.value.trim_ascii());
                values.find_map(hash)
            }
            KeySource::Path => hash(head.path().as_bytes()),
            KeySource::Query(name) => hash(parameter(head.query()?, name)?.as_bytes()),
            KeySource::SourceIp => self.hash_address(source_ip(head, sender)?),
        }
    }
}

/// The value of the first parameter of that name, as it is written.
fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let pairs = query.split('&');
    let mut pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let (_, value) = pairs.find(|(its, _)| *its == name)?;
    Some(value)
}

/// The client's address: the peer's, or, from a trusted proxy, the last one in `X-Forwarded-For` that
/// is not a trusted proxy's itself. What stands before that can be made up.
fn source_ip(head: &RequestHead<'_, '_>, sender: &Sender<'_>) -> Option<IpAddr> {
    let peer = sender.peer.parse().ok();
    if !sender.trusted {
        return peer;
    }
    let mut client = peer;
    let fields = head.fields().rev();
    let fields = fields.filter(|field| field.is("x-forwarded-for"));
    let mut entries = fields.flat_map(|field| field.value.rsplit(|byte| *byte == b','));
    // Up to the first one that is no address: nothing before it can be believed.
    while let Some(address) = entries.next().and_then(address_of) {
        client = Some(address);
        if !(sender.trusts)(address) {
            break;
        }
    }
    client
}

fn address_of(text: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// The text of an address, without an allocation.
struct AddressText {
    bytes: [u8; Self::MAX],
    length: usize,
}

impl AddressText {
    /// The longest form of an IPv6 address.
    const MAX: usize = 46;

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Default for AddressText {
    fn default() -> Self {
        Self {
            bytes: [0; Self::MAX],
            length: 0,
        }
    }
}

impl Write for AddressText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let room = self.bytes.get_mut(self.length..end);
        room.ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::hash::Algorithm;
    use evenkeel_core::strategy::registry;
    use evenkeel_http1::{Limits, Slots};

    fn reader(sources: &[KeySource]) -> KeyReader {
        let strategy = registry::build("maglev", &[]).expect("registered");
        KeyReader::new(&*strategy, sources).expect("it chooses by key")
    }

    /// The key of a request from 10.0.0.9, which is a trusted proxy, as are all others of 10.
    fn key(sources: &[KeySource], target: &str, lines: &str, trusted: bool) -> Option<u64> {
        let head = format!("GET {target} HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
        let mut slots = Slots::new();
        let head = RequestHead::parse(head.as_bytes(), &Limits::default(), &mut slots)
            .expect("well-formed")
            .expect("whole");
        let sender = Sender {
            peer: "10.0.0.9",
            trusted,
            trusts: &|address| address.to_string().starts_with("10."),
        };
        reader(sources).key(&head, &sender)
    }

    fn hash(text: &str) -> Option<u64> {
        Some(Hasher::new(Algorithm::Xxh3, 0).hash(text.as_bytes()))
    }

    #[test]
    fn other_strategies_read_no_keys() {
        let strategy = registry::build("round_robin", &[]).expect("registered");
        assert_eq!(KeyReader::new(&*strategy, &[KeySource::Path]), None);
    }

    #[test]
    fn each_source_is_read() {
        let lines = "X-User: ann \r\nCookie: a=1; s=blue\r\n";
        for (source, text) in [
            (KeySource::Header("x-user".into()), "ann"),
            (KeySource::Cookie("s".into()), "blue"),
            (KeySource::Query("q".into()), "2"),
            (KeySource::Path, "/p"),
            (KeySource::SourceIp, "10.0.0.9"),
        ] {
            let got = key(&[source], "/p?x=1&q=2&q=3", lines, false);
            assert_eq!(got, hash(text), "{text}");
        }
    }

    #[test]
    fn the_first_one_that_is_present_is_taken() {
        let sources = [
            KeySource::Header("x-user".into()),
            KeySource::Query("q".into()),
            KeySource::Cookie("s".into()),
        ];
        assert_eq!(
            key(&sources, "/?q=2", "X-User: ann\r\n", false),
            hash("ann")
        );
        assert_eq!(key(&sources, "/?q=2", "X-User:\r\n", false), hash("2"));
        assert_eq!(
            key(&sources, "/?q=&qq=1", "Cookie: s=x\r\n", false),
            hash("x")
        );
        assert_eq!(key(&sources, "/", "Cookie: ss=x\r\n", false), None);
    }

    #[test]
    fn only_proxies_say_who_the_client_is() {
        let ip = |lines, trusted| key(&[KeySource::SourceIp], "/", lines, trusted);
        let told = "X-Forwarded-For: 192.0.2.1, 192.0.2.7\r\nX-Forwarded-For: 10.0.0.3\r\n";
        assert_eq!(ip(told, false), hash("10.0.0.9"));
        assert_eq!(ip(told, true), hash("192.0.2.7"));
        assert_eq!(
            ip("X-Forwarded-For: 2001:DB8::1\r\n", true),
            hash("2001:db8::1")
        );
        let made_up = "X-Forwarded-For: 192.0.2.1, unknown, 10.0.0.3\r\n";
        assert_eq!(ip(made_up, true), hash("10.0.0.3"));
        assert_eq!(ip("", true), hash("10.0.0.9"));
    }
}
